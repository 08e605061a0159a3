"""L2 and DRAM counters of a SIMT launch, as far as the simple memory model goes: hits of L1 from the timed SMs, DRAM from the footprints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpusim.devices.simt.result import SmRun
from gpusim.launch.simt.memory import SECTOR, Footprint
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters


def traffic(counted: Counters, runs: Iterable[tuple[SmRun, float]], prints: Mapping[str, Footprint], machine: Machine) -> Counters:
    """runs: timed SMs, each with the number of SMs it stands for."""
    hits = sum(run.l1_hits * times for run, times in runs)
    looked = sum((run.l1_hits + run.l1_misses) * times for run, times in runs)
    loaded = counted.get("l1_load_sectors", 0)
    hit = min(loaded, round(loaded * hits / looked)) if looked else 0
    reading = loaded - hit
    atomics = counted.get("global_atomic_sectors", 0) + counted.get("global_red_sectors", 0)
    first = min(reading + atomics, round(sum(p.read for p in prints.values())))
    stored = sum(p.written for p in prints.values()) * SECTOR
    dirty = min(stored, machine.dirty_bytes * machine.halves)
    return {
        "l1_hit_sectors": hit,
        "l2_read_sectors": reading,
        "l2_write_sectors": counted.get("l1_store_sectors", 0) + atomics,
        "dram_read_bytes": first * SECTOR,
        "dram_write_bytes": round(stored - dirty),
        "l2_dirty_bytes": round(dirty),
    }
