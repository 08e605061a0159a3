"""Nsight Compute's metrics from our counters: the table beside `trace.counters.MEANINGS`, for metrics that are sums or shares of them.

A function gives None where a run does not tell. A run of threads leaves counters out that are 0; a tile run leaves out what it does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpusim.trace.counters import MEANINGS

Numbers = Mapping[str, float]
Formula = Callable[[Numbers], "float | None"]

SECTOR = 32
#: a counter that only runs of threads have, and that they always have
OF_THREADS = "thread_instructions"
PIPES = ("alu_", "fma_", "half_", "fp64_", "xu_", "lsu_", "uniform_")
#: counted by the value pass: beginnings of names that a run of threads leaves out only where they are 0. Not the total of shared memory: the
#: profiler counts shuffles and reads of thread numbers with it.
COMPLETE = ("l1_load_", "l1_store_", "global_", "local_", "shared_load_", "shared_store_", "shared_atomic_", "branches", *PIPES)
#: counters that a metric stands beside although it has another unit
OTHER_UNIT = ("spill_bytes",)

TEX, FABRIC, LTS, DRAM = "lts__t_sectors_srcunit_tex", "lts__t_sectors_srcunit_ltcfabric", "lts__t_sectors", "dram__"
HIT_RATE = "lts__t_sector_hit_rate.pct"
L1_LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"
L1_HIT_RATE = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct"


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` is Nsight's. ours: the same from our counters. theirs: the same from other metrics, where a profile lacks `name` itself."""

    name: str
    ours: Formula
    unit: str
    text: str
    theirs: Formula = lambda profile: None

    def measured(self, profile: Numbers) -> float | None:
        """The value in a profile of a launch; None if it does not tell."""
        found = profile.get(self.name)
        return self.theirs(profile) if found is None else found


def value(counters: Numbers, name: str) -> float | None:
    """A counter; 0 where a run of threads left it out."""
    found = counters.get(name)
    if found is None and OF_THREADS in counters and name.startswith(COMPLETE):
        return 0.0
    return found


def _one(name: str, factor: float = 1.0) -> Formula:
    def formula(c: Numbers) -> float | None:
        found = value(c, name)
        return None if found is None else found * factor

    return formula


def _sum(first: str, *more: str) -> Formula:
    """The sum, where the first is told; others that are absent do not exist on that device or did not occur."""
    return lambda c: None if first not in c else c[first] + sum(c.get(name, 0) for name in more)


def _both(one: str, other: str) -> Formula:
    """The sum, where both are told."""
    return lambda c: c[one] + c[other] if one in c and other in c else None


def l2_received(c: Numbers) -> float | None:
    """Sectors that the SMs asked of L2, stored and updated there."""
    return _sum("l2_read_sectors", "l2_write_sectors", "l2_atomic_sectors")(c)


def l2_missed(c: Numbers) -> float | None:
    """Sectors that the near half fetched, for reads: stores and atomics find their place. More than were asked for where a 64-byte atom
    brings one that nobody wanted."""
    received, hit = l2_received(c), c.get("l2_hit_sectors")
    told = c.get("l2_read_miss_sectors")
    return told if told is not None else None if received is None or hit is None else received - hit


def l2_hit_rate(c: Numbers) -> float | None:
    """Hits over hits and misses, as the profiler counts both; 0 to 1."""
    hit, missed = c.get("l2_hit_sectors"), l2_missed(c)
    return hit / (hit + missed) if hit is not None and missed is not None and hit + missed else None


def _written_lookups(c: Numbers) -> float | None:
    """Stores at the near half and at a far home. The fabric carries atomics too; they cross as often as stores do."""
    stored, crossed = c.get("l2_write_sectors"), c.get("fabric_write_sectors")
    if stored is None or crossed is None:
        return None
    changed = stored + c.get("l2_atomic_sectors", 0)
    return stored + (crossed * stored / changed if changed else 0)


def _looked_up(profile: Numbers) -> float | None:
    """The same share from a profile that counts hits and misses."""
    hit, missed = profile.get(f"{TEX}_lookup_hit.sum"), profile.get(f"{TEX}_lookup_miss.sum")
    return hit / (hit + missed) if hit is not None and missed is not None and hit + missed else None


def _share(part: str, whole: str) -> Formula:
    return lambda c: c[part] / c[whole] if part in c and c.get(whole) else None


def _percent(formula: Formula) -> Formula:
    def percent(c: Numbers) -> float | None:
        found = formula(c)
        return None if found is None else 100 * found

    return percent


#: metrics that are not one counter of ours
DERIVED: tuple[Metric, ...] = (
    Metric(
        L1_HIT_RATE,
        _percent(_share("l1_hit_sectors", "l1_load_sectors")),
        "%",
        "of the loads",
        _percent(_share(f"{L1_LOADS}_lookup_hit.sum", f"{L1_LOADS}.sum")),
    ),
    Metric(f"{TEX}.sum", l2_received, "sectors", "all that the SMs sent to L2"),
    Metric(f"{TEX}_lookup_miss.sum", l2_missed, "sectors", "fetched by the near half"),
    Metric(HIT_RATE, _percent(l2_hit_rate), "%", "hits of the near half over hits and misses, SMs only", _percent(_looked_up)),
    Metric(f"{LTS}_op_read.sum", _both("l2_read_sectors", "fabric_read_sectors"), "sectors", "read lookups of both kinds: by SMs and by the other half"),
    Metric(f"{LTS}_op_write.sum", _written_lookups, "sectors", "written lookups of both kinds"),
    Metric("dram__sectors_read.sum", _one("dram_read_bytes", 1 / SECTOR), "sectors", "read from DRAM"),
    Metric("dram__sectors_write.sum", _one("dram_write_bytes", 1 / SECTOR), "sectors", "written to DRAM"),
    Metric("dram__bytes.sum", _sum("dram_read_bytes", "dram_write_bytes"), "bytes", "read and written", _both("dram__bytes_read.sum", "dram__bytes_write.sum")),
    Metric("sm__warps_active.avg.pct_of_peak_sustained_active", _one("warps_active_pct"), "%", "resident warps of an SM, of the most that it holds"),
    Metric("launch__registers_per_thread", _one("registers"), "registers", "of a thread"),
)

#: one counter, one metric
DIRECT: tuple[Metric, ...] = tuple(Metric(m.metric, _one(name), m.unit, m.text) for name, m in MEANINGS.items() if m.metric and name not in OTHER_UNIT)

#: Nsight's name -> how we get it; a derived formula replaces a plain counter
METRICS: dict[str, Metric] = {m.name: m for m in (*DIRECT, *DERIVED)}


def metrics_of(counters: Numbers) -> dict[str, float]:
    """Nsight's name -> our value, for everything that the run tells."""
    found = {name: m.ours(counters) for name, m in METRICS.items()}
    return {name: number for name, number in found.items() if number is not None}
