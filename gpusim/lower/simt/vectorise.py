"""Neighbouring loads of shared memory become one wide load, as compilers do where alignment is known.

Shared arrays begin at an address the compiler chooses, so an index that is a multiple of four elements is aligned to 16 bytes. Global
pointers come from outside: nothing is known about them, and their loads stay as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpusim.ir.simt.nodes import AsyncCopy, AsyncWait, Atomic, Barrier, BulkCopy, Fence, If, Imm, Load, Mbarrier, Op, Reg, Simple, Store, Value
from gpusim.ir.simt.walk import itemsize, memory, reads, walk, writes
from gpusim.lower.simt.code import Access, Block, Code
from gpusim.lower.simt.expr import Numbers
from gpusim.lower.simt.flow import analyse

WIDTHS = (16, 8)
_STOPS = (Barrier, Fence, AsyncWait, AsyncCopy, BulkCopy, Mbarrier)


@dataclass(frozen=True, slots=True)
class _Place:
    """A load of one element: where it stands, what its index is made of."""

    at: int
    load: Load
    offset: int


def vectorise(code: Code) -> Code:
    """`code` with wide loads; accesses are numbered anew. What a thread computes stays the same."""
    numbers = Numbers(analyse(code))
    extra = [code.program.registers]
    blocks = [replace(b, ops=_ops(b.ops, numbers, extra)) for b in code.blocks]
    if all(new.ops is old.ops or new.ops == old.ops for new, old in zip(blocks, code.blocks, strict=True)):
        return code
    numbered, accesses = _renumbered(code, blocks)
    return replace(code, program=replace(code.program, registers=extra[0]), blocks=numbered, accesses=accesses)


def _renumbered(code: Code, blocks: Sequence[Block]) -> tuple[tuple[Block, ...], tuple[Access, ...]]:
    accesses: list[Access] = []
    out: list[Block] = []
    for block, old in zip(blocks, code.blocks, strict=True):
        before = {id(s): code.accesses[a] for s, a in zip(memory(old.ops), old.accesses, strict=True)}
        begin = len(accesses)
        for stmt in memory(block.ops):
            found = before.get(id(stmt))
            accesses.append(found or Access("load", stmt.buffer.space, stmt.buffer.name, len(stmt.dst) * itemsize(stmt.buffer.dtype), block.id, stmt.line))
        out.append(replace(block, accesses=tuple(range(begin, len(accesses)))))
    return tuple(out), tuple(accesses)


def _ops(ops: tuple[Simple | If, ...], numbers: Numbers, extra: list[int]) -> tuple[Simple | If, ...]:
    rows: list[Simple | If | None] = list(ops)
    ahead: dict[int, list[Simple]] = {}
    for group in _groups(ops, numbers):
        _merge(rows, ahead, group, numbers, extra)
    if not ahead:
        return ops
    return tuple(stmt for i, row in enumerate(rows) for stmt in (*ahead.get(i, ()), *(() if row is None else (row,))))


def _groups(ops: Sequence[Simple | If], numbers: Numbers) -> list[list[_Place]]:
    """Loads of one buffer whose indices differ by constants, with nothing between that could change what they read."""
    done: list[list[_Place]] = []
    open_: dict[tuple[object, ...], list[_Place]] = {}
    for at, stmt in enumerate(ops):
        if isinstance(stmt, Load) and len(stmt.dst) == 1 and stmt.buffer.space == "shared":
            part = numbers.split(numbers.of(stmt.index))
            open_.setdefault((stmt.buffer.id, part.base, part.strides), []).append(_Place(at, stmt, part.offset))
        changed = {w.id for s in walk((stmt,)) for w in writes(s)}
        stored = {s.buffer.id for s in walk((stmt,)) if isinstance(s, (Store, Atomic))}
        stop = any(isinstance(s, _STOPS) for s in walk((stmt,)))
        for key in [k for k in open_ if stop or k[0] in stored or changed & _leaves(numbers, k)]:
            done.append(open_.pop(key))
    return done + list(open_.values())


def _leaves(numbers: Numbers, key: tuple[object, ...]) -> frozenset[int]:
    _, base, strides = key
    found = frozenset[int]() if base is None else numbers.leaves(base)  # type: ignore[arg-type]
    return found.union(*(numbers.leaves(n) for _, n in strides))  # type: ignore[attr-defined]


def _merge(rows: list[Simple | If | None], ahead: dict[int, list[Simple]], group: list[_Place], numbers: Numbers, extra: list[int]) -> None:
    by_offset = {place.offset: place for place in reversed(group)}
    size = itemsize(group[0].load.buffer.dtype)
    for width in WIDTHS:
        count = width // size
        for begin in sorted(by_offset):
            row = [by_offset[begin + j] for j in range(count) if begin + j in by_offset]
            if count > 1 and len(row) == count and _aligned(numbers, row[0], width) and _movable(rows, row):
                first = min(row, key=lambda p: p.at)
                index = _index(ahead, first, row[0].offset - first.offset, extra)
                wide = Load(tuple(p.load.dst[0] for p in row), first.load.buffer, index, first.load.line, first.load.cache)
                ahead.setdefault(first.at, []).append(wide)
                for place in row:
                    rows[place.at] = None
                    del by_offset[place.offset]


def _index(ahead: dict[int, list[Simple]], first: _Place, delta: int, extra: list[int]) -> Value:
    index = first.load.index
    if not delta:
        return index
    if isinstance(index, Imm):
        return Imm(int(index.value) + delta, index.dtype)
    extra[0] += 1
    moved = Reg(extra[0] - 1, index.dtype)
    ahead.setdefault(first.at, []).append(Op(moved, "add", (index, Imm(delta, index.dtype)), first.load.line))
    return moved


def _movable(rows: Sequence[Simple | If | None], row: Sequence[_Place]) -> bool:
    """Whether all can load where the first stands: nobody reads or writes the registers on the way."""
    targets = {p.load.dst[0].id for p in row}
    if len(targets) < len(row):
        return False
    own = {p.at for p in row}
    for at in range(min(own), max(own) + 1):
        stmt = rows[at]
        if stmt is None or at in own:
            continue
        for inner in walk((stmt,)):
            if any(isinstance(v, Reg) and v.id in targets and _later(row, v.id, at) for v in reads(inner)) or any(w.id in targets for w in writes(inner)):
                return False
    return True


def _later(row: Sequence[_Place], reg: int, at: int) -> bool:
    return any(p.load.dst[0].id == reg and p.at > at for p in row)


def _aligned(numbers: Numbers, place: _Place, width: int) -> bool:
    buffer = place.load.buffer
    size = itemsize(buffer.dtype)
    part = numbers.split(numbers.of(place.load.index))
    multiple = min((divisor(numbers, n) for n in (*(() if part.base is None else (part.base,)), *(n for _, n in part.strides))), default=width)
    return multiple * size % width == 0 and (place.offset * size + buffer.offset) % width == 0


def divisor(numbers: Numbers, number: int) -> int:
    """A power of two (at most 1024) that divides the value."""
    node = numbers.table[number]
    if node.op == "imm":
        return min(1024, node.value & -node.value) if node.value else 1024
    parts = [divisor(numbers, a) for a in node.args]
    if node.op == "mul":
        return min(1024, parts[0] * parts[1])
    if node.op == "and":
        return max(parts)
    return min(parts) if node.op in ("add", "or", "xor", "min", "max") else 1
