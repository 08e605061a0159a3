"""Statements whose results nobody reads are dropped; an atomic keeps its effect and loses its result.

What nvcc does: the same, loads included. A register counts as read only if some lane may reach the read without another assignment
in between (liveness, going backward; a loop is gone through until nothing changes).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusim.ir.simt.nodes import Atomic, Break, Continue, For, If, Load, Op, Reg, Return, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.walk import reads, writes

Live = frozenset[int]
NONE: Live = frozenset()
Body = tuple[Stmt, ...]


def dead(program: SimtProgram) -> SimtProgram:
    return replace(program, body=_body(program.body, set(), _Exits(NONE, NONE))[0])


@dataclass(frozen=True, slots=True)
class Behind:
    """Registers whose values are needed behind a list of statements, and where its Break and Continue go."""

    live: Live
    after: Live
    latch: Live


def liveness(program: SimtProgram) -> dict[int, Behind]:
    """id of every list of statements (but empty ones) -> what is needed behind it."""
    found: dict[int, Behind] = {}
    _body(program.body, set(), _Exits(NONE, NONE, found))
    return found


@dataclass(frozen=True, slots=True)
class _Exits:
    """What is live where Break and Continue go. `record`, if given, takes what `liveness` finds."""

    after: Live
    latch: Live
    record: dict[int, Behind] | None = None

    def note(self, body: Body, live: set[int]) -> None:
        if self.record is not None and body:
            old = self.record.get(id(body), Behind(NONE, NONE, NONE))
            self.record[id(body)] = Behind(old.live | live, old.after | self.after, old.latch | self.latch)


def _body(body: Body, live: set[int], exits: _Exits) -> tuple[Body, set[int]]:
    """The statements that are needed, and what is live before them; `live` (changed) is what is live behind."""
    exits.note(body, live)
    out: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, Op):
            if stmt.dst.id not in live:
                continue
            live.discard(stmt.dst.id)
            live.update([a.id for a in stmt.args if type(a) is Reg])
            out.append(stmt)
        elif isinstance(stmt, If):
            kept, live = _if(stmt, live, exits)
            out.extend(kept)
        elif isinstance(stmt, (For, While)):
            kept, live = _loop(stmt, live, exits.record)
            out.extend(kept)
        elif isinstance(stmt, (Break, Continue, Return)):
            live = set(exits.after if isinstance(stmt, Break) else exits.latch if isinstance(stmt, Continue) else NONE)
            out.append(stmt)
        else:
            _simple(stmt, live, out)
    return tuple(reversed(out)), live


def _simple(stmt: Stmt, live: set[int], out: list[Stmt]) -> None:
    made = {reg.id for reg in writes(stmt)}
    if isinstance(stmt, Load) and not made & live:
        return
    if isinstance(stmt, Atomic) and made and not made & live and stmt.op not in ("exch", "cas"):
        stmt = replace(stmt, dst=None)
    live -= made
    _read(reads(stmt), live)
    out.append(stmt)


def _read(values: tuple[Value, ...], live: set[int]) -> None:
    live.update(v.id for v in values if isinstance(v, Reg))


def _if(stmt: If, live: set[int], exits: _Exits) -> tuple[Body, set[int]]:
    then, before_then = _body(stmt.then, set(live), exits)
    orelse, before_else = _body(stmt.orelse, set(live), exits)
    if not then and not orelse:
        return (), live
    before = before_then | before_else
    _read((stmt.cond,), before)
    return (replace(stmt, then=then, orelse=orelse),), before


def _loop(stmt: For | While, live: set[int], record: dict[int, Behind] | None) -> tuple[Body, set[int]]:
    """Live at the begin of an iteration grows until it is stable; only then are statements dropped."""
    after = frozenset(live)
    top = set(live)
    while True:
        new, before = _iteration(stmt, after, top, record)
        if before <= top:
            break
        top |= before
    if isinstance(new, For) and not new.body and new.var.id not in after:
        return (), live
    if isinstance(new, For):
        _read((new.start, new.stop, new.step), top)
        # the variable keeps its old value where the loop runs not at all
        top |= after
    return (new,), top


def _iteration(stmt: For | While, after: Live, top: set[int], record: dict[int, Behind] | None) -> tuple[For | While, set[int]]:
    if isinstance(stmt, For):
        exits = _Exits(after, frozenset(after | top), record)
        body, before = _body(stmt.body, set(after | top), exits)
        return replace(stmt, body=body), (before - {stmt.var.id}) | after
    body, before = _body(stmt.body, set(top), _Exits(after, frozenset(top), record))
    behind_head = set(before | after)
    _read((stmt.cond,), behind_head)
    head, first = _body(stmt.head, behind_head, _Exits(after, frozenset(top), record))
    return replace(stmt, head=head, body=body), first
