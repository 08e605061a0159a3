"""What a launch moved beyond the SMs: as counters, and as the time that DRAM needs for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpusim.devices.simt.result import SmRun
from gpusim.launch.simt.memory import SECTOR, Footprint
from gpusim.launch.simt.state import Foreign
from gpusim.launch.simt.walk import Moved
from gpusim.parts.dram import Moved as Bytes
from gpusim.parts.dram import serve
from gpusim.parts.written import Written
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters

#: counters that are left out where they are 0
ABSENT = ("merged_sectors", "l2_atomic_sectors", "dram_bursts", "dram_row_hits", "dram_turnarounds")


@dataclass(frozen=True, slots=True)
class DramTime:
    """SM cycles in which all of DRAM is busy for the launch: with what it reads, and with what is written back (foreign: of an earlier
    kernel's lines)."""

    read: float
    written: float
    foreign: float


def supposed(prints: Mapping[str, Footprint], counted: Counters, machine: Machine) -> Moved:
    """Where only some CTAs were executed: every sector comes from DRAM once, in whole blocks, and leaves L2 as those of a stream do: of what the
    halves hold at the end, with copies for those that are not at home, as much is dirty as of the whole stream."""
    read, stored, touched = (round(sum(getattr(p, name) for p in prints.values())) for name in ("read", "written", "touched"))
    per_block = machine.dram.piece // SECTOR
    per_half = machine.halves
    held = machine.half_bytes * per_half / ((per_half + 1) / 2) / SECTOR
    most = min(machine.dirty_bytes * per_half / SECTOR, held * stored / max(touched, 1))
    left = min(stored, int(most))

    def written(sectors: int) -> Written:
        return Written(sectors, sectors // 2, -(-sectors // per_block))

    copies = read + stored
    return Moved(
        missed=read,
        near_misses=read,
        fabric_read=read * (per_half - 1) // per_half,
        changed=per_half,
        remote=per_half - 1,
        atoms=read // 2,
        blocks=-(-read // per_block),
        allocated=copies * SECTOR // machine.line * (per_half + 1) // 2,
        back=written(stored - left),
        dirty=written(left),
    )


def dram_time(moved: Moved, foreign: Foreign, machine: Machine) -> DramTime:
    read, back, others = _asked(moved, foreign, machine)
    alone = [serve(machine.dram, *mix).time for mix in ((read,), (Bytes(), back), (Bytes(), others))]
    whole = serve(machine.dram, read, back + others).time
    factor = whole / sum(alone) if whole else 0.0
    return DramTime(*(part * factor for part in alone))


def _asked(moved: Moved, foreign: Foreign, machine: Machine) -> tuple[Bytes, Bytes, Bytes]:
    """What DRAM has to read, to write back, and to write of foreign lines. A sector that was written in part is filled up with a read of its atom."""
    atom, piece = machine.dram.atom, machine.dram.piece
    fills = moved.back.fills
    read = Bytes(moved.blocks + moved.back.fill_blocks, moved.atoms + moved.back.fill_atoms, moved.atoms * atom + fills * SECTOR)
    back = Bytes(moved.back.blocks, moved.back.atoms, moved.back.sectors * SECTOR)
    gone = foreign.nbytes
    return read, back, Bytes(gone / piece, gone / atom, gone)


@dataclass(frozen=True, slots=True)
class Cost:
    """What the launch's traffic costs the chip. changed: sectors stored or changed by atomics; steps: of atomics; hot: cycles of the slice of L2 that
    has most of them; received: see `Moved`; evicting: that reads from DRAM wait on average because they
    take the place of dirty lines; filled: sectors read to fill up others, for each that is written in part."""

    dram: DramTime
    changed: int
    steps: int
    hot: float
    received: Mapping[int, float]
    evicting: float
    filled: float

    def split(self, reads: float) -> tuple[float, float, float]:
        """Cycles of the chip for each of `reads` sectors that are read from DRAM, for each sector that is changed, for each step of an atomic."""
        dram, changed = self.dram, self.changed
        both = dram.foreign / 2 if reads and changed else dram.foreign
        per_read = (dram.read + both) / reads if reads else 0.0
        per_changed = (dram.written + (both if reads else dram.read + dram.foreign)) / changed if changed else 0.0
        return per_read, per_changed, self.hot / self.steps if self.steps else 0.0


def cost(moved: Moved, foreign: Foreign, counted: Counters, partly: int, machine: Machine) -> Cost:
    """partly: sectors that stores write in part, each time."""
    changed = sum(counted.get(name, 0) for name in ("l1_store_sectors", "global_atomic_sectors", "global_red_sectors"))
    hot = max(moved.hottest / machine.simt.atomic_step, moved.atomics / machine.simt.atomic_rate)
    filled = moved.back.fills / partly if partly else 0.0
    return Cost(dram_time(moved, foreign, machine), changed, moved.atomics, hot, moved.received, foreign.share * machine.evict_latency, filled)


def traffic(counted: Counters, runs: Iterable[tuple[SmRun, float]], moved: Moved, foreign: Foreign, machine: Machine) -> Counters:
    """runs: timed SMs, each with the number of SMs it stands for. A law: sectors loaded = hit in L1 + merged + received by L2."""
    runs = list(runs)
    hits = sum(run.l1_hits * times for run, times in runs)
    looked = sum((run.l1_hits + run.l1_misses) * times for run, times in runs)
    loaded = counted.get("l1_load_sectors", 0)
    missed = min(moved.missed, loaded)
    hit = min(loaded - missed, round(loaded * hits / looked)) if looked else 0
    asked = sum(run.l2_sectors * times for run, times in runs)
    merged = max(0, round((loaded - hit) * (1.0 - sum(run.l2_received * times for run, times in runs) / asked))) if asked else 0
    reading = loaded - hit - merged
    missed = min(missed, reading)
    atomics = counted.get("global_atomic_sectors", 0) + counted.get("global_red_sectors", 0)
    stored = counted.get("l1_store_sectors", 0)
    crossing = round((stored + atomics) * moved.remote / moved.changed) if moved.changed else 0
    read, back, others = _asked(moved, foreign, machine)
    dram = serve(machine.dram, read, back + others)
    out = {
        "l1_hit_sectors": hit,
        "merged_sectors": merged,
        "l2_read_sectors": reading,
        "l2_write_sectors": stored,
        "l2_atomic_sectors": atomics,
        "l2_read_hit_sectors": max(0, reading - missed),
        "l2_read_miss_sectors": moved.near_misses,
        "l2_hit_sectors": max(0, reading - missed) + stored + atomics,
        "fabric_read_sectors": moved.fabric_read,
        "fabric_write_sectors": crossing,
        "fabric_sectors": moved.fabric_read + crossing,
        "dram_read_bytes": round(read.nbytes),
        "dram_write_bytes": round(back.nbytes + others.nbytes),
        "dram_bursts": round(dram.bursts),
        "dram_row_hits": round(dram.row_hits),
        "dram_turnarounds": round(dram.turnarounds),
        "l2_dirty_bytes": moved.dirty.sectors * SECTOR,
    }
    return {name: value for name, value in out.items() if value or name not in ABSENT}
