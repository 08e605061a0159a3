"""What moved at each level of the memory system, as a table: requests, sectors, bytes, and the profiler's metric beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gpusim.report import formulas
from gpusim.report.units import count, percent, size
from gpusim.trace.counters import MEANINGS
from gpusim.trace.nsight import METRICS, TEX

if TYPE_CHECKING:
    from gpusim.report.report import Report

Counters = dict[str, int]
SECTOR, WAVEFRONT = 32, 128
#: columns of numbers
NUMBERS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Row:
    """requests: of warps, or bursts and turnarounds of DRAM. sectors: of 32 bytes; of shared memory, passes of 128. share: 0 to 1, of what
    `of` says ("hit", "partial", "open" rows, "pins", "merged"). What the run cannot know is None. metric: of `sectors`, or of what is there."""

    level: str
    flow: str
    requests: int | None = None
    sectors: int | None = None
    bytes: int | None = None
    share: float | None = None
    of: str = ""
    metric: str = ""


Share = Callable[["Report"], "float | None"]


@dataclass(frozen=True, slots=True)
class _Flow:
    """A row of the table before it has numbers: the counters of its columns, and what its share is."""

    level: str
    flow: str
    requests: str = ""
    sectors: str = ""
    of: str = ""
    share: Share | None = None
    unit: int = SECTOR


def _part(name: str, *whole: str) -> Share:
    return lambda r: formulas.share(r.run.counters.get(name), formulas.total(r.run.counters, *whole))


_FLOWS = (
    _Flow("L1", "loads", "l1_load_requests", "l1_load_sectors", "hit", lambda r: r.l1_hit_rate),
    _Flow("L1", "stores", "l1_store_requests", "l1_store_sectors"),
    _Flow("L1", "atomics", "global_atomic_requests", "global_atomic_sectors"),
    _Flow("L1", "reductions", "global_red_requests", "global_red_sectors"),
    _Flow("local", "loads", "local_load_requests", "local_load_sectors"),
    _Flow("local", "stores", "local_store_requests", "local_store_sectors"),
    _Flow("shared", "passes", "", "shared_wavefronts", unit=WAVEFRONT),
    _Flow("GPC", "merged", "", "merged_sectors", "merged", _part("merged_sectors", "merged_sectors", "l2_read_sectors")),
    _Flow("L2", "reads", "", "l2_read_sectors", "hit", _part("l2_read_hit_sectors", "l2_read_hit_sectors", "l2_read_miss_sectors")),
    _Flow("L2", "writes", "", "l2_write_sectors", "partial", _part("partial_write_sectors", "l2_write_sectors")),
    _Flow("L2", "atomics", "", "l2_atomic_sectors"),
    _Flow("fabric", "reads", "", "fabric_read_sectors"),
    _Flow("fabric", "writes", "", "fabric_write_sectors"),
)
#: flows that are told in bytes
_DRAM = (("reads", "dram_read_bytes"), ("writes", "dram_write_bytes"))


def rows(r: Report) -> tuple[Row, ...]:
    """Every flow that the run knows, from the SMs down to DRAM."""
    return tuple(_rows(r))


def _rows(r: Report) -> Iterator[Row]:
    c = r.run.counters
    by_level = {f.level: [g for g in _FLOWS if g.level == f.level] for f in _FLOWS}
    for level, flows in by_level.items():
        found = [_row(r, f) for f in flows if f.sectors in c]
        yield from found
        yield from _sum(r, level, found)
    for flow, name in _DRAM:
        if name in c:
            yield Row("DRAM", flow, None, c[name] // SECTOR, c[name], metric=MEANINGS[name].metric)
    yield from _dram(r)
    if "l2_dirty_bytes" in c:
        yield Row("L2", "left dirty", None, c["l2_dirty_bytes"] // SECTOR, c["l2_dirty_bytes"])


def _row(r: Report, f: _Flow) -> Row:
    c = r.run.counters
    share = f.share(r) if f.share else None
    return Row(f.level, f.flow, c.get(f.requests), c[f.sectors], f.unit * c[f.sectors], share, f.of if share is not None else "", MEANINGS[f.sectors].metric)


def _sum(r: Report, level: str, parts: list[Row]) -> Iterator[Row]:
    """All that L2 received, and all that crossed the fabric."""
    c = r.run.counters
    if level == "L2" and parts:
        sectors = sum(p.sectors or 0 for p in parts)
        yield Row("L2", "total", None, sectors, SECTOR * sectors, r.l2_hit_rate, "hit" if r.l2_hit_rate is not None else "", METRICS[f"{TEX}.sum"].name)
    if level == "fabric" and "fabric_sectors" in c:
        yield Row("fabric", "total", None, c["fabric_sectors"], SECTOR * c["fabric_sectors"], metric=MEANINGS["fabric_sectors"].metric)


def _dram(r: Report) -> Iterator[Row]:
    c = r.run.counters
    moved = formulas.total(c, "dram_read_bytes", "dram_write_bytes")
    if moved is not None:
        pins = formulas.dram_share(r.run, r.spec)
        yield Row("DRAM", "total", None, moved // SECTOR, moved, pins, "pins" if pins is not None else "", "dram__bytes.sum")
    if "dram_bursts" in c:
        hits = formulas.share(c.get("dram_row_hits"), c["dram_bursts"])
        yield Row("DRAM", "bursts", c["dram_bursts"], share=hits, of="open" if hits is not None else "")
    if "dram_turnarounds" in c:
        yield Row("DRAM", "turnarounds", c["dram_turnarounds"])


def data(r: Report) -> list[dict[str, Any]]:
    """The table for JSON: a row without what the run cannot know."""
    return [{key: value for key, value in asdict(row).items() if value not in (None, "")} for row in rows(r)]


def table(r: Report) -> list[str]:
    """The table as lines, heading first; [] where nothing is known."""
    found = rows(r)
    return _aligned([("traffic", "requests", "sectors", "bytes", "share", "Nsight Compute"), *map(_cells, found)]) if found else []


def _cells(row: Row) -> tuple[str, ...]:
    share = f"{row.of} {percent(row.share)}" if row.share is not None else ""
    numbers = ["" if n is None else count(n) for n in (row.requests, row.sectors)]
    return (f"{row.level} {row.flow}", *numbers, "" if row.bytes is None else size(row.bytes), share, row.metric)


def _aligned(cells: Iterable[tuple[str, ...]]) -> list[str]:
    """Words flush left, numbers flush right; a column that no row fills is left out."""
    found = list(cells)
    used = [i for i in range(len(found[0])) if any(row[i] for row in found[1:])]
    w = {i: max(len(row[i]) for row in found) for i in used} | {0: max(13, *(len(row[0]) for row in found))}
    return [" ".join(f"{row[i]:>{w[i]}}" if i in NUMBERS else f"{row[i]:{w[i]}} " for i in used).rstrip() for row in found]
