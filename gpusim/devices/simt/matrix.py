"""Matrix instructions on the tensor cores of an SM: what one of a warp costs, and the queue of those of warpgroups.

Each warp of a warpgroup issues its quarter to the tensor core of its sub-core. All four do the same in the same order, so one queue for each sub-core
stands for the SM's. PTX says that a warpgroup begins together; here each warp begins when it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.errors import GpusimError
from gpusim.ir.simt.matrix import WGMMA_M, step
from gpusim.lower.simt.code import Instr
from gpusim.lower.simt.mnemonics import MATRIX, WARPGROUP
from gpusim.parts.tensor_core import product_cycles, wgmma_cycles
from gpusim.spec.resolve import Machine, Wgmma

if TYPE_CHECKING:
    from gpusim.devices.simt.costs import Issue
    from gpusim.devices.simt.subcore import SubCore, Warp


def interval(instr: Instr, machine: Machine) -> float:
    """Cycles that a matrix instruction of a warp holds the tensor core of its sub-core: whole ones."""
    fmt, products = MATRIX[instr.op]
    rates = machine.mma_sync.fma_per_cycle
    if fmt not in rates:
        raise _missing(instr, machine, "tensor.mma_sync.fma_per_cycle", fmt, tuple(rates))
    return max(1.0, float(round(machine.subcores * products / rates[fmt])))


def issue_cycles(instr: Instr, machine: Machine) -> float:
    """Cycles from the issue of a matrix instruction of a warpgroup to the warp's next instruction, while the queue has room."""
    unit = unit_of(instr, machine)
    return max(unit.issue_least, unit.issue_per_n * instr.bits - unit.issue_hidden)


def unit_of(instr: Instr, machine: Machine) -> Wgmma:
    unit, fmt = machine.wgmma, WARPGROUP[instr.op][0]
    if unit is None:
        what = f"{machine.name} has no matrix instructions of warpgroups"
        raise GpusimError(what, where=f"line {instr.line}", hint="Use cuda.mma, or a GPU of compute capability 9.0.")
    if fmt not in unit.fma_per_cycle:
        raise _missing(instr, machine, "tensor.wgmma.fma_per_cycle", fmt, tuple(unit.fma_per_cycle))
    return unit


def _missing(instr: Instr, machine: Machine, field: str, fmt: str, known: tuple[str, ...]) -> GpusimError:
    what = f"{machine.name} has no {instr.op}: {field} names {', '.join(known)}, not {fmt}"
    return GpusimError(what, where=f"line {instr.line}", hint="Use another format or GPU, or add the rate to the specification.")


class WarpgroupQueue:
    """The tensor core of one sub-core. `ends`: when the instructions that were issued leave it, as far as they matter for the queue."""

    __slots__ = ("machine", "ends", "free")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.ends: list[float] = []
        self.free = 0.0

    def issue(self, instr: Instr, t: float) -> tuple[float, float, float]:
        """(cycles on the tensor core, when the next one may be issued, when the result is there) of one that is issued at t."""
        unit = unit_of(instr, self.machine)
        fmt, registers = WARPGROUP[instr.op]
        shape = (WGMMA_M, instr.bits, step(fmt))
        own, held = product_cycles(self.machine, fmt, *shape), wgmma_cycles(self.machine, fmt, *shape, registers)
        start = max(t, self.free)
        self.free = start + held
        self.ends = [*self.ends[-unit.queue + 1 or len(self.ends) :], self.free]
        full = self.ends[0] if len(self.ends) == unit.queue else t
        return held, full, start + own + (unit.register_latency if registers else unit.latency)


class Products:
    """Matrix instructions of warpgroups on one SM."""

    __slots__ = ("queues",)

    def __init__(self, machine: Machine) -> None:
        self.queues = [WarpgroupQueue(machine) for _ in range(machine.subcores)]

    def multiply(self, core: SubCore, warp: Warp, ins: Issue, t: float) -> None:
        """A matrix instruction, or what closes a group without one."""
        instr, pipe = ins[12], ins[1]
        if instr.op in WARPGROUP:
            held, full, done = self.queues[warp.subcore].issue(instr, t)
            core.free[pipe] = max(core.free[pipe], full)
            core.busy[pipe] += held - ins[3]
            warp.products = done
            for d in ins[5]:
                warp.regs[d] = done
        if instr.closes:
            warp.product_groups.append(warp.products)
