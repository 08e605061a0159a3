"""From a Python function and the arguments of a launch to a program of tiles. Nothing of the kernel is executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpusim.frontend.tiles.accumulate import in_variables
from gpusim.frontend.tiles.columns import as_columns
from gpusim.frontend.tiles.context import Context, Frame
from gpusim.frontend.tiles.expressions import evaluate
from gpusim.frontend.tiles.inline import constants, plain, source_of
from gpusim.frontend.tiles.operations import products
from gpusim.frontend.tiles.ranges import Ranges
from gpusim.frontend.tiles.returns import with_one_end
from gpusim.frontend.tiles.statements import block
from gpusim.frontend.tiles.transposed import transposed_loads
from gpusim.frontend.tiles.values import Array, BlockPointer, Number, Pointer, Scalar, dtype_of
from gpusim.frontend.tiles.views import settled
from gpusim.ir.expr import Const
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Dot
from gpusim.ir.program import Program, walk


def translate(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    grid: tuple[int, ...],
    warps: int,
    stages: int | None,
    params: dict[str, Any] | None = None,
    any_extent: bool = False,
) -> Program:
    """The program of one launch of `function`, a plain Python function.

    arguments: a value for each parameter: an `Array`, a number, None, a descriptor (BlockPointer), or anything for parameters under tl.constexpr.
    grid: up to three extents; warps of a block; stages: depth of the pipelines of loops with products (None: the most that fit).
    any_extent: tiles may have extents that are no powers of two.
    Raises GpusimError with file and line for what kernels cannot contain.
    """
    source = source_of(function)
    fixed = constants(source)
    arrays = _arrays(arguments)
    env = {name: plain(value) if name in fixed else _argument(value) for name, value in arguments.items()}
    ctx = Context(Ranges(grid), Frame(source, env), evaluate, block, stages, grid, warps, any_extent)
    ctx.state.taken |= {a.name for a in arrays} | {"pid0", "pid1", "pid2"}
    block(ctx, with_one_end(source.tree.body))
    tensors, body = settled(ctx.state.accesses, tuple(ctx.out), arrays)
    made = Program(source.tree.name, tensors, grid, transposed_loads(in_variables(body)), warps, params or {})
    if not any(isinstance(op, Dot) for op in walk(made.body)):
        return made
    return replace(made, body=as_columns(made.body, tile_types(made)), flops=products(made))


def _arrays(arguments: Mapping[str, Any]) -> tuple[Array, ...]:
    found = []
    for value in arguments.values():
        for one in value if isinstance(value, tuple) else (value,):
            array = one.base.array if isinstance(one, BlockPointer) else one
            if isinstance(array, Array) and array not in found:
                found.append(array)
    return tuple(found)


def _argument(value: Any) -> Any:
    """An argument as the kernel sees it: arrays as pointers to their first element, numbers with the type that a launch gives them."""
    if isinstance(value, Array):
        return Pointer(value, Scalar(Const(0)))
    if isinstance(value, bool):
        return Scalar(Const(int(value)), "bool")
    if isinstance(value, int):
        return Scalar(Const(value), dtype_of(value))
    if isinstance(value, float):
        return Number(value, "fp32")
    if isinstance(value, tuple):
        return tuple(_argument(v) for v in value)
    return plain(value)
