"""A file of microbenchmark records: read, checked, and searched. Nothing here knows a field of a specification.

The format is that of `tools/microbench`: {"meta": {...}, "device": {...}, "results": [{"group", "name", "params", "value", "unit", ...}]}.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError

_EXPECTED = 'Expected {"device": ..., "results": [...]} as tools/microbench writes it.'


class Missing(Exception):
    """The file does not say what a formula needs; the text tells what is missing."""


@dataclass(frozen=True, slots=True)
class Record:
    """One point of a microbenchmark. index: its place in the file, from 0. entries: the record's list, if it has one."""

    index: int
    group: str
    name: str
    params: dict[str, Any]
    value: Any
    unit: str
    entries: tuple[float, ...]

    def number(self, param: str) -> float:
        """A param that must be a number. Raises Missing if it is none."""
        found = self.params.get(param)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
            raise Missing(f"record {self.index} ({self.group}/{self.name}) has no number '{param}'")
        return float(found)


@dataclass(frozen=True, slots=True)
class Records:
    """What one file holds. device: the driver's own description of the GPU; failed: names of the steps that ended in an error."""

    file: str
    device: dict[str, Any]
    records: tuple[Record, ...]
    failed: tuple[str, ...]

    def points(self, name: str, unit: str, **where: Any) -> list[Record]:
        """The records `name` ("group/name") whose params agree with `where`; at least one.

        Raises Missing if there is none, GpusimError if one has another unit or a value that cannot be.
        """
        found = [r for r in self.records if f"{r.group}/{r.name}" == name and all(r.params.get(k) == v for k, v in where.items()) and r.value is not None]
        if not found:
            step = " (the step ended in an error)" if any(f.startswith(name.split("/")[0] + "/") for f in self.failed) else ""
            raise Missing(f"no record {name}{_told(where)}{step}")
        for record in found:
            self._check(record, unit)
        return found

    def value(self, name: str, unit: str, **where: Any) -> float:
        """The value of the one record `name` that agrees with `where`. Raises Missing if there is none, GpusimError if there are several."""
        found = self.points(name, unit, **where)
        if len({r.value for r in found}) > 1:
            text = f"{len(found)} records {name}{_told(where)} with different values ({', '.join(f'{r.value:g}' for r in found[:3])})"
            raise GpusimError(f"{text} where one is expected.", where=self.file, hint="Keep the records of one run.")
        return float(found[0].value)

    def lists(self, name: str, unit: str, **where: Any) -> list[tuple[float, ...]]:
        """The lists of the records `name`. Raises Missing where there is none."""
        found = [r.entries for r in self.points(name, unit, **where) if r.entries]
        if not found:
            raise Missing(f"no list in {name}{_told(where)}")
        return found

    def of_device(self, key: str) -> float:
        """A number of the file's device record. Raises Missing if it is not there."""
        found = self.device.get(key)
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < math.inf:
            raise Missing(f"the device record has no '{key}'")
        return float(found)

    def _check(self, record: Record, unit: str) -> None:
        told = f"record {record.index} ({record.group}/{record.name}{_told(record.params)})"
        if record.unit != unit:
            raise GpusimError(f"{told} is in '{record.unit}', not in '{unit}'.", where=self.file, hint="Was it written by another version of the sources?")
        if not 0 < record.value < math.inf:
            raise GpusimError(f"{told} has the value {record.value:g} {unit}, which cannot be measured.", where=self.file, hint="Remove it.")


def _told(where: dict[str, Any]) -> str:
    """Params in words; layouts and other long texts are left out."""
    short = [f"{k} = {v}" for k, v in where.items() if not (isinstance(v, str) and len(v) > 40)]
    return f" with {', '.join(short)}" if short else ""


def read(file: str) -> Records:
    """The records of `file`. GpusimError if it cannot be read, holds kernels, or a record is malformed."""
    try:
        found = json.loads(Path(file).read_bytes().decode("utf-8"))
    except OSError as error:
        raise GpusimError(f"cannot be read ({error.strerror or error}).", where=file, hint="Give a file of microbenchmark records.") from None
    except json.JSONDecodeError as error:
        raise GpusimError(f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.", where=file) from None
    except (ValueError, RecursionError):
        raise GpusimError("is not JSON in UTF-8.", where=file, hint=_EXPECTED) from None
    return parse(found, file)


def parse(found: Any, file: str) -> Records:
    """The records of a file's content; `file` stands for it in messages."""
    if isinstance(found, dict) and "cases" in found:
        raise GpusimError("holds measured kernels ('cases'), and a machine is calibrated on microbenchmarks only.", where=file, hint=_EXPECTED)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise GpusimError("holds no microbenchmark records.", where=file, hint=_EXPECTED)
    device = found.get("device", {})
    if not isinstance(device, dict):
        raise GpusimError(f"'device' is {type(device).__name__}, not an object.", where=file, hint=_EXPECTED)
    rows = [_record(row, index, file) for index, row in enumerate(found["results"])]
    failed = tuple(_step(row) for row in found["results"] if "error" in row)
    records = tuple(r for r in rows if r is not None)
    if not records:
        raise GpusimError("holds no microbenchmark records: 'results' is empty.", where=file, hint=_EXPECTED)
    return Records(file, device, records, failed)


def _record(row: Any, index: int, file: str) -> Record | None:
    """None for the record of a step that failed."""
    if not isinstance(row, dict):
        raise GpusimError(f"record {index} is {type(row).__name__}, not an object.", where=file, hint=_EXPECTED)
    if "error" in row:
        return None
    for key in ("group", "name"):
        if not isinstance(row.get(key), str):
            raise GpusimError(f"record {index} has no text '{key}'.", where=file, hint=_EXPECTED)
    name, value, params = f"record {index} ({row['group']}/{row['name']})", row.get("value"), row.get("params", {})
    if not isinstance(params, dict):
        raise GpusimError(f"{name}: 'params' is {type(params).__name__}, not an object.", where=file)
    if value is not None and not _is_number(value):
        raise GpusimError(f"{name}: value = {value!r} is not a number.", where=file)
    entries = row.get("list", [])
    if not isinstance(entries, list) or not all(_is_number(entry) for entry in entries):
        raise GpusimError(f"{name}: 'list' is not a list of numbers.", where=file)
    return Record(index, row["group"], row["name"], params, value, str(row.get("unit", "")), tuple(entries))


def _step(row: dict[str, Any]) -> str:
    """The name of a step that failed; a group that did not start has none."""
    return f"{row.get('group', '?')}/{row.get('name', '*')}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
