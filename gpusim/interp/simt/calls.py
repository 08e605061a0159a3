"""Statements that do more than compute: the method of the machine that executes each, and the values it gets, in this order."""

from __future__ import annotations

from typing import Any

from gpusim.ir.simt.nodes import (
    Assert,
    AsyncCommit,
    AsyncCopy,
    AsyncWait,
    Atomic,
    Barrier,
    BulkCopy,
    Imm,
    LdMatrix,
    Load,
    Mbarrier,
    Mma,
    Print,
    Reg,
    Store,
    Value,
    Warp,
    Wgmma,
)

#: statement -> method; those that are not here have one for each kind of memory, or each operation
_METHODS: dict[type, str] = {
    Warp: "warp",
    AsyncCopy: "async_copy",
    AsyncCommit: "async_commit",
    AsyncWait: "async_wait",
    BulkCopy: "bulk_copy",
    Barrier: "cluster_arrive",
    LdMatrix: "ldmatrix",
    Mma: "mma",
    Wgmma: "wgmma",
    Print: "show",
    Assert: "claim",
}

#: statement -> fields with its operands
_OPERANDS: dict[type, tuple[str, ...]] = {
    Load: ("index",),
    Store: ("index", "values"),
    Atomic: ("index", "args"),
    Warp: ("args",),
    AsyncCopy: ("target_index", "source_index", "valid"),
    BulkCopy: ("target_index", "source_index", "count", "barrier_index"),
    Mbarrier: ("index", "value"),
    Barrier: (),
    LdMatrix: ("index",),
    Mma: ("a", "b", "c"),
    Wgmma: ("a", "start", "at", "c"),
    Assert: ("cond",),
    AsyncCommit: (),
    AsyncWait: (),
    Print: ("args",),
}


def method(stmt: Any) -> str:
    if isinstance(stmt, (Load, Store, Atomic)):
        return f"{type(stmt).__name__.lower()}_{stmt.buffer.space}"
    if isinstance(stmt, Mbarrier):
        return f"mbarrier_{stmt.op}"
    return _METHODS[type(stmt)]


def operands(stmt: Any) -> list[Value]:
    """Registers and constants; what is missing or a text is left out."""
    out: list[Value] = []
    for name in _OPERANDS[type(stmt)]:
        item = getattr(stmt, name)
        out += [v for v in (item if isinstance(item, tuple) else (item,)) if isinstance(v, (Reg, Imm))]
    return out
