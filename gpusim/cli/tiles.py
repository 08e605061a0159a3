"""`gpusim run mine.py:kernel` for kernels under @triton.jit: their arguments and grid from the command line."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any

from gpusim.cli.arguments import parse_named
from gpusim.errors import GpusimError

if TYPE_CHECKING:
    from gpusim.report.report import Report
    from gpusim.triton.kernel import Runnable

EXAMPLE = "Write it like --grid 4096, --grid 64x64, or --grid 'cdiv(n, BLOCK)'."


def run_tiles(kernel: Runnable, grid: str, args: str, seed: int, gpu: str, protocol: dict[str, Any]) -> Report:
    """The report of one launch."""
    from gpusim import api
    from gpusim.triton.kernel import OPTIONS

    names = [*kernel.arg_names, *OPTIONS]
    defaults = [p.name for p in kernel.kernel.signature.parameters.values() if p.default is not inspect.Parameter.empty]
    chosen = kernel is not kernel.kernel
    given = parse_named(args, names, seed, names if chosen else [*defaults, *OPTIONS], _word)
    if not grid:
        raise GpusimError("--grid is missing.", hint=EXAMPLE)
    return api.run(kernel, gpu, grid=lambda meta: extents(grid, meta), args=given, **protocol)  # type: ignore[arg-type]


def _word(text: str) -> tuple[Any, bool]:
    """None, a text in quotes, or a type such as tl.float32; and whether it is one of these."""
    if text == "None":
        return None, True
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1], True
    if text.startswith("tl."):
        import gpusim.triton.language as tl

        return getattr(tl, text.removeprefix("tl.")), True
    return None, False


def extents(text: str, meta: dict[str, Any]) -> tuple[int, ...]:
    """The extents of a grid: numbers, or formulas of the integer arguments `meta` with + - * // % and cdiv, min, max.

    They are parted by commas, or by x between numbers.
    """
    if text.replace("x", "").isdecimal():
        return tuple(int(p) for p in text.split("x"))
    try:
        tree = ast.parse(text, mode="eval").body
        items = tree.elts if isinstance(tree, ast.Tuple) else [tree]
        return tuple(_value(node, meta) for node in items)
    except (SyntaxError, KeyError, ArithmeticError, TypeError, ValueError) as error:
        raise GpusimError(f"'{text}' is no grid: {error}.", where="--grid", hint=EXAMPLE) from None


_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_FUNCTIONS: dict[str, Any] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}


def _value(node: ast.expr, meta: dict[str, Any]) -> int:
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return int(meta[node.id])
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return int(_OPERATORS[type(node.op)](_value(node.left, meta), _value(node.right, meta)))
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _FUNCTIONS:
        return int(_FUNCTIONS[ast.unparse(node.func).split(".")[-1]](*(_value(a, meta) for a in node.args)))
    raise ValueError(f"'{ast.unparse(node)}' is not understood")
