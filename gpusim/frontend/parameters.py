"""A kernel's parameters. A tuple arrives as its items: `p.0`, `p.1`, or `p.x`, `p.y` for a named one, and so on inwards. `p.None` is None."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from gpusim.errors import GpusimError
from gpusim.frontend.arrays import argument
from gpusim.frontend.context import Context
from gpusim.frontend.operands import Group, Operand, Scalar, Static
from gpusim.frontend.source import Source
from gpusim.frontend.typing import BITS
from gpusim.ir.simt.nodes import Arg

#: as many as NumPy scripts use; every dimension is a stride that the kernel computes with
MOST_DIMENSIONS = 8


def named(source: Source, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """`args` under the names of the function's parameters. Raises GpusimError if they are not one for each, or of types no kernel takes."""
    spec = source.tree.args
    where = f"{source.file}:{source.first}"
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs or spec.defaults:
        raise GpusimError(f"Kernel {source.tree.name} has parameters with *, / or defaults.", where=where, hint="Give it plain parameters.")
    given = _by_parameter(args)
    if len(spec.args) != len(given):
        names = ", ".join(a.arg for a in spec.args)
        raise GpusimError(f"Kernel {source.tree.name} takes {len(spec.args)} arguments ({names}); {len(given)} given.", where=where)
    renamed = [replace(a, name=p.arg + _inward(a)) for p, items in zip(spec.args, given, strict=True) for a in items]
    for arg in renamed:
        if arg.dtype not in BITS or not 0 <= arg.ndim <= MOST_DIMENSIONS:
            what = f"Argument '{arg.name}' is a {arg.ndim}-dimensional {arg.dtype}."
            raise GpusimError(what, where=where, hint=f"Kernels take up to {MOST_DIMENSIONS} dimensions of {', '.join(BITS)}.")
    return tuple(renamed)


def operands(ctx: Context, args: tuple[Arg, ...]) -> dict[str, Operand]:
    """Parameter -> what it stands for."""
    return _grouped([(a.name.split("."), _one(ctx, k, a)) for k, a in enumerate(args)])


def _inward(arg: Arg) -> str:
    """What follows the parameter's own name."""
    return "." + arg.name.partition(".")[2] if "." in arg.name else ""


def _by_parameter(args: tuple[Arg, ...]) -> list[tuple[Arg, ...]]:
    """Neighbours whose names begin alike are items of one tuple."""
    heads = [a.name.partition(".")[0] if "." in a.name else k for k, a in enumerate(args)]
    return [tuple(a for _, a in group) for _, group in groupby(zip(heads, args, strict=True), key=lambda pair: pair[0])]


def _one(ctx: Context, number: int, arg: Arg) -> Operand:
    if arg.name.endswith(".None"):
        return Static(None)
    return argument(number, arg) if arg.ndim else Scalar(ctx.param(number, "value", arg.dtype))


def _grouped(found: list[tuple[list[str], Operand]]) -> dict[str, Operand]:
    """First part of the path -> the operand there, or the tuple of those further inside."""
    made: dict[str, Operand] = {}
    for head, inner in groupby(found, key=lambda pair: pair[0][0]):
        rest = [(path[1:], operand) for path, operand in inner]
        made[head] = rest[0][1] if rest[0][0] in ([], ["None"]) else _tuple(_grouped(rest))
    return made


def _tuple(items: dict[str, Operand]) -> Group:
    return Group(tuple(items.values()), () if next(iter(items)).isdigit() else tuple(items))
