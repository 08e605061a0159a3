"""Energy of a launch, level by level: what was done, times what one of it costs. No time in it.

Energies are in pJ, at the voltage of the boost clock. A level's energy is a sum of products, so energies of launches add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpusim import effects as fx
from gpusim.devices.stream import Stream
from gpusim.errors import GpusimError
from gpusim.spec.power import Energies, Power
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters
from gpusim.trace.load import Load
from gpusim.trace.run import Run

SECTOR, WAVEFRONT, LANES = 32, 128, 32

#: counters of warp instructions that compute with data; all others cost what an instruction costs
ARITHMETIC = ("fma_instructions", "half_instructions", "fp64_instructions", "xu_instructions", "alu_instructions")
#: counters of sectors that pass between SMs and L2. Data multicast to a cluster passes once: with that, the law gives the clocks of the library's products
#: (kernels.json, group cublas) to 1.6 %, without it 3 % too low
MOVED = ("l1_load_sectors", "l1_store_sectors", "bulk_copy_sectors", "global_atomic_sectors", "global_red_sectors")
#: the level that DRAM's supply feeds; all others hang on the SMs' one
DRAM = "DRAM"


@dataclass(frozen=True, slots=True)
class Work:
    """Warp instructions; lanes that compute; cycles of an SM's tensor cores at full rate, summed over SMs, by kind of instruction; bytes."""

    instructions: float = 0.0
    lanes: float = 0.0
    tensor: dict[str, float] = field(default_factory=dict)
    l1_bytes: float = 0.0
    l2_bytes: float = 0.0
    dram_bytes: float = 0.0


def energies(work: Work, each: Energies) -> dict[str, float]:
    """Level -> pJ. Raises GpusimError for warpgroup instructions where nobody knows their energy."""
    wgmma = each.wgmma
    if wgmma is None and work.tensor.get("wgmma"):
        raise GpusimError("power gives no energy for warpgroup instructions (wgmma).", hint="Add power.random.wgmma and power.zeros.wgmma to the YAML file.")
    return {
        "instructions": work.instructions * each.instruction + work.lanes * each.lane,
        "tensor": work.tensor.get("mma.sync", 0.0) * each.mma_sync + work.tensor.get("wgmma", 0.0) * (wgmma or 0.0),
        "L1 and shared": work.l1_bytes * each.l1_byte,
        "L2": work.l2_bytes * each.l2_byte,
        DRAM: work.dram_bytes * each.dram_byte,
    }


def tile_work(run: Run, made: Stream, machine: Machine, matrix: str) -> Work:
    """What a launch of tiles does. Warpgroup instructions read shared memory themselves; their energy holds that."""
    c = run.counters
    return Work(
        instructions=c["instructions"],
        lanes=run.flops / 2 if matrix == "simt" else 0.0,
        tensor=_tensor(made, machine),
        l1_bytes=0.0 if matrix == "wgmma" else c.get("shared_wavefronts", 0) * WAVEFRONT,
        l2_bytes=_moved(c),
        dram_bytes=_dram(c),
    )


def thread_work(counters: Counters, tensor: dict[str, float]) -> Work:
    """What a launch of threads does. tensor: as in `Work`."""
    c = counters
    active = c["thread_instructions"] / c["instructions"] if c["instructions"] else 0.0
    served = c.get("l1_hit_sectors", 0) * SECTOR
    return Work(
        instructions=c["instructions"],
        lanes=active * sum(c.get(name, 0) for name in ARITHMETIC),
        tensor=tensor,
        l1_bytes=served + (0 if "wgmma" in tensor else c.get("shared_wavefronts", 0) * WAVEFRONT),
        l2_bytes=_moved(c) - served,
        dram_bytes=_dram(c),
    )


def rate_of(kind: str, fmt: str, machine: Machine) -> float:
    """FMA per cycle of an SM at full rate."""
    unit = machine.wgmma if kind == "wgmma" else machine.mma_sync
    assert unit is not None, "lowering refuses instructions that the machine lacks"
    return unit.fma_per_cycle[fmt]


def loaded(run: Run, work: Work, power: Power, machine: Machine, **seen: Any) -> Run:
    """`run` with its load, for the data that its protocol supposes. seen: fields of `Load` that only the simulation knows."""
    outside = machine.launch_overhead if run.protocol.launch == "in" else 0.0
    energy, counted = (energies(work, each) for each in (getattr(power, run.protocol.data), power.random))
    return replace(run, load=Load(energy, counted, any(work.tensor.values()), outside=outside, waves=waves(run), **seen))


def waves(run: Run) -> tuple[tuple[float, float], ...]:
    """(share of the time, load over the mean load) of the full waves and of the last one, which has fewer CTAs and, where SMs hold several, is shorter."""
    full, rest = divmod(run.ctas, run.slots)
    if not full or not rest:
        return ((1.0, 1.0),)
    held = run.occupancy.ctas_per_sm
    tail = -(-rest * held // run.slots) / held
    mean = run.ctas / run.slots / (full + tail)
    return (full / (full + tail), 1 / mean), (tail / (full + tail), rest / run.slots / tail / mean)


def _tensor(made: Stream, machine: Machine) -> dict[str, float]:
    out: dict[str, float] = {}
    for effects, times in ((made.prologue, 1), (made.body, made.trips), (made.epilogue, 1)):
        for e, _ in effects:
            if isinstance(e, fx.Matrix):
                out[e.kind] = out.get(e.kind, 0.0) + times * made.ctas * e.count * e.m * e.n * e.k / rate_of(e.kind, e.fmt, machine)
    return out


def _moved(c: Counters) -> int:
    return sum(c.get(name, 0) for name in MOVED) * SECTOR


def _dram(c: Counters) -> int:
    return c.get("dram_read_bytes", 0) + c.get("dram_write_bytes", 0)


def rests(times: Sequence[Sequence[float]], hold: float) -> tuple[float, float, float]:
    """Cycles until the first tensor instruction; how often the tensor cores of an SM rest for longer than `hold` cycles before they work again, and
    the cycles of these rests beyond `hold`: both the mean over SMs that use them. times: for each SM, begin, end, begin, ... of their work."""
    used = [np.asarray(sm, dtype=np.float64).reshape(-1, 2) for sm in times if sm]
    if not used:
        return 0.0, 0.0, 0.0
    gaps = np.concatenate([sm[1:, 0] - np.maximum.accumulate(sm[:-1, 1]) for sm in used]) - hold
    long = gaps[gaps > 0]
    return float(min(sm[0, 0] for sm in used)), long.size / len(used), float(long.sum()) / len(used)
