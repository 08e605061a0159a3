"""From a Python function and the types of its arguments to a `SimtProgram`. Nothing of the kernel is executed."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from gpusim.errors import GpusimError
from gpusim.frontend.arrays import argument
from gpusim.frontend.compact import compact
from gpusim.frontend.context import Context, Frame
from gpusim.frontend.expressions import evaluate
from gpusim.frontend.names import bind
from gpusim.frontend.operands import Operand, Scalar
from gpusim.frontend.source import Source, read
from gpusim.frontend.statements import block, without_docstring
from gpusim.frontend.typing import BITS
from gpusim.frontend.variables import assigned_names
from gpusim.ir.simt.nodes import Arg, SimtProgram


def translate(function: Callable[..., Any], args: tuple[Arg, ...]) -> SimtProgram:
    """The program of a kernel: `function` is plain Python, `args` one per parameter (their names need not be the function's).

    Raises GpusimError with file and line for what kernels cannot contain, and for source text that cannot be read.
    """
    source = read(getattr(function, "py_func", function))
    named = _named(source, args)
    ctx = _translated(source, named, 0)
    if any(b.space == "shared" and b.shape is None for b in ctx.buffers.values()):
        ctx = _translated(source, named, -(-ctx.shared_bytes // 16) * 16)
    return _program(source, named, ctx)


def _named(source: Source, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    spec = source.tree.args
    where = f"{source.file}:{source.first}"
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs or spec.defaults:
        raise GpusimError(f"Kernel {source.tree.name} has parameters with *, / or defaults.", where=where, hint="Give it plain parameters.")
    if len(spec.args) != len(args):
        names = ", ".join(a.arg for a in spec.args)
        raise GpusimError(f"Kernel {source.tree.name} takes {len(spec.args)} arguments ({names}); {len(args)} given.", where=where)
    for arg, parameter in zip(args, spec.args, strict=True):
        if arg.dtype not in BITS or not 0 <= arg.ndim <= 3:
            raise GpusimError(
                f"Argument '{parameter.arg}' is a {arg.ndim}-dimensional {arg.dtype}.",
                where=where,
                hint=f"Kernels take up to 3 dimensions of {', '.join(BITS)}.",
            )
    return tuple(Arg(p.arg, a.dtype, a.ndim, a.layout) for p, a in zip(spec.args, args, strict=True))


def _translated(source: Source, args: tuple[Arg, ...], dynamic_offset: int) -> Context:
    frame = Frame(source, (), assigned_names(source.tree.body))
    ctx = Context(args, frame, evaluate, block, dynamic_offset)
    ctx.touch_source(source)
    ctx.line = source.first
    for number, arg in enumerate(args):
        bind(ctx, arg.name, _argument(ctx, number, arg))
    block(ctx, without_docstring(source.tree.body))
    return ctx


def _argument(ctx: Context, number: int, arg: Arg) -> Operand:
    return argument(number, arg) if arg.ndim else Scalar(ctx.param(number, "value", arg.dtype))


def _program(source: Source, args: tuple[Arg, ...], ctx: Context) -> SimtProgram:
    first, last = ctx.files[source.file]
    text = [linecache.getline(source.file, k).rstrip("\n") for k in range(first, last + 1)]
    if not any(text):
        first, text = source.first, [line.rstrip("\n") for line in source.lines]
    body, params, registers = compact(tuple(ctx.out), tuple(ctx.params.values()))
    arrays = tuple(argument(k, a).buffer for k, a in enumerate(args) if a.ndim)
    buffers = (*arrays, *ctx.buffers.values())
    return SimtProgram(source.tree.name, args, params, buffers, body, registers, source.file, first, tuple(text))
