"""From a Python function and the types of its arguments to a `SimtProgram`. Nothing of the kernel is executed."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from gpusim.frontend.arrays import argument
from gpusim.frontend.compact import compact
from gpusim.frontend.context import Context, Frame
from gpusim.frontend.expressions import evaluate
from gpusim.frontend.names import bind
from gpusim.frontend.parameters import named, operands
from gpusim.frontend.source import Source, read
from gpusim.frontend.statements import block, without_docstring
from gpusim.frontend.variables import assigned_names
from gpusim.ir.simt.nodes import Arg, SimtProgram


def translate(function: Callable[..., Any], args: tuple[Arg, ...]) -> SimtProgram:
    """The program of a kernel: `function` is plain Python, `args` one per parameter (their names need not be the function's), or
    one for each item of a tuple, as `parameters` says.

    Raises GpusimError with file and line for what kernels cannot contain, and for source text that cannot be read.
    """
    source = read(getattr(function, "py_func", function))
    args = named(source, args)
    ctx = _translated(source, args, 0)
    if any(b.space == "shared" and b.shape is None for b in ctx.buffers.values()):
        ctx = _translated(source, args, -(-ctx.shared_bytes // 16) * 16)
    return _program(source, args, ctx)


def _translated(source: Source, args: tuple[Arg, ...], dynamic_offset: int) -> Context:
    frame = Frame(source, (), assigned_names(source.tree.body))
    ctx = Context(args, frame, evaluate, block, dynamic_offset)
    ctx.touch_source(source)
    ctx.line = source.first
    for name, operand in operands(ctx, args).items():
        bind(ctx, name, operand)
    block(ctx, without_docstring(source.tree.body))
    return ctx


def _program(source: Source, args: tuple[Arg, ...], ctx: Context) -> SimtProgram:
    first, last = ctx.files[source.file]
    text = [linecache.getline(source.file, k).rstrip("\n") for k in range(first, last + 1)]
    if not any(text):
        first, text = source.first, [line.rstrip("\n") for line in source.lines]
    body, params, registers = compact(tuple(ctx.out), tuple(ctx.params.values()))
    arrays = tuple(argument(k, a).buffer for k, a in enumerate(args) if a.ndim)
    buffers = (*arrays, *ctx.buffers.values())
    return SimtProgram(source.tree.name, args, params, buffers, body, registers, source.file, first, tuple(text))
