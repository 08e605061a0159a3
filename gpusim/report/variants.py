"""One task done by different programs on one device, a column for each: time, bytes, footprint, and which pipes are busy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.report.report import Report
from gpusim.report.units import microseconds, percent, size

MISSING = "-"
PIPES = ("tensor", "special functions", "FMA pipe", "ALU")


@dataclass(frozen=True, slots=True)
class Variant:
    """name: the column; reports: of its launches in order; tensors: for each launch the bytes of the arrays that it reads or writes, by name."""

    name: str
    reports: tuple[Report, ...]
    tensors: tuple[Mapping[str, int], ...]

    @property
    def time_us(self) -> float:
        return sum(r.time_us for r in self.reports)

    @property
    def footprint(self) -> int:
        """Bytes of all arrays, each once."""
        return sum({name: n for launch in self.tensors for name, n in launch.items()}.values())

    @property
    def dram_bytes(self) -> int:
        return sum((r.dram_read_bytes or 0) + (r.dram_write_bytes or 0) for r in self.reports)

    @property
    def flops(self) -> int:
        return sum(r.run.flops for r in self.reports)

    def passed(self, name: str) -> int:
        """Bytes of an array, as often as a launch reads or writes it."""
        return sum(launch.get(name, 0) for launch in self.tensors)

    def busy(self, pipe: str) -> float | None:
        """Share of the time in which a pipe would be busy if nothing held it up."""
        cycles = [(r.run.bounds.get(pipe), r.run.cycles) for r in self.reports]
        known = [c for c, _ in cycles if c is not None]
        return sum(known) / sum(t for _, t in cycles) if known else None


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    of: Callable[[Variant], Any]
    show: Callable[[Any], str] = str


def _rate(v: Variant) -> float:
    return v.flops / v.time_us / 1e6


_ROWS = (
    _Row("time", lambda v: v.time_us, microseconds),
    _Row("kernels", lambda v: len(v.reports)),
    _Row("rate", _rate, lambda x: f"{x:.4g} TFLOP/s"),
    _Row("device memory", lambda v: v.dram_bytes, size),
    _Row("footprint", lambda v: v.footprint, size),
    _Row("intensity", lambda v: v.flops / v.dram_bytes if v.dram_bytes else None, lambda x: f"{x:.4g} FLOP/B"),
    _Row("CTAs per SM", lambda v: "/".join(str(r.ctas_per_sm) for r in v.reports)),
    _Row("bottleneck", lambda v: max(v.reports, key=lambda r: r.time_us).bottleneck),
)


@dataclass(frozen=True, eq=False)
class Variants:
    """The columns of a comparison; printing it gives the table. refused: name -> why it has no column."""

    columns: tuple[Variant, ...]
    refused: Mapping[str, str]

    def rows(self) -> list[tuple[str, ...]]:
        """(label, a cell for each column)."""
        arrays = list(dict.fromkeys(name for v in self.columns for launch in v.tensors for name in launch))
        wanted = [*_ROWS]
        wanted += [_Row(f"  {name} moved", lambda v, name=name: v.passed(name) or None, size) for name in arrays]  # type: ignore[misc]
        wanted += [_Row(f"  {pipe} busy", lambda v, pipe=pipe: v.busy(pipe), percent) for pipe in PIPES]  # type: ignore[misc]
        return [(row.label, *(_cell(row, v) for v in self.columns)) for row in wanted]

    def to_dict(self) -> dict[str, Any]:
        """Numbers in base units, by column."""
        keys = {"time_us": lambda v: v.time_us, "dram_bytes": lambda v: v.dram_bytes, "footprint_bytes": lambda v: v.footprint, "flops": lambda v: v.flops}
        made = {v.name: {key: of(v) for key, of in keys.items()} | {"launches": [r.to_dict() for r in v.reports]} for v in self.columns}
        return {"variants": made, "refused": dict(self.refused)}

    def __str__(self) -> str:
        lines = _aligned([("", *(v.name for v in self.columns)), *self.rows()])
        fastest = min(self.columns, key=lambda v: v.time_us)
        lines += ["", f"fastest: {fastest.name}, {microseconds(fastest.time_us)}"]
        lines += [f"{name}: {why}" for name, why in self.refused.items()]
        return "\n".join(lines)


def _cell(row: _Row, v: Variant) -> str:
    value = row.of(v)
    return MISSING if value is None else row.show(value)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join([f"{row[0]:{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))]).rstrip() for row in rows]
