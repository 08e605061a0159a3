"""What a CTA does outside its loop, alone: latencies one after the other."""

from __future__ import annotations

from math import prod
from typing import Any

from gpusim import effects as fx
from gpusim.devices.mixed.phases import Busy, Meet, Pause, phases
from gpusim.ir.program import Program
from gpusim.spec.resolve import Machine


def start_cycles(effects: tuple[fx.Effect, ...], machine: Machine, program: Program) -> float:
    """From the CTA's start to its loop: addresses, the tiles that are loaded once (from DRAM), then the first copies."""
    copied = sum(_bytes(e, program) for e in effects if isinstance(e, fx.Copy) and not e.ahead)
    loaded = sum(_bytes(e, program) for e in effects if isinstance(e, fx.Load))
    from_dram = machine.l2_latency + machine.dram_latency + machine.dram_spread
    total = _own(effects, machine, program)
    total += from_dram + loaded / machine.fill_rate if loaded else 0.0
    return total + (from_dram + machine.cp_async_latency + copied / machine.fill_rate if copied else 0.0)


def end_cycles(effects: tuple[fx.Effect, ...], matrix: str, machine: Machine, program: Program) -> float:
    """From the loop to the last store: the last products, work on the result, stores."""
    drain = machine.wgmma.latency if machine.wgmma and matrix == "wgmma" else machine.mma_sync.latency
    stored = sum(_bytes(e, program) for e in effects if isinstance(e, fx.Store))
    return drain + _own(effects, machine, program) + stored / machine.store_rate


def _own(effects: tuple[fx.Effect, ...], machine: Machine, program: Program) -> float:
    """Instructions, barriers and passes through shared memory; warpgroups side by side take turns."""
    element = {t.name: t.dtype.bytes for t in program.tensors}
    groups = max(1, program.warps // 4)
    total = 0.0
    for p in phases(effects, machine, program.warps, element):
        if isinstance(p, Busy):
            total += groups * max(p.alone) + p.latency
        elif isinstance(p, Meet | Pause):
            total += p.cycles
    return total


def _bytes(e: Any, program: Program) -> int:
    return prod(e.box.shape) * program.tensor(e.box.tensor).dtype.bytes
