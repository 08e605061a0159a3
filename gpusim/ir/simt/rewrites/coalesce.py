"""A value that is computed only to be copied into a variable is computed right there: t = a + b; x = t becomes x = a + b.

What nvcc does: its register allocator gives both the same register. Done where the statements between have nothing to do with x, and x
keeps this value as long as somebody reads t.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpusim.ir.simt.nodes import Break, Continue, Op, Reg, SimtProgram, Stmt, Value
from gpusim.ir.simt.rewrites.names import read_counts
from gpusim.ir.simt.walk import assigned, bodies, contains, read, reads, walk, with_bodies, with_reads, with_writes, writes

Body = tuple[Stmt, ...]
FAR = 256  # statements that are looked at between computing and copying


def coalesce(program: SimtProgram) -> SimtProgram:
    made: Counter[int] = Counter(reg.id for stmt in walk(program.body) for reg in writes(stmt))
    return replace(program, body=_body(program.body, read_counts(program.body), made))


def _body(body: Body, total: Counter[int], made: Counter[int]) -> Body:
    out: list[Stmt | None] = [with_bodies(stmt, lambda inner: _body(inner, total, made)) if bodies(stmt) else stmt for stmt in body]
    place: dict[int, int] = {}
    for at, stmt in enumerate(out):
        if stmt is None:
            continue
        if isinstance(stmt, Op) and stmt.op == "mov" and isinstance(stmt.args[0], Reg) and _joined(out, place, at, total, made):
            place[stmt.dst.id] = place.pop(stmt.args[0].id)
            continue
        for reg in () if bodies(stmt) else writes(stmt):
            place[reg.id] = at
    return tuple([stmt for stmt in out if stmt is not None])


def _joined(out: list[Stmt | None], place: dict[int, int], at: int, total: Counter[int], made: Counter[int]) -> bool:
    """Try to join the copy at `at`; whether it is gone."""
    copy = out[at]
    assert isinstance(copy, Op) and isinstance(copy.args[0], Reg)
    source, target = copy.args[0], copy.dst
    begin = place.get(source.id)
    if begin is None or at - begin > FAR or made[source.id] != 1 or source.dtype != target.dtype:
        return False
    between = [s for s in out[begin + 1 : at] if s is not None]
    # lanes that leave in between must still find the old value
    if any(target.id in _touched(s) for s in between) or contains(between, Break, Continue):
        return False
    end = _last_use(out, begin, at, source, target, total[source.id])
    if end is None:
        return False

    def rename(value: Value) -> Value:
        return target if isinstance(value, Reg) and value.id == source.id else value

    def everywhere(stmt: Stmt) -> Stmt:
        return with_bodies(with_reads(stmt, rename), lambda inner: tuple([everywhere(s) for s in inner]))

    first = out[begin]
    out[begin] = with_writes(first, lambda reg: target if reg.id == source.id else reg)
    out[at] = None
    total[target.id] += total.pop(source.id) - 1
    for i in range(begin + 1, end + 1):
        if (stmt := out[i]) is not None:
            out[i] = everywhere(stmt)
    return True


def _touched(stmt: Stmt) -> set[int]:
    if bodies(stmt):
        return read((stmt,)) | assigned((stmt,))
    return {v.id for v in (*reads(stmt), *writes(stmt)) if isinstance(v, Reg)}


def _last_use(out: list[Stmt | None], begin: int, at: int, source: Reg, target: Reg, uses: int) -> int | None:
    """Where in this list the last reader of source stands, if target is not assigned before; None if it is, or readers are elsewhere."""
    seen, end = 0, at
    for i in range(begin + 1, min(len(out), at + FAR)):
        stmt = out[i]
        if stmt is None:
            continue
        here = read_counts((stmt,))[source.id]
        if here:
            seen, end = seen + here, i
        if seen == uses:
            return end if i <= at or here == 0 or not bodies(stmt) or target.id not in assigned((stmt,)) else None
        if i > at and target.id in assigned((stmt,)):
            return None
    return None
