"""Reading and rebuilding statements without knowing their kind: what they read, what they assign, what they contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpusim.ir.simt.nodes import (
    Assert,
    AsyncCopy,
    Atomic,
    Barrier,
    BulkCopy,
    For,
    If,
    Imm,
    LdMatrix,
    Load,
    Mbarrier,
    Mma,
    Op,
    Print,
    Reg,
    Sleep,
    Stmt,
    Store,
    Value,
    Warp,
    Wgmma,
    While,
)

# field names by kind of statement: one value, several values
_READS: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Op: ((), ("args",)),
    Load: (("index",), ()),
    Store: (("index",), ("values",)),
    Atomic: (("index",), ("args",)),
    Warp: ((), ("args",)),
    Barrier: (("value",), ()),
    AsyncCopy: (("target_index", "source_index", "valid"), ()),
    BulkCopy: (("target_index", "source_index", "count", "barrier_index"), ()),
    Mbarrier: (("index", "value"), ()),
    LdMatrix: (("index",), ()),
    Mma: ((), ("a", "b", "c")),
    Wgmma: (("start", "at"), ("a", "c")),
    Print: ((), ("args",)),
    Assert: (("cond",), ()),
    Sleep: (("nanoseconds",), ()),
    If: (("cond",), ()),
    For: (("start", "stop", "step"), ()),
    While: (("cond",), ()),
}
_WRITES: dict[type, tuple[str, bool]] = {  # field, whether it holds several
    Op: ("dst", False),
    Load: ("dst", True),
    Atomic: ("dst", False),
    Warp: ("dst", True),
    Barrier: ("dst", False),
    LdMatrix: ("dst", True),
    Mma: ("dst", True),
    Wgmma: ("dst", True),
    For: ("var", False),
}
_BODIES: dict[type, tuple[str, ...]] = {If: ("then", "orelse"), For: ("body",), While: ("head", "body")}
_MEMORY = (Load, Store, Atomic, AsyncCopy, LdMatrix, BulkCopy, Mbarrier)
_NOTHING: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

Body = tuple[Stmt, ...]


def itemsize(dtype: str) -> int:
    """Bytes of one element in memory."""
    if dtype == "bool":
        return 1
    return int("".join(c for c in dtype if c.isdigit())) // 8


def reads(stmt: Stmt) -> tuple[Value, ...]:
    """Operands of the statement itself, not of what it contains. A While reads its condition after its head."""
    if type(stmt) is Op:
        return stmt.args
    single, several = _READS.get(type(stmt), _NOTHING)
    found = [v for v in (getattr(stmt, name) for name in single) if v is not None]
    for name in several:
        found += [v for v in getattr(stmt, name) if not isinstance(v, str)]
    return tuple(found)


def writes(stmt: Stmt) -> tuple[Reg, ...]:
    """Registers that the statement itself assigns."""
    if type(stmt) is Op:
        return (stmt.dst,)
    row = _WRITES.get(type(stmt))
    if row is None:
        return ()
    value = getattr(stmt, row[0])
    if row[1]:
        return tuple(value)
    return () if value is None else (value,)


def with_reads(stmt: Any, change: Callable[[Value], Value]) -> Any:
    """The statement with every operand of its own changed."""
    if type(stmt) is Op:
        args = tuple([change(v) for v in stmt.args])
        return stmt if args == stmt.args else Op(stmt.dst, stmt.op, args, stmt.line)
    single, several = _READS.get(type(stmt), _NOTHING)
    new: dict[str, Any] = {name: change(getattr(stmt, name)) for name in single if getattr(stmt, name) is not None}
    new |= {name: tuple(v if isinstance(v, str) else change(v) for v in getattr(stmt, name)) for name in several}
    return _replaced(stmt, new)


def with_writes(stmt: Any, change: Callable[[Reg], Reg]) -> Any:
    """The statement with every register that it assigns changed."""
    if type(stmt) is Op:
        return Op(change(stmt.dst), stmt.op, stmt.args, stmt.line)
    row = _WRITES.get(type(stmt))
    if row is None or getattr(stmt, row[0]) is None:
        return stmt
    value = getattr(stmt, row[0])
    return _replaced(stmt, {row[0]: tuple(change(r) for r in value) if row[1] else change(value)})


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The statement lists inside, in the order they run."""
    return tuple(getattr(stmt, name) for name in _BODIES.get(type(stmt), ()))


def with_bodies(stmt: Any, change: Callable[[Body], Body]) -> Any:
    """The statement with every statement list inside changed."""
    names = _BODIES.get(type(stmt), ())
    return _replaced(stmt, {name: change(getattr(stmt, name)) for name in names}) if names else stmt


def _replaced(stmt: Any, new: dict[str, Any]) -> Any:
    changed = {name: value for name, value in new.items() if value is not getattr(stmt, name) and value != getattr(stmt, name)}
    return replace(stmt, **changed) if changed else stmt


def walk(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """All statements, depth first: a statement before what it contains."""
    for stmt in body:
        yield stmt
        if type(stmt) in _BODIES:
            for inner in bodies(stmt):
                yield from walk(inner)


def count(body: Iterable[Stmt]) -> int:
    """Statements in it, those inside others included."""
    return sum(1 for _ in walk(body))


def assigned(body: Iterable[Stmt]) -> set[int]:
    """Ids of the registers that may be assigned somewhere in it."""
    return {reg.id for stmt in walk(body) for reg in writes(stmt)}


def read(body: Iterable[Stmt]) -> set[int]:
    """Ids of the registers that are read somewhere in it."""
    return {value.id for stmt in walk(body) for value in reads(stmt) if isinstance(value, Reg)}


def memory(body: Iterable[Stmt]) -> list[Any]:
    """Statements that touch memory, depth first."""
    return [stmt for stmt in walk(body) if isinstance(stmt, _MEMORY)]


def counts_lanes(stmt: Atomic) -> bool:
    """An atomic in shared memory that adds 1 to 32-bit integers and wants nothing back: the machine adds the number of lanes on a word."""
    ones = stmt.op == "add" and all(isinstance(a, Imm) and a.value == 1 for a in stmt.args)
    return ones and stmt.dst is None and stmt.buffer.space == "shared" and stmt.buffer.dtype in ("int32", "uint32")


def contains(body: Iterable[Stmt], *kinds: type) -> bool:
    """Whether a statement of one of these kinds stands anywhere in it."""
    return any(isinstance(stmt, kinds) for stmt in walk(body))
