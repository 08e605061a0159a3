"""From records to the fields of a specification: each row of the tables in turn, each value with its source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.calibrate import chip, dram, meeting, memory, places, power, threads
from gpusim.calibrate.bench import Bench, Found, Row
from gpusim.calibrate.kept import reason
from gpusim.calibrate.records import Missing, Records
from gpusim.errors import GpusimError
from gpusim.spec.device import GpuSpec
from gpusim.spec.show import spec_rows

#: rows build on the values of those before them
ROWS: tuple[Row, ...] = (*chip.ROWS, *memory.ROWS, *dram.ROWS, *places.ROWS, *threads.ROWS, *meeting.ROWS, *power.ROWS)

#: for fields that no row has found but that cannot stay as they are on the base
FALLBACKS: tuple[Row, ...] = (*chip.FALLBACKS, *places.FALLBACKS)

#: share by which two runs of a microbenchmark differ: below it a base's value stands
REPEATS = 0.01


@dataclass(frozen=True, slots=True)
class Field:
    """One field. old: the base's value; new: the value found (None: not determined), both in base units; source: of `new`; why: nothing was found."""

    path: str
    unit: str
    old: Any
    new: Any = None
    source: str = ""
    why: str = ""
    tolerance: float | None = None

    @property
    def change(self) -> float | None:
        """new / old - 1; None where that is no number."""
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (self.old, self.new))
        return self.new / self.old - 1 if numbers and self.old else None

    @property
    def changed(self) -> bool:
        """Whether the value found differs from the base's by more than measurements do. Counts and lists of counts are exact."""
        if self.new is None or self.new == self.old:
            return False
        if self.tolerance is not None:
            old, new = (v if isinstance(v, tuple) else (v,) for v in (self.old, self.new))
            return len(old) != len(new) or max(abs(a - b) for a, b in zip(old, new, strict=True)) > self.tolerance
        exact = isinstance(self.old, int) and not self.unit
        return self.change is None or exact or abs(self.change) > REPEATS


@dataclass(frozen=True, slots=True)
class Calibration:
    """What `records` says of a machine like `base`; `fields` in the order of the specification."""

    file: str
    device: str
    base: str
    fields: tuple[Field, ...]
    failed: tuple[str, ...]


def derive(records: Records, spec: GpuSpec) -> Calibration:
    """Every field of `spec`, with the value that `records` gives it. Raises GpusimError for records of another kind of chip."""
    _same_kind(records, spec)
    rows = {row.path: row for row in spec_rows(spec)}
    known: dict[str, Any] = {path: row.value for path, row in rows.items()}
    found: dict[str, Field] = {}
    for row in (*ROWS, *FALLBACKS):
        if row.path in rows and (row.path not in found or found[row.path].new is None):
            old = rows[row.path]
            made = _field(row, Bench(records, known), old.value, old.unit)
            found[row.path] = made if made.new is not None else found.get(row.path, made)
            if found[row.path].changed:
                known[row.path] = found[row.path].new
    fields = [found.get(path) or Field(path, row.unit, row.value, why=reason(path)) for path, row in rows.items()]
    if not any(field.new is not None for field in fields):
        raise GpusimError("none of its records determines a field of the specification.", where=records.file, hint="Run all groups of tools/microbench.")
    return Calibration(records.file, str(records.device.get("name", "an unnamed GPU")), spec.name, tuple(fields), records.failed)


def _field(row: Row, bench: Bench, old: Any, unit: str) -> Field:
    try:
        new = _like(row.value(bench), row, old)
    except Missing as missing:
        return Field(row.path, unit, old, why=str(missing))
    name = Path(bench.records.file).name
    return Field(row.path, unit, old, new, f"{row.kind}: {name} {row.uses}, {row.how}", tolerance=row.tolerance)


def _like(value: Found, row: Row, old: Any) -> Any:
    """`value` with the precision of its row, of the type of the base's value."""
    if isinstance(value, tuple):
        return value
    exact = row.precision(value)
    return round(exact) if isinstance(old, int) else exact


def _same_kind(records: Records, spec: GpuSpec) -> None:
    """A base of another compute capability has other pipes and other sections."""
    major, minor = records.device.get("cc_major"), records.device.get("cc_minor")
    if major is None or minor is None:
        return
    measured = f"{major}.{minor}"
    if measured != spec.compute_capability:
        text = f"was measured on a GPU of compute capability {measured}, but the base {spec.name} has {spec.compute_capability}."
        raise GpusimError(text, where=records.file, hint="Choose a base of the same compute capability with --base; `gpusim devices` lists them.")
