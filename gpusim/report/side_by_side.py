"""One kernel on several devices, a column for each; and the words of one kind of device in those of another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.report import formulas
from gpusim.report.data import plain
from gpusim.report.report import Report
from gpusim.report.units import microseconds, percent, size

MISSING = "-"
SECTOR = 32
#: bounds of matrix units
MATRIX = ("tensor", "MXU")

Value = float | str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the comparison. key: in `Comparison.to_dict`; of: its value in base units, None where a device has no such thing."""

    key: str
    label: str
    of: Callable[[Report], Value]
    show: Callable[[Any], str] = str


def _on_chip_bytes(r: Report) -> float | None:
    """Of the memory that feeds the matrix units' cores: L2 of a GPU, vector memory of a TPU."""
    if "vmem_bytes" in r.run.counters:
        return r.run.counters["vmem_bytes"]
    return None if r.l2_sectors is None else SECTOR * r.l2_sectors


def _per_second(of: Callable[[Report], Value]) -> Callable[[Report], Value]:
    def rate(r: Report) -> Value:
        moved = of(r)
        return moved / r.run.time_ps * 1e12 if isinstance(moved, int | float) else None

    return rate


def _dram_bytes(r: Report) -> Value:
    return formulas.total(r.run.counters, "dram_read_bytes", "dram_write_bytes")


def _waste(r: Report) -> Value:
    useful = formulas.useful_share(r.run)
    return None if useful is None else 1 - useful


def _matrix_busy(r: Report) -> Value:
    """Share of the time in which the matrix units would be busy if nothing held them up."""
    return next((part for name, part in r.bound_shares.items() if name in MATRIX), None)


def _rate(value: float) -> str:
    return f"{size(value)}/s"


ROWS: tuple[Row, ...] = (
    Row("tile", "tile", lambda r: r.params.get("tile")),
    Row("time_us", "time", lambda r: r.time_us, microseconds),
    Row("tflops", "useful TFLOP/s", lambda r: r.tflops if r.run.flops else None, "{:.4g}".format),
    Row("fraction_of_peak", "share of the published peak", lambda r: r.fraction_of_peak if r.run.flops else None, percent),
    Row("matrix_busy", "matrix units multiply", _matrix_busy, percent),
    Row("waste", "matrix work that is padding", _waste, percent),
    Row("dram_bytes", "memory traffic", _dram_bytes, size),
    Row("dram_rate", "memory bandwidth", _per_second(_dram_bytes), _rate),
    Row("dram_share", "of what its pins could", lambda r: formulas.dram_share(r.run, r.spec), percent),
    Row("on_chip_bytes", "L2 (GPU), vector memory (TPU)", _on_chip_bytes, size),
    Row("on_chip_rate", "their bandwidth", _per_second(_on_chip_bytes), _rate),
    Row("bottleneck", "bottleneck", lambda r: r.bottleneck),
)

#: what of a GPU is like what of a TPU, and how they differ
CONCEPTS: tuple[tuple[str, str, str], ...] = (
    ("SM (80 to 148 a chip)", "TensorCore (1 or 2 a chip)", "the core that runs programs; a TPU's TensorCore is NOT a GPU's tensor core"),
    ("tensor core (4 an SM)", "MXU (1 to 4 a core)", "multiplies matrices: hundreds of small units, or a few arrays of 128x128 or 256x256"),
    ("CUDA cores, SFU", "VPU of 8x128 lanes, EUP", "everything else: 32 lanes of many warps, or one wide vector unit"),
    ("registers of warps", "VREGs (8x128 x 32 bit)", "256 KB an SM, or 128 to 256 KB a core"),
    ("shared memory, L1", "VMEM", "some 200 KB an SM, or 16 to 128 MB a core; a TPU's holds whole blocks, and there is no cache"),
    ("L2", "none (CMEM on v4)", "a GPU keeps what many SMs want; a TPU's program keeps what it wants again"),
    ("TMA, cp.async", "DMA engines", "copies that run ahead of the computation"),
    ("warps hide latency", "double buffering does", "many threads, or the next step's blocks on their way"),
    ("CTAs in waves on all SMs", "grid steps, one after another", "quantised by the number of SMs, or hardly at all"),
    ("masks at the edge of a tile", "padding to 8x128, 128x128", "lanes idle, or whole squares of an array are multiplied for nothing"),
)


@dataclass(frozen=True)
class Comparison:
    """The reports of one kernel, a device each; `refused`: device -> why it cannot run the kernel."""

    reports: tuple[Report, ...]
    refused: dict[str, str]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """device -> key -> value in base units (us, bytes, bytes per second, shares); what a device has not is absent."""
        return {r.gpu: {row.key: plain(value) for row in ROWS if (value := row.of(r)) is not None} for r in self.reports}

    @property
    def mixed(self) -> bool:
        """Whether there are devices of several kinds."""
        return len({r.spec.KIND for r in self.reports}) > 1

    def __str__(self) -> str:
        lines = [self._headline(), *_table([["", *(r.gpu for r in self.reports)], *self._cells()])] if self.reports else []
        lines += [f"{name} cannot run it: {why}" for name, why in self.refused.items()]
        return "\n".join(lines)

    def _headline(self) -> str:
        first = self.reports[0]
        given = [f"{name}={first.params[name]}" for name in ("m", "n", "k", "rows", "cols", "dtype") if name in first.params]
        return f"{first.kernel} {' '.join(given)}"

    def _cells(self) -> list[list[str]]:
        found = [(row, [row.of(r) for r in self.reports]) for row in ROWS]
        return [[row.label, *(MISSING if v is None else row.show(v) for v in values)] for row, values in found if any(v is not None for v in values)]


def concepts() -> str:
    """The table of concepts."""
    return "\n".join(_table([["GPU", "TPU", "what they are"], *map(list, CONCEPTS)]))


def _table(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
