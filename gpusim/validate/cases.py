"""Measured cases: read a file of them, or the copy that ships under a name. Nothing here knows what a kernel is."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError

#: end of a file's name -> how its bytes become text
UNPACK: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".gz": gzip.decompress}

#: key of the record list in a file -> whether its records are cases with an id of their own (else points of a microbenchmark)
LISTS = {"cases": True, "results": False}


@dataclass(frozen=True, slots=True)
class Case:
    """One measured case. `record` is the whole record, as read; `kernel` is "" for a microbenchmark, which has none."""

    id: str
    group: str
    family: str
    kernel: str
    params: dict[str, Any]
    record: dict[str, Any]

    def number(self, *keys: str) -> float | None:
        """The first of `keys` that the record holds as a positive, finite number; None if it holds none."""
        for key in keys:
            value = self.record.get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf"):
                return float(value)
        return None

    @property
    def noise(self) -> float:
        """max/min - 1 over separate passes; 0 where there was one pass."""
        return self.number("noise") or 0.0


def read(source: str) -> tuple[Case, ...]:
    """The cases of a file (`.json`, `.json.gz`, `.json.xz`), or of a shipped set such as "h200". GpusimError if it cannot be read."""
    if source in shipped():
        return tuple(case for file in _shipped_files(source) for case in _parse(file.name, file.read_bytes()))
    path = Path(source)
    if path.is_dir():
        raise GpusimError("is a folder.", where=source, hint="Name the file of measured cases in it.")
    try:
        return _parse(source, path.read_bytes())
    except OSError as error:
        hint = f"Give a file of measured cases, or a shipped set: {', '.join(shipped())}."
        raise GpusimError(f"cannot be read ({error.strerror or error}).", where=source, hint=hint) from None


def shipped() -> tuple[str, ...]:
    """Names of the measured sets that come with the package."""
    return tuple(sorted(folder.name for folder in _data().iterdir() if folder.is_dir() and (folder / "manifest.json").is_file()))


def manifest(name: str) -> dict[str, Any]:
    """What the shipped set `name` holds: its files with length and SHA-256 of the uncompressed text, and which of them are cases."""
    return dict(json.loads((_data() / name / "manifest.json").read_text()))


def shipped_bytes(name: str, file: str) -> bytes:
    """The uncompressed bytes of one file of the shipped set `name`, as it was measured."""
    return lzma.decompress((_data() / name / f"{file}.xz").read_bytes())


def _data() -> Traversable:
    return resources.files("gpusim.validate") / "data"


def _shipped_files(name: str) -> list[Traversable]:
    return [_data() / name / f"{file}.xz" for file in manifest(name)["cases"]]


def _parse(name: str, raw: bytes) -> tuple[Case, ...]:
    unpack = UNPACK.get(Path(name).suffix, bytes)
    try:
        found = json.loads(unpack(raw).decode("utf-8"))
    except (lzma.LZMAError, OSError, EOFError, zlib.error) as error:
        raise GpusimError(f"is not a whole {Path(name).suffix} file ({error}).", where=name) from None
    except UnicodeDecodeError:
        raise GpusimError("is not text in UTF-8.", where=name, hint="Give JSON, or JSON compressed as .json.gz or .json.xz.") from None
    except json.JSONDecodeError as error:
        raise GpusimError(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.", where=name) from None
    except (ValueError, RecursionError) as error:
        raise GpusimError(f"is JSON that cannot be read ({error}).", where=name) from None
    key = next((k for k in LISTS if isinstance(found, dict) and isinstance(found.get(k), list)), None)
    if key is None:
        raise GpusimError("holds no measured cases.", where=name, hint='Expected {"meta": ..., "cases": [...]}.')
    make = _case if LISTS[key] else _point
    return tuple(make(record, partial(_malformed, name, key, i), i) for i, record in enumerate(found[key]))


def _case(record: Any, malformed: Callable[[str], GpusimError], _: int) -> Case:
    if not isinstance(record, dict):
        raise malformed("is not an object")
    for key in ("id", "group", "family", "kernel"):
        if not isinstance(record.get(key), str):
            raise malformed(f"has no text '{key}'")
    if not isinstance(record.get("params"), dict):
        raise malformed("has no object 'params'")
    return Case(record["id"], record["group"], record["family"], record["kernel"], record["params"], record)


def _point(record: Any, malformed: Callable[[str], GpusimError], index: int) -> Case:
    """A point of a microbenchmark: no id and no kernel, so it gets its place in the file as id."""
    if not isinstance(record, dict) or not isinstance(record.get("group"), str) or not isinstance(record.get("name"), str):
        raise malformed("has no text 'group' and 'name'")
    params = record.get("params")
    return Case(f"{record['group']}/{record['name']}#{index}", record["group"], record["name"], "", params if isinstance(params, dict) else {}, record)


def _malformed(name: str, key: str, index: int, what: str) -> GpusimError:
    return GpusimError(f"{what}.", where=f"{name}: {key}[{index}]", hint="Every case needs id, group, family, kernel and params.")
