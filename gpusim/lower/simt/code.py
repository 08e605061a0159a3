"""A lowered SIMT program: a control-flow graph that values and time share.

Blocks are numbered in an order in which every block stands before what follows it, except along the back edges of loops, and the
join of a branch stands behind both of its sides. So "run the lanes at the lowest block first" reconverges them at the immediate
post-dominator, as the hardware's barriers (BSSY, BSYNC) do.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.simt.nodes import If, Simple, SimtProgram, Value


@dataclass(frozen=True, slots=True)
class Jump:
    to: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Lanes whose cond is true go to `yes`, the others to `no`."""

    cond: Value
    yes: int
    no: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Exit:
    """The lane ends."""


End = Jump | Branch | Exit


def targets(end: End) -> tuple[int, ...]:
    """Blocks that lanes may go to."""
    if isinstance(end, Jump):
        return (end.to,)
    return (end.yes, end.no) if isinstance(end, Branch) else ()


@dataclass(frozen=True, slots=True)
class Instr:
    """One machine instruction of a warp, in the order of issue.

    op: mnemonic without modifiers ("FFMA", "IMAD.WIDE", "LDG", "BRA"); a key of the cost table. dst, srcs: virtual registers (numbers below
    `Code.machine_registers`); predicates and uniform registers are registers too. access: index into `Code.accesses` for what
    touches memory. bits: width of a memory access per lane; columns of a matrix instruction of a warpgroup; groups a wait leaves open.
    cached: a load looks in the L1.
    closes: the last matrix instruction of a committed group.
    """

    op: str
    dst: tuple[int, ...] = ()
    srcs: tuple[int, ...] = ()
    line: int = 0
    access: int | None = None
    bits: int = 32
    cached: bool = True
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """A place in the code that touches memory: its statement sits in block `block`. kind: "load" "store" "atomic" "red" "copy" "ldmatrix" "bulk"
    "mbarrier". `bytes` per lane (of a bulk copy: of an element). Several statements may never share one Access; a statement has exactly one."""

    kind: str
    space: str
    buffer: str
    bytes: int
    block: int
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """`ops`: straight-line statements, or predicated Ifs of such; `end`: where the lanes go. `accesses[i]`: the Access of the i-th
    memory statement in `ops`, counted depth first. `instrs`: what a warp issues for one pass through the block, the branch included."""

    id: int
    ops: tuple[Simple | If, ...]
    end: End
    accesses: tuple[int, ...] = ()
    instrs: tuple[Instr, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """registers: 32-bit registers per thread (estimated, or given), for occupancy; spills: of those that are
    needed, in local memory: STL and LDL without an Access."""

    program: SimtProgram
    blocks: tuple[Block, ...]
    accesses: tuple[Access, ...]
    machine_registers: int = 0
    registers: int = 32
    spills: int = 0
    shared_bytes: int = 0
    notes: tuple[str, ...] = ()
