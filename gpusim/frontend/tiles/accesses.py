"""tl.load, tl.store, the atomics, block pointers and tensor descriptors."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from gpusim.frontend.tiles.arith import binary
from gpusim.frontend.tiles.boxes import box_of
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.tiles import broadcast, described, mapped, reshape, tile
from gpusim.frontend.tiles.values import Below, BlockPointer, Lattice, Mask, Number, Pointer, Scalar, Shape, Tile, is_number, lattice
from gpusim.ir.expr import Const
from gpusim.ir.ops import Atomic, Gather, Load, Scatter, Store


def load(
    ctx: Context, node: ast.AST, pointer: Any, mask: Any = None, other: Any = None, boundary_check: Any = (), padding_option: Any = "",
    cache_modifier: Any = "", eviction_policy: Any = "", volatile: Any = False,
) -> Any:  # fmt: skip
    """The tile at `pointer`; where the mask is false, `other` (0)."""
    if isinstance(pointer, BlockPointer):
        edge = float("nan") if padding_option == "nan" else 0.0
        return _load(ctx, node, *_access(ctx, node, pointer, boundary_check), edge)
    pointer = _pointer(ctx, node, pointer)
    mask = _mask_of(ctx, node, mask, pointer)
    fill = _fill(other)
    if fill is not None:
        return _load(ctx, node, pointer, mask, fill)
    found = _load(ctx, node, pointer, mask, 0.0)
    if mask is None:
        return found
    chosen = broadcast(ctx, tile(ctx, mask, node), found.shape)
    return mapped(ctx, "where", (chosen, found, tile(ctx, other, node, found.dtype)), found.dtype)


def _fill(other: Any) -> float | None:
    """A constant for masked elements."""
    if other is None:
        return 0.0
    if is_number(other):
        return other
    return other.value if isinstance(other, Number) else other.known if isinstance(other, Scalar) else None


def _load(ctx: Context, node: ast.AST, pointer: Pointer, mask: Any, other: float) -> Tile:
    if mask is None or isinstance(mask, Mask):
        box = box_of(ctx, pointer, mask, store=False)
        if box is not None:
            return ctx.define(lambda dst: Load(dst, box, other), pointer.shape, pointer.dtype)
    index, chosen = _addresses(ctx, node, pointer, mask)
    name = pointer.array.name
    return ctx.define(lambda dst: Gather(dst, name, index.name, chosen, other), pointer.shape, pointer.dtype)


def store(
    ctx: Context, node: ast.AST, pointer: Any, value: Any, mask: Any = None, boundary_check: Any = (), cache_modifier: Any = "", eviction_policy: Any = ""
) -> None:
    """Write `value`, converted to the pointer's type, where the mask is true."""
    if isinstance(pointer, BlockPointer):
        pointer, mask = _access(ctx, node, pointer, boundary_check)
    else:
        pointer = _pointer(ctx, node, pointer)
        mask = _mask_of(ctx, node, mask, pointer)
    made = tile(ctx, value, node, pointer.dtype)
    made = _shaped(ctx, node, made, pointer.shape)
    if mask is None or isinstance(mask, Mask):
        box = box_of(ctx, pointer, mask, store=True)
        if box is not None:
            ctx.emit(Store(box, made.name, ctx.line))
            return
    index, chosen = _addresses(ctx, node, pointer, mask)
    ctx.emit(Scatter(pointer.array.name, index.name, made.name, chosen, ctx.line))


def _shaped(ctx: Context, node: ast.AST, value: Tile, shape: Shape) -> Tile:
    if value.shape == shape:
        return value
    if len(value.shape) > len(shape) or any(n not in (1, w) for n, w in zip(reversed(value.shape), reversed(shape), strict=False)):
        ctx.refuse(node, f"a value of shape {value.shape} does not fit a pointer of shape {shape}.", "Give both one shape.")
    return broadcast(ctx, value, shape)


def _pointer(ctx: Context, node: ast.AST, value: Any) -> Pointer:
    if isinstance(value, Pointer):
        return value
    ctx.refuse(
        node, f"This is a {described(value)}, but a pointer is needed here.", "An array that is passed as an argument is a pointer to its first element."
    )


def _mask_of(ctx: Context, node: ast.AST, mask: Any, pointer: Pointer) -> Any:
    """None for no mask, a Mask of bounds, or a bool tile of the pointer's shape."""
    if mask is None or mask is True or (isinstance(mask, Scalar) and mask.known == 1):
        return None
    if isinstance(mask, Scalar | bool | int):
        number = mask if isinstance(mask, Scalar) else Scalar(Const(int(mask)), "bool")
        mask = Mask((), (Below(lattice(0), lattice(number)),))
    if isinstance(mask, Mask):
        if len(mask.shape) > len(pointer.shape):
            ctx.refuse(node, f"a mask of shape {mask.shape} does not fit a pointer of shape {pointer.shape}.", "Give both one shape.")
        return mask
    made = tile(ctx, mask, node)
    return made if made.dtype == "bool" else tile(ctx, binary(ctx, "!=", made, 0, node), node)


def _addresses(ctx: Context, node: ast.AST, pointer: Pointer, mask: Any) -> tuple[Tile, str]:
    """The tile of offsets, and the name of that of the mask ("" if there is none)."""
    index = _shaped(ctx, node, tile(ctx, pointer.offset, node), pointer.shape)
    if mask is None:
        return index, ""
    return index, _shaped(ctx, node, tile(ctx, mask, node), pointer.shape).name


def atomic(ctx: Context, node: ast.AST, fn: str, pointer: Any, value: Any, mask: Any = None, compare: Any = None) -> Tile:
    """The old value; see `ir.ops.Atomic`."""
    pointer = _pointer(ctx, node, pointer)
    index, chosen = _addresses(ctx, node, pointer, _mask_of(ctx, node, mask, pointer))
    src = _shaped(ctx, node, tile(ctx, value, node, pointer.dtype), pointer.shape)
    against = "" if compare is None else _shaped(ctx, node, tile(ctx, compare, node, pointer.dtype), pointer.shape).name
    name = pointer.array.name
    return ctx.define(lambda dst: Atomic(dst, fn, name, index.name, src.name, chosen, against), pointer.shape, pointer.dtype)


def atomic_named(fn: str) -> Any:
    def handler(ctx: Context, node: ast.AST, pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Tile:
        return atomic(ctx, node, fn, pointer, val, mask)

    return handler


def atomic_cas(ctx: Context, node: ast.AST, pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Tile:
    return atomic(ctx, node, "cas", pointer, val, None, cmp)


# --- block pointers and descriptors
def make_block_ptr(ctx: Context, node: ast.AST, base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any = ()) -> BlockPointer:
    return BlockPointer(_pointer(ctx, node, base), tuple(shape), tuple(strides), tuple(offsets), sizes(ctx, node, block_shape))


def make_descriptor(ctx: Context, node: ast.AST, base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero") -> BlockPointer:
    zero = (0,) * len(shape)
    return BlockPointer(_pointer(ctx, node, base), tuple(shape), tuple(strides), zero, sizes(ctx, node, block_shape), True)


def advance(ctx: Context, node: ast.AST, base: Any, offsets: Any) -> BlockPointer:
    if not isinstance(base, BlockPointer):
        ctx.refuse(node, f"advance takes a block pointer, not a {described(base)}.", "Make one with tl.make_block_ptr.")
    return replace(base, offsets=tuple(binary(ctx, "+", a, b, node) for a, b in zip(base.offsets, offsets, strict=True)))


def at(ctx: Context, node: ast.AST, descriptor: BlockPointer, offsets: Any) -> BlockPointer:
    """The block of a descriptor at these offsets."""
    return replace(descriptor, offsets=tuple(offsets))


def sizes(ctx: Context, node: ast.AST, shape: Any) -> Shape:
    """A shape of known extents."""
    items = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    made = tuple(n.known if isinstance(n, Scalar) else n for n in items)
    if not all(isinstance(n, int) and n >= 1 for n in made):
        ctx.refuse(node, f"{shape!r} is no shape of known extents.", "Give integers that are known when the kernel is compiled (tl.constexpr).")
    return tuple(int(n) for n in made)  # type: ignore[arg-type]


def _access(ctx: Context, node: ast.AST, block: BlockPointer, checked: Any) -> tuple[Pointer, Mask | None]:
    """The pointers of a block, and the bounds that `checked` dimensions have (all of them for a descriptor)."""
    rank = len(block.block)
    offset: Any = block.base.offset
    bounds: list[Below] = []
    wanted = range(rank) if block.bulk else [int(d) for d in (checked if isinstance(checked, tuple | list) else (checked,))]
    for d in range(rank):
        steps = tuple(Const(1) if k == d and block.block[d] > 1 else Const(0) for k in range(rank))
        along = binary(ctx, "+", Lattice(block.block, Const(0), steps), block.offsets[d], node)
        offset = binary(ctx, "+", offset, binary(ctx, "*", along, block.strides[d], node), node)
        if d in wanted:
            if not isinstance(along, Lattice) or isinstance(block.shape[d], Tile):
                ctx.refuse(node, "the offsets of a block that is checked against bounds depend on data.", "Use pointers and a mask.")
            bounds += [Below(along, lattice(block.shape[d], block.block)), Below(lattice(0, block.block), along, True)]
    return Pointer(block.base.array, offset), Mask(block.block, tuple(bounds)) if bounds else None


def descriptor_load(ctx: Context, node: ast.AST, descriptor: Any, offsets: Any) -> Any:
    return load(ctx, node, at(ctx, node, descriptor, offsets))


def descriptor_store(ctx: Context, node: ast.AST, descriptor: Any, offsets: Any, value: Any) -> None:
    made = tile(ctx, value, node, descriptor.base.dtype)
    store(ctx, node, at(ctx, node, descriptor, offsets), reshape(ctx, made, descriptor.block))
