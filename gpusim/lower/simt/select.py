"""Instruction selection: the machine instructions a warp issues for every block.

One table (`table.py`) and one set of rules (`fuse.py`, `address.py`, `control.py`) for all kernels. Blocks are walked in their order; what
loops do not change is computed in front of them; then every block is scheduled and the registers are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.lower.simt import control, registers
from gpusim.lower.simt.balance import balance
from gpusim.lower.simt.code import Code, Instr
from gpusim.lower.simt.copies import coalesced
from gpusim.lower.simt.directions import directed
from gpusim.lower.simt.expr import Numbers
from gpusim.lower.simt.flow import Flow, analyse
from gpusim.lower.simt.fuse import fuse
from gpusim.lower.simt.operations import held
from gpusim.lower.simt.places import places
from gpusim.lower.simt.schedule import CLOSE, REACHES, schedule
from gpusim.lower.simt.spills import spill
from gpusim.lower.simt.statements import statement
from gpusim.lower.simt.uniform import divergent
from gpusim.lower.simt.vectorise import vectorise
from gpusim.lower.simt.webs import split
from gpusim.lower.simt.writer import Writer

#: share by which the estimate of registers may be too high: of the measured kernels at most 55 for 48. Whoever gives the number of a compiled
#: kernel knows that it fits
ESTIMATE_HIGH = 0.15


def select(code: Code, facts: LaunchFacts | None = None, *, given_registers: int | None = None) -> Code:
    """`code` with instructions, machine registers, and registers per thread. Neighbouring loads of shared memory become wide ones before.

    Registers: `given_registers`, else the estimate, but not more than `program.max_registers`; what is above is spilled. A Code that was
    selected before may be given again.
    """
    code = vectorise(coalesced(split(directed(code, facts))))
    flow = analyse(code)
    regs, splits = divergent(flow)
    w = _writer(flow, regs)
    w.cluster = facts.geometry.cluster_ctas if facts is not None else 1
    for block in code.blocks:
        w.block = block.id
        _block(w, block.id)
    most = given_registers or min(registers.MOST, code.program.max_registers or registers.MOST)
    rows, wanted = _finish(w, splits, most, _apart(code, facts), facts.geometry.warps if facts is not None else 1)
    rows, spills = spill(rows, w.flow.succ, w.size, most) if wanted > most else (rows, 0)
    blocks = tuple(replace(b, instrs=tuple(r)) for b, r in zip(code.blocks, rows, strict=True))
    return replace(code, blocks=blocks, machine_registers=w.next, registers=given_registers or min(wanted, most), spills=spills)


def limited(code: Code, facts: LaunchFacts, registers: int) -> Code:
    """Selected `code` with that many registers per thread: as it is if they may be enough, else selected again for them."""
    enough = registers >= (1 - ESTIMATE_HIGH) * code.registers and not code.spills
    return replace(code, registers=registers) if enough else select(code, facts, given_registers=registers)


def _writer(flow: Flow, regs: frozenset[int]) -> Writer:
    program = flow.code.program
    params = {p.reg.id: p.reg for p in program.params}
    numbers = Numbers(flow)
    lists: list[list[Instr]] = [[] for _ in flow.code.blocks]
    return Writer(flow, numbers, fuse(flow), regs, program.registers, lists, params=params, places=places(flow, numbers))


def _block(w: Writer, block: int) -> None:
    if block == 0:
        w.emit("LDC", (w.fresh(),))
    w.held = held(w, w.flow.items[block])
    for item in w.flow.items[block]:
        w.guards, w.part, w.line = item.guards, item.part, item.stmt.line
        statement(w, item)
    w.guards, w.held = (), frozenset()
    w.tails[block] = control.ending(w, block)
    w.settle()


def _finish(w: Writer, splits: frozenset[int], most: int, apart: Mapping[int, str], together: int) -> tuple[list[list[Instr]], int]:
    """The blocks in the order of issue, and the registers that takes: the order that hides most latency, of those that let the most warps be
    resident and stay below `most`; if none does, the one with the fewest registers. together: warps of a CTA."""
    tried = []
    for reach in REACHES if w.flow.code.program.threads is None else (*REACHES, *CLOSE):
        rows = _ordered(w, splits, reach, apart)
        tried.append((rows, registers.estimate(rows, w.flow.succ, w.size)))
        if tried[-1][1] <= min(registers.FREE, most):
            break
    goal = max(registers.resident(min(count, most)) // together for _, count in tried)
    fitting = [t for t in tried if t[1] <= most and registers.resident(t[1]) // together >= goal]
    rows, count = fitting[0] if fitting else min(tried, key=lambda t: t[1])
    return balance(rows), count


def _apart(code: Code, facts: LaunchFacts | None) -> dict[int, str]:
    """Accesses to arguments that overlap no other one, as `ir.simt.rewrites.alias` takes them."""
    overlapping = facts.overlapping if facts is not None else frozenset()
    alone = {b.name for b in code.program.buffers if b.space == "global" and b.arg not in overlapping}
    return {i: a.buffer for i, a in enumerate(code.accesses) if a.space == "global" and a.buffer in alone}


def _ordered(w: Writer, splits: frozenset[int], reach: tuple[int, int], apart: Mapping[int, str]) -> list[list[Instr]]:
    """Schedule, and put around each block what controls the flow."""
    opens, closes = control.barriers(w.flow, splits)
    out: list[list[Instr]] = []
    for block in w.flow.code.blocks:
        head = [Instr("BSYNC", line=block.line)] * closes.get(block.id, 0)
        tail = [Instr("BSSY", line=block.line)] * opens.get(block.id, 0)
        out.append([*head, *schedule(w.lists[block.id], reach, apart), *tail, *w.tails[block.id]])
    return out
