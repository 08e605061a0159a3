"""How ranges of integers grow in loops, and what is left of them where ways meet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence

from gpusim.ir.simt.nodes import Imm, Op, Reg, SimtProgram, Stmt, Value
from gpusim.ir.simt.ranges import COMPARED, Range, union
from gpusim.ir.simt.walk import walk, writes

Env = dict[int, Range]  # register -> range; absent: any value of its type


def widened(old: Range, new: Range, steps: Sequence[int]) -> Range:
    """A bound that moved goes to the next of `steps`, or to the end of 64 bits. steps are sorted."""
    low, high = old
    if new[0] < low:
        below = bisect_right(steps, new[0])
        low = steps[below - 1] if below else -(1 << 63)
    if new[1] > high:
        above = bisect_left(steps, new[1])
        high = steps[above] if above < len(steps) else (1 << 63) - 1
    return low, high


def constants(program: SimtProgram) -> list[int]:
    """0, and integers that the program compares with and their neighbours, sorted."""
    compared = [stmt for stmt in walk(program.body) if isinstance(stmt, Op) and stmt.op in COMPARED]
    found = {int(v.value) for stmt in compared for v in stmt.args if isinstance(v, Imm) and not isinstance(v.value, float)}
    return sorted({0} | {near for value in found for near in (value - 1, value, value + 1)})


def grown(body: tuple[Stmt, ...], carried: set[int]) -> dict[int, Value]:
    """Carried registers whose only assignment in the body is, at its top level, reg + something that the body does not assign."""
    times = Counter(reg.id for stmt in walk(body) for reg in writes(stmt))
    sums = {stmt.dst.id: stmt for stmt in body if isinstance(stmt, Op) and stmt.op == "add" and times[stmt.dst.id] == 1}
    out: dict[int, Value] = {}
    for stmt in body:
        if not isinstance(stmt, Op) or stmt.dst.id not in carried or times[stmt.dst.id] != 1:
            continue
        source = stmt.args[0] if stmt.op == "mov" else stmt.dst
        made = sums.get(source.id) if isinstance(source, Reg) else None
        if made is not None and made.args[0] == stmt.dst and (isinstance(made.args[1], Imm) or times[made.args[1].id] == 0):
            out[stmt.dst.id] = made.args[1]
    return out


def join(envs: list[Env | None]) -> Env | None:
    """What holds whichever way lanes came."""
    reached = [env for env in envs if env is not None]
    if not reached:
        return None
    first, *others = reached
    for other in others:
        first = {reg: r if other[reg] == r else union(r, other[reg]) for reg, r in first.items() if reg in other}
    return first


def inside(a: Range | None, b: Range) -> bool:
    return a is not None and b[0] <= a[0] and a[1] <= b[1]


def counter(start: Range, stop: Range, step: Range) -> Range:
    """Values of a loop variable."""
    up = (start[0], max(start[1], stop[1] - 1))
    down = (min(start[0], stop[0] + 1), start[1])
    if step[0] > 0:
        return up
    return down if step[1] < 0 else union(up, down)
