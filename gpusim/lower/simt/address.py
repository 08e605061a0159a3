"""Addresses: what it takes to turn an index into an address, and how addresses are shared.

- Global memory: base pointer + index in one IMAD.WIDE. Accesses that differ by a constant share it; a constant multiple of a stride
  costs one more. An index that was already an address in an earlier part of the code is added as shift, LEA, LEA.HI.X.
- In a loop whose counter moves the index by a constant, a pointer is carried along (add, add with carry, two copies because loads want an
  aligned pair); where the step is a register and several arrays share their only index, IMAD.WIDE adds it to each pointer.
- Of a sum, what a loop does not change is added up in front of it.
- Shared memory: base + index in one LEA or IMAD per term of a sum; constants go into the instruction.
"""

from __future__ import annotations

from gpusim.ir.simt.nodes import Buffer, Value
from gpusim.ir.simt.walk import itemsize
from gpusim.lower.simt.expr import Split
from gpusim.lower.simt.strides import Carried, moving_index, whole
from gpusim.lower.simt.sums import grouped, materialise, moves, steady_first
from gpusim.lower.simt.writer import Writer

_SEVERAL = 2  # arrays that share an index which moves by a register


def address(w: Writer, buffer: Buffer, index: Value, *, paired: bool = True) -> tuple[int, ...]:
    """Machine registers that the access reads for its address; emits what computes them. paired: the access wants a carried pointer in an
    aligned pair of registers (loads and stores; copies do not)."""
    number = w.numbers.of(index)
    part = w.numbers.split(number)
    offset = _pointer_offset(w, part, itemsize(buffer.dtype))
    if offset is not None:
        return _at_offset(w, buffer, offset)
    if buffer.space == "global":
        return (_descriptor(w), _global(w, buffer, part, paired))
    if buffer.space == "const":
        return () if part.base is None and not part.strides else (_scaled(w, whole(w, part), itemsize(buffer.dtype), None),)
    base = _base(w) if buffer.space in ("shared", "cluster") else None
    if part.base is None and not part.strides:
        return () if base is None else (base,)
    return (_local(w, buffer, whole(w, part), base),)


def _pointer_offset(w: Writer, part: Split, scale: int) -> int | None:
    """The number of the byte offset that `part` is, if it is one: what it was divided by is what the access would multiply it by."""
    if part.base is None or part.strides or w.numbers.table[part.base].op != "index.at":
        return None
    offset, size = w.numbers.table[part.base].args
    return offset if w.numbers.constant(size) == scale else None


def _at_offset(w: Writer, buffer: Buffer, offset: int) -> tuple[int, ...]:
    """An offset in a register, and where the buffer begins in a uniform one."""
    at = w.outside(w.numbers.leaves(offset))
    base = materialise(w, offset, at)
    if buffer.space == "global":
        return (_descriptor(w), base, w.once(("pointer", buffer.id), "ULDC", size=0))
    return (base, _base(w)) if buffer.space == "shared" else (base,)


def _descriptor(w: Writer) -> int:
    return w.once("descriptor", "ULDC", size=0)


def _base(w: Writer) -> int:
    """Where the CTA's shared memory begins. What is computed under a condition is not kept."""
    at = w.outside(())
    found = w.find("shared", at)
    if found is None:
        number, start, found = (w.fresh(0) for _ in range(3))
        w.emit("S2UR", (number,), (), at)
        w.emit("UMOV", (start,), (), at)
        w.emit("ULEA", (found,), (number, start), at)
        if not w.guards:
            w.remember("shared", at, found)
    return found


# global memory


def _global(w: Writer, buffer: Buffer, part: Split, paired: bool) -> int:
    carried = None if w.guards else moving_index(w, part)
    if carried is not None and w.numbers.constant(carried.step) is None and not _shared(w, buffer, whole(w, part)):
        carried = None
    return _carry(w, buffer, part, carried, paired) if carried is not None else _plain(w, buffer, part)


def _shared(w: Writer, buffer: Buffer, index: int) -> bool:
    """Whether several arrays share the index, and this one has no other: else there would be too many pointers to carry."""
    return len(w.places.buffers.get(index, ())) >= _SEVERAL and sum(buffer.id in found for found in w.places.buffers.values()) == 1


def _plain(w: Writer, buffer: Buffer, part: Split) -> int:
    leaves = frozenset[int]()
    for node in (*(() if part.base is None else (part.base,)), *(n for _, n in part.strides)):
        leaves |= w.numbers.leaves(node)
    key = ("address", buffer.id, part.base, part.strides)
    at = w.places.of(key, w.outside(leaves), leaves)
    found = w.find(key, at)
    if found is not None:
        return found
    if part.strides:
        found = _strided(w, buffer, part, at)
    elif part.base is None:
        found = _pointer(w, buffer, at)
    else:
        found = _indexed(w, buffer, part.base, at)
    w.remember(key, at, found)
    return found


def _strided(w: Writer, buffer: Buffer, part: Split, at: int) -> int:
    """Another access of the same buffer that differs in one stride, plus the difference; else the sum as an index."""
    times, node = part.strides[-1]
    for other in (t for t in range(times - 1, -1, -1)):
        rest = (*part.strides[:-1], (other, node)) if other else part.strides[:-1]
        near = w.find(("address", buffer.id, part.base, rest), at)
        if near is not None:
            step = materialise(w, w.numbers.combine("mul", (node, w.numbers.imm(times - other))), at)
            return _wide(w, step, near, at)
    if part.base is None:
        return _indexed(w, buffer, whole(w, part), at)
    near = _plain(w, buffer, Split(part.base, 0, part.strides[:-1]))
    return _wide(w, materialise(w, w.numbers.combine("mul", (node, w.numbers.imm(times))), at), near, at)


def _indexed(w: Writer, buffer: Buffer, base: int, at: int) -> int:
    index = materialise(w, _unscaled(w, base, at), at)
    used = w.known.get(("wide", base, itemsize(buffer.dtype)), [])
    here = (w.block, w.part)
    if any((b, p) != here and w.flow.dominates(b, at) for b, p in used):
        pointer, sign, low, carry, high = w.once(("pointer", buffer.id), "ULDC", size=0), w.fresh(), w.fresh(), w.fresh(0), w.fresh(2)
        w.emit("SHF", (sign,), (index,), at)
        w.emit("LEA", (low, carry), (index, pointer), at)
        w.emit("LEA.HI.X", (high,), (index, pointer, sign, low, carry), at)
        return high
    w.known.setdefault(("wide", base, itemsize(buffer.dtype)), []).append((w.block, w.part))
    return _wide(w, index, _pointer(w, buffer, at), at)


def _unscaled(w: Writer, base: int, at: int) -> int:
    """The index without a constant factor: IMAD.WIDE multiplies anyway."""
    node = w.numbers.table[base]
    if node.op != "mul" or w.find(("number", base), at) is not None:
        return base
    known = [a for a in node.args if w.numbers.constant(a) is not None]
    return next(a for a in node.args if a != known[0]) if len(known) == 1 else base


def _wide(w: Writer, index: int, pointer: int, at: int) -> int:
    found = w.fresh(2)
    w.emit("IMAD.WIDE", (found,), (index, pointer), at)
    return found


def _pointer(w: Writer, buffer: Buffer, at: int) -> int:
    """The buffer's address. Under a condition in a loop it is loaded anew."""
    again = w.again(at)
    key = ("pointer64", buffer.id, again)
    at = w.block if again else w.places.of(key[:2], min(at, w.outside(())))
    found = w.find(key, at)
    if found is None:
        found = w.fresh(2)
        w.emit("LDC", (found,), (), at, bits=64)
        w.remember(key, at, found)
    return found


# loops


def _carry(w: Writer, buffer: Buffer, part: Split, carried: Carried, paired: bool) -> int:
    """A pointer of the loop. Its first value is computed in front; it moves on at the end. Other strides follow from the first one."""
    key = ("carried", buffer.id, part.base, part.strides, carried.loop.header)
    found = w.find(key, w.block)
    if found is not None:
        return found
    if part.strides and part.base is not None and not any(moves(w, carried.loop, n) for _, n in part.strides):
        found = _beside(w, buffer, part, carried, paired)
    else:
        found = _begin(w, buffer, part, carried.loop.entry)
        found = _advance(w, found, carried, paired)
    w.remember(key, w.block, found)
    return found


def _beside(w: Writer, buffer: Buffer, part: Split, carried: Carried, paired: bool) -> int:
    times, node = part.strides[-1]
    for other in range(times - 1, -1, -1):
        rest = (*part.strides[:-1], (other, node)) if other else part.strides[:-1]
        near = w.find(("carried", buffer.id, part.base, rest, carried.loop.header), w.block)
        if near is not None or not other:
            near = _carry(w, buffer, Split(part.base, 0, rest), carried, paired) if near is None else near
            return _wide(w, materialise(w, w.numbers.combine("mul", (node, w.numbers.imm(times - other))), w.block), near, w.block)
    return _begin(w, buffer, part, carried.loop.entry)


def _advance(w: Writer, pointer: int, carried: Carried, paired: bool) -> int:
    latch = carried.loop.latch
    if w.numbers.constant(carried.step) is None:
        w.afterwards(latch, "IMAD.WIDE", (pointer,), (materialise(w, carried.step, carried.loop.entry), pointer))
        return pointer
    low, carry, used = w.fresh(), w.fresh(0), pointer
    if paired:
        used = w.fresh(2)
        w.emit("MOV", (used,), (pointer,))
        w.emit("IMAD.MOV", (used,), (pointer, used))
    w.afterwards(latch, "IADD3", (low, carry), (pointer,))
    w.afterwards(latch, "IADD3.X", (pointer,), (low, carry, pointer))
    return used


def _begin(w: Writer, buffer: Buffer, part: Split, entry: int) -> int:
    found = w.fresh(2)
    index = materialise(w, _unscaled(w, whole(w, part), entry), entry)
    w.emit("IMAD.WIDE", (found,), (index, _pointer(w, buffer, entry)), entry)
    return found


# shared and local memory


def _local(w: Writer, buffer: Buffer, number: int, base: int | None) -> int:
    carried = None if w.guards else moving_index(w, Split(number))
    scale = itemsize(buffer.dtype)
    if carried is None or w.numbers.constant(carried.step) is None:
        return _scaled(w, number, scale, base)
    key = ("carried", buffer.space, scale, number, carried.loop.header)
    found = w.find(key, w.block)
    if found is None:
        found = _scaled(w, number, scale, base, carried.loop.entry)
        w.known.pop(("scaled", number, scale, base), None)
        w.afterwards(carried.loop.latch, "VIADD", (found,), (found,))
        w.remember(key, w.block, found)
    return found


def _scaled(w: Writer, number: int, scale: int, base: int | None, at: int | None = None) -> int:
    """base + scale * number: one instruction per term of a sum, none for terms that are known."""
    at = w.outside(w.numbers.leaves(number)) if at is None else at
    key = ("scaled", number, scale, base)
    found = w.find(key, at)
    if found is not None:
        return found
    number = grouped(w, number, at)
    node = w.numbers.table[number]
    factor = next((a for a in node.args if w.numbers.constant(a) is not None), None) if node.op == "mul" else None
    if node.op == "add" and w.find(("number", number), at) is None and base is not None:
        first, second = steady_first(w, node.args)
        found = _scaled(w, second, scale, _scaled(w, first, scale, base), at)
    elif factor is not None and w.find(("number", number), at) is None:
        other = node.args[0] if node.args[1] == factor else node.args[1]
        found = _scaled(w, other, scale * (w.numbers.constant(factor) or 0), base, at)
    else:
        found = w.fresh()
        op = "LEA" if scale > 0 and scale.bit_count() == 1 else "IMAD"
        w.emit(op, (found,), (materialise(w, number, at), *(() if base is None else (base,))), at)
    w.remember(key, at, found)
    return found
