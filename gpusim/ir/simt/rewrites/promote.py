"""Local arrays become registers where every index is a constant.

What nvcc does: the same, once loops are unrolled. An array with any index that is not a constant stays in local memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from gpusim.ir.simt.nodes import AsyncCopy, Atomic, Buffer, BulkCopy, Imm, LdMatrix, Load, Mbarrier, Op, Reg, SimtProgram, Stmt, Store
from gpusim.ir.simt.rewrites.names import Supply
from gpusim.ir.simt.walk import memory, with_bodies

Body = tuple[Stmt, ...]


def promote(program: SimtProgram) -> SimtProgram:
    arrays = {b.id: b for b in program.buffers if b.space == "local" and b.shape is not None}
    for stmt in memory(program.body):
        for buffer in _fixed(stmt, arrays):
            arrays.pop(buffer, None)
    if not arrays:
        return program
    fresh = Supply(program)
    body = _Promoter(arrays, fresh).body(program.body)
    left = tuple(b for b in program.buffers if b.id not in arrays)
    notes = tuple(f"local array {b.name} of line {b.line} in registers" for b in arrays.values())
    return replace(program, body=body, buffers=left, registers=fresh.registers, notes=program.notes + notes)


def _fixed(stmt: Load | Store | Atomic | AsyncCopy | LdMatrix | BulkCopy | Mbarrier, arrays: dict[int, Buffer]) -> Iterable[int]:
    """Arrays that this statement ties to memory."""
    if isinstance(stmt, AsyncCopy | BulkCopy):
        return stmt.source.id, stmt.target.id
    if isinstance(stmt, (Load, Store)) and isinstance(stmt.index, Imm) and stmt.buffer.id in arrays:
        size = prod(arrays[stmt.buffer.id].shape or ())
        many = len(stmt.dst) if isinstance(stmt, Load) else len(stmt.values)
        if -size <= int(stmt.index.value) and int(stmt.index.value) + many <= size:
            return ()
    return (stmt.buffer.id,)


class _Promoter:
    def __init__(self, arrays: dict[int, Buffer], fresh: Supply) -> None:
        self.arrays, self.fresh = arrays, fresh
        self.elements: dict[tuple[int, int], Reg] = {}

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, (Load, Store)) and stmt.buffer.id in self.arrays:
                out += self.moves(stmt)
            else:
                out.append(with_bodies(stmt, self.body))
        return tuple(out)

    def moves(self, stmt: Load | Store) -> list[Stmt]:
        assert isinstance(stmt.index, Imm)
        at = int(stmt.index.value)
        if isinstance(stmt, Load):
            return [Op(dst, "mov", (self.element(stmt.buffer, at + j),), stmt.line) for j, dst in enumerate(stmt.dst)]
        return [Op(self.element(stmt.buffer, at + j), "mov", (value,), stmt.line) for j, value in enumerate(stmt.values)]

    def element(self, buffer: Buffer, at: int) -> Reg:
        key = buffer.id, at % prod(buffer.shape or ())
        if key not in self.elements:
            self.elements[key] = self.fresh(buffer.dtype, buffer.name)
        return self.elements[key]
