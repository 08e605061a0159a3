"""A variable that is used for several things becomes several registers: one for each value that lives by itself.

What nvcc does: its form with single assignments does it by itself. Here it lets later rewrites recognise and move what the copies of an
unrolled loop, or two uses of one name, compute. A new register begins at an assignment whose value nobody needs behind the next
assignment in the same list of statements, or behind the list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpusim.ir.simt.nodes import Break, Continue, For, If, Reg, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.rewrites.dead import Behind, liveness
from gpusim.ir.simt.rewrites.names import Supply
from gpusim.ir.simt.walk import bodies, walk, with_reads, with_writes, writes

Body = tuple[Stmt, ...]
Names = dict[int, Reg]


def webs(program: SimtProgram) -> SimtProgram:
    made: Counter[int] = Counter(reg.id for stmt in walk(program.body) for reg in writes(stmt))
    splitter = _Splitter({reg for reg, times in made.items() if times > 1}, liveness(program), Supply(program))
    return replace(program, body=splitter.body(program.body, {}), registers=splitter.fresh.registers)


class _Splitter:
    def __init__(self, several: set[int], behind: dict[int, Behind], fresh: Supply) -> None:
        self.several, self.behind, self.fresh = several, behind, fresh

    def body(self, body: Body, outer: Names) -> Body:
        """`outer`: names that hold where the list begins, and where it ends for what is needed then."""
        if not body:
            return body
        names = dict(outer)
        places = self.places(body)
        jumps = [(at, *_jumps(stmt)) for at, stmt in enumerate(body) if isinstance(stmt, (If, Break, Continue))]
        out: list[Stmt] = []
        for at, stmt in enumerate(body):
            stmt = self.inside(stmt, names)
            if not bodies(stmt):
                for reg in writes(stmt):
                    if reg.id in self.several:
                        self.begin(reg, at, places[reg.id], jumps, self.behind[id(body)], names, outer)
            out.append(with_writes(stmt, _named(names)))
        return tuple(out)

    def inside(self, stmt: Any, names: Names) -> Any:
        """The statement with the names that hold in front of it, also in what it contains."""
        if isinstance(stmt, While):
            head = self.body(stmt.head, names)
            return replace(stmt, head=head, cond=_value(names)(stmt.cond), body=self.body(stmt.body, names))
        stmt = with_reads(stmt, _value(names))
        if isinstance(stmt, For):
            return replace(stmt, body=self.body(stmt.body, names))
        if isinstance(stmt, If):
            return replace(stmt, then=self.body(stmt.then, names), orelse=self.body(stmt.orelse, names))
        return stmt

    def places(self, body: Body) -> dict[int, list[int]]:
        """Register -> where in the list a simple statement assigns it."""
        out: dict[int, list[int]] = {}
        for at, stmt in enumerate(body):
            for reg in () if bodies(stmt) else writes(stmt):
                if reg.id in self.several:
                    out.setdefault(reg.id, []).append(at)
        return out

    def begin(self, reg: Reg, at: int, places: list[int], jumps: list[tuple[int, bool, bool]], behind: Behind, names: Names, outer: Names) -> None:
        """Choose the name of the value that begins at this assignment."""
        following = next((p for p in places if p > at), None)
        end = following if following is not None else 1 << 60
        own = following is not None or reg.id not in behind.live
        for place, breaks, continues in jumps:
            if at < place <= end and ((breaks and reg.id in behind.after) or (continues and reg.id in behind.latch)):
                own = False
        if own:
            names[reg.id] = self.fresh(reg.dtype, reg.name)
        elif reg.id in outer:
            names[reg.id] = outer[reg.id]
        else:
            names.pop(reg.id, None)


def _jumps(stmt: Stmt) -> tuple[bool, bool]:
    """Whether a Break, a Continue of the loop around stands in it."""
    if isinstance(stmt, If):
        inner = [_jumps(s) for s in (*stmt.then, *stmt.orelse)]
        return any(b for b, _ in inner), any(c for _, c in inner)
    return isinstance(stmt, Break), isinstance(stmt, Continue)


def _named(names: Names) -> Callable[[Reg], Reg]:
    return lambda reg: names.get(reg.id, reg)


def _value(names: Names) -> Callable[[Value], Value]:
    return lambda value: names.get(value.id, value) if isinstance(value, Reg) else value
