"""Counters of a launch that need no clock, and the bounds that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from gpusim import effects as fx
from gpusim.ir.expr import evaluate
from gpusim.ir.ops import Box, Loop
from gpusim.ir.program import Program, walk
from gpusim.launch.energy import rate_of
from gpusim.launch.mixed.parts import Parts
from gpusim.launch.tally import wavefronts
from gpusim.lower.lowered import Lowered
from gpusim.parts.tensor_core import mma_sync_cycles, wgmma_cycles
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters

#: sums over the effects of a stretch, per CTA; pipes in cycles of a sub-core
KEYS = ("instructions", "tensor_fma", "shared_wavefronts", "load_bytes", "store_bytes", "spill_bytes", "tensor", "full_rate", "xu", "alu", "fma")
WARPS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """Of all CTAs, int64 [ctas]: `trips` of a pass through their loop, `times` that they pass through it; env: values of program ids and lets."""

    trips: np.ndarray
    times: np.ndarray
    env: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Counts:
    """bounds: resource -> cycles. first_touch: share of the bytes that the loop asks for which nobody asked for before.
    tensor: cycles at full rate, summed over SMs."""

    counters: Counters
    bounds: dict[str, float]
    first_touch: float
    tensor: float


def counts(lowered: Lowered, cut: Parts, grid: Grid, machine: Machine) -> Counts:
    """Of the whole launch."""
    program, repeat, trips = lowered.program, cut.repeat, grid.trips
    passes, steps = int(grid.times.sum()), int((trips * grid.times).sum())
    env = grid.env | ({cut.var: 0} if cut.var else {})
    outside, inside = _sums((*cut.before, *cut.after), program, machine), _sums(repeat.body, program, machine)
    copied = sum(e.ahead for e in repeat.body if isinstance(e, fx.Copy)) // max(1, sum(isinstance(e, fx.Copy) for e in repeat.body))
    total = {k: outside[k] * passes + inside[k] * steps for k in KEYS}
    total["load_bytes"] -= _copied(repeat, program) * copied * passes
    fresh = {t.name: t.shape[0] * t.pitch_bytes if len(t.shape) > 1 else t.pitch_bytes for t in program.tensors}
    reads = {e.box.tensor for e in (*cut.before, *repeat.body) if isinstance(e, fx.Copy | fx.Load)}
    looped = {e.box.tensor for e in repeat.body if isinstance(e, fx.Copy | fx.Load)}
    asked = inside["load_bytes"] * steps
    touched = sum(min(fresh[name], _reached(repeat, name, program, env, trips)) for name in looped)
    counters = _counters(
        total, program, machine, sum(fresh[n] for n in reads - looped) + touched, sum(t.pitch_bytes * t.shape[0] for t in program.tensors if t.role != "in")
    )
    return Counts(counters, _bounds(total, counters, lowered.matrix, machine), touched / asked if asked else 0.0, total["full_rate"])


def _reached(repeat: fx.Repeat, tensor: str, program: Program, env: Mapping[str, Any], trips: np.ndarray) -> float:
    """Bytes of the boxes of `tensor` that some CTA touches in its loop: distinct first boxes, each with its longest walk."""
    box = next(e.box for e in repeat.body if isinstance(e, fx.Copy | fx.Load) and e.box.tensor == tensor)
    loop = next(op for op in walk(program.body) if isinstance(op, Loop) and op.var == repeat.var)
    first = np.broadcast_to(evaluate(box.origin[0], {**env, repeat.var: evaluate(loop.start, env)}), trips.shape)
    longest: dict[int, int] = {}
    for key, n in zip(first.tolist(), trips.tolist(), strict=True):
        longest[key] = max(longest.get(key, 0), n)
    return sum(longest.values()) * _bytes(box, program)


def _copied(repeat: fx.Repeat, program: Program) -> int:
    """Bytes of the copies of a step."""
    return sum(_bytes(e.box, program) for e in repeat.body if isinstance(e, fx.Copy))


def _bytes(box: Box, program: Program) -> int:
    return prod(box.shape) * program.tensor(box.tensor).dtype.bytes


def _sums(effects: Iterable[Any], program: Program, machine: Machine) -> dict[str, float]:
    c = dict.fromkeys(KEYS, 0.0)
    warps = program.warps
    for e in effects:
        if isinstance(e, fx.Vector):
            c["instructions"] += e.count * warps
            share = warps / machine.subcores
            c["xu"] += e.xu * share * machine.simt.interval["xu"]
            c["alu"] += (e.alu + e.tests) * share * machine.alu_slots
            c["fma"] += e.fma * share * machine.fma_slots
        elif isinstance(e, fx.Matrix):
            c["tensor_fma"] += e.count * e.m * e.n * e.k
            c["shared_wavefronts"] += wavefronts(e, machine)
            c["instructions"] += e.loads * warps + e.count * (WARPS if e.kind == "wgmma" else 1)
            each = wgmma_cycles(machine, e.fmt, e.m, e.n, e.k, e.registers) if e.kind == "wgmma" else mma_sync_cycles(machine, e.fmt, e.m, e.n, e.k)
            c["tensor"] += e.count * each
            c["full_rate"] += e.count * e.m * e.n * e.k / rate_of(e.kind, e.fmt, machine)
        elif isinstance(e, fx.Copy | fx.Load | fx.Store):
            size = _bytes(e.box, program)
            c["store_bytes" if isinstance(e, fx.Store) else "load_bytes"] += size
            c["instructions"] += size / (e.piece * 32)
        elif isinstance(e, fx.Shared):
            c["shared_wavefronts"] += e.wavefronts
            c["instructions"] += e.count * warps
        elif isinstance(e, fx.Local):
            c["instructions"] += (e.loads + e.stores) * warps
            c["spill_bytes"] += (e.loads + e.stores) * warps * machine.line
        elif isinstance(e, fx.Barrier | fx.Fence | fx.WaitCopies | fx.WaitMatrix):
            c["instructions"] += warps
    return c


def _counters(total: dict[str, float], program: Program, machine: Machine, fresh: float, written: float) -> Counters:
    sector = machine.sector
    asked, stored = round(total["load_bytes"] / sector), round(total["store_bytes"] / sector)
    missed = min(asked, round(fresh / sector))
    dirty = _left_dirty(fresh, written, machine)
    out = {
        "instructions": round(total["instructions"]),
        "tensor_fma": round(total["tensor_fma"]),
        "l1_load_sectors": asked,
        "l1_store_sectors": stored,
        "shared_wavefronts": round(total["shared_wavefronts"]),
        "merged_sectors": 0,
        "l2_read_sectors": asked,
        "l2_write_sectors": stored,
        "l2_hit_sectors": asked - missed + stored,
        "fabric_sectors": round((missed + stored) * (machine.halves - 1) / machine.halves),
        "dram_read_bytes": missed * sector,
        "dram_write_bytes": round(written - dirty),
        "l2_dirty_bytes": round(dirty),
    }
    if total["spill_bytes"]:
        out["spill_bytes"] = round(total["spill_bytes"])
    hit = asked - missed
    crossed = min(out["fabric_sectors"], round(stored * (machine.halves - 1) / machine.halves))
    parts = {"l2_read_hit_sectors": hit, "l2_read_miss_sectors": missed, "fabric_read_sectors": out["fabric_sectors"] - crossed}
    return out | parts | {"fabric_write_sectors": crossed}


def _left_dirty(fresh: float, written: float, m: Machine) -> float:
    """Written bytes that L2 still holds at the end: of what it holds, written and read bytes have the shares in which they came. A line whose home is
    in the other half has a copy in the near one."""
    copies = 2.0 - 1.0 / m.halves
    held = m.half_bytes * m.halves * written / (copies * (fresh + written)) if fresh + written else 0.0
    return min(written, held, m.dirty_bytes * m.halves)


def _bounds(total: dict[str, float], counters: Counters, matrix: str, m: Machine) -> dict[str, float]:
    sms = m.sms
    return {
        "issue": counters["instructions"] / (sms * m.subcores),
        "shared memory": counters["shared_wavefronts"] * 128 / m.shared_rate / sms,
        "SM fill": total["load_bytes"] / (m.fill_rate * sms),
        "SM store": total["store_bytes"] / (m.store_rate * sms),
        "L2 read": counters["l2_read_sectors"] * m.sector / m.l2_read_rate,
        "L2 write": total["store_bytes"] / m.l2_write_rate,
        "DRAM": (counters["dram_read_bytes"] + counters["dram_write_bytes"]) / m.dram_rate,
        "special functions": total["xu"] / sms,
        "ALU": total["alu"] / sms,
        "FMA pipe": total["fma"] / sms,
        "tensor": total["tensor"] / sms,
    }
