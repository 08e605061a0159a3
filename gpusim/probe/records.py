"""Measured records of microbenchmarks, read from a file: `{"results": [{"group", "name", "params", "value", "unit", "list"?}]}`."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.probe.plan import Params

_UNPACK: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".gz": gzip.decompress}


@dataclass(frozen=True, slots=True)
class Record:
    """One point. `value` and `values` are None where nothing was measured; `id` is its place in the file. error: what went wrong when it was measured."""

    id: str
    group: str
    name: str
    params: Params
    unit: str = ""
    value: float | None = None
    values: tuple[float, ...] | None = None
    error: str = ""

    @property
    def title(self) -> str:
        """The record as a reader finds it: name and params."""
        return " ".join([self.name, *(f"{key}={_short(value)}" for key, value in self.params.items())])


def _short(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def read(source: str) -> tuple[Record, ...]:
    """The records of a file (`.json`, `.json.gz`, `.json.xz`). GpusimError if it cannot be read."""
    path = Path(source)
    if path.is_dir():
        raise GpusimError("is a folder.", where=source, hint="Name the file of measured records in it.")
    try:
        found = json.loads(_UNPACK.get(path.suffix, bytes)(path.read_bytes()).decode("utf-8"))
    except (lzma.LZMAError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise GpusimError(f"is not a whole {path.suffix} file ({error}).", where=source) from None
    except OSError as error:
        raise GpusimError(f"cannot be read ({error.strerror or error}).", where=source, hint="Give a file of measured records.") from None
    except (ValueError, RecursionError) as error:
        raise GpusimError(f"is not JSON ({error}).", where=source) from None
    rows = found.get("results") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        what = "holds kernels, not records of microbenchmarks." if isinstance(found, dict) and "cases" in found else "holds no records."
        raise GpusimError(what, where=source, hint='Expected {"results": [{"group", "name", "params", "value", "unit"}, ...]}.')
    return tuple(_record(row, f"{source}: results[{i}]", i) for i, row in enumerate(rows))


def _record(row: Any, where: str, index: int) -> Record:
    if not isinstance(row, Mapping) or not all(isinstance(row.get(key), str) for key in ("group", "name")):
        raise GpusimError("has no text 'group' and 'name'.", where=where)
    params = row.get("params", {})
    if not isinstance(params, Mapping):
        raise GpusimError("has 'params' that are no object.", where=where)
    name = f"{row['group']}/{row['name']}#{index}"
    error = str(row.get("error") or "")
    return Record(name, row["group"], row["name"], dict(params), str(row.get("unit", "")), _number(row.get("value")), _numbers(row.get("list")), error)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) else None


def _numbers(values: Any) -> tuple[float, ...] | None:
    found = tuple(_number(v) for v in values) if isinstance(values, list) else ()
    return tuple(v for v in found if v is not None) if found and None not in found else None
