"""Small machine programs for tests of one SM: blocks of instructions and the paths of warps through them, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from gpusim.lower.simt.code import Access, Block, Branch, Code, End, Exit, Instr, Jump
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, resolve
from gpusim.trace.simt import CtaPath, Touch, WarpPath

ALL = 0xFFFFFFFF


@cache
def machine(name: str = "h200", clock_mhz: float = 1980.0) -> Machine:
    return resolve(load_spec(name), clock_mhz)


def code(*blocks: Sequence[Instr], ends: Sequence[End] | None = None) -> Code:
    """Blocks that follow each other; an instruction with an access opens it in its block."""
    made, accesses = [], []
    for number, instrs in enumerate(blocks):
        here = [i.access for i in instrs if i.access is not None]
        accesses += [Access("load", "global", "x", 4, number, i.line) for i in instrs if i.access is not None]
        end: End = ends[number] if ends else Jump(number + 1) if number + 1 < len(blocks) else Exit()
        made.append(Block(number, (), end, tuple(here), tuple(instrs)))
    program: Any = None
    return Code(program, tuple(made), tuple(accesses))


def warp(*passes: int | tuple[int, int] | tuple[int, int, tuple[Touch, ...]]) -> WarpPath:
    """A path: blocks, each with its mask (all lanes by default) and its touches."""
    rows = [(p,) if isinstance(p, int) else p for p in passes]
    return WarpPath([r[0] for r in rows], [r[1] if len(r) > 1 else ALL for r in rows], [r[2] if len(r) > 2 else () for r in rows])


def cta(*warps: WarpPath, number: int = 0) -> CtaPath:
    return CtaPath(number, list(warps))


def chain(op: str, count: int, ilp: int = 1, constants: Sequence[int] = ()) -> list[Instr]:
    """`count` instructions in `ilp` dependent chains. constants: registers that all of them read."""
    return [Instr(op, (i % ilp,), (i % ilp, *constants), 1) for i in range(count)]


LOOP_ENDS = (Jump(1), Branch(None, 1, 2), Exit())  # type: ignore[arg-type]
