"""Lambdas as device functions: `cuda.reduce(lambda a, b: a + b)`. The front end reads functions with `def`, so one is written."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from typing import Any

from gpusim.errors import GpusimError

NAME = "anonymous"


def with_def(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as it is, or, for a lambda, a function under `def` that does the same. GpusimError if the lambda cannot be read.

    Variables of the surrounding function keep the values that they have now.
    """
    if function.__name__ != "<lambda>":
        return function
    code = function.__code__
    node = _find(function)
    cells = dict(zip(code.co_freevars, (c.cell_contents for c in function.__closure__ or ()), strict=True))
    # the expression stands on its line in the file, so that messages name that line
    head = [""] * max(0, node.lineno - 3)
    text = [f"def outer({', '.join(cells)}):", f" def {NAME}({ast.unparse(node.args)}):", f"  return {ast.unparse(node.body)}", f" return {NAME}"]
    lines = [line + "\n" for line in [*head, *text]]
    file = f"{code.co_filename}:lambda:{node.col_offset}"
    linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
    made: dict[str, Any] = {}
    exec(compile("".join(lines), file, "exec"), function.__globals__, made)  # noqa: S102
    result: Callable[..., Any] = made["outer"](**cells)
    return result


def _find(function: Callable[..., Any]) -> ast.Lambda:
    """The lambda's expression: that of its line, and, of several there, the one at its column."""
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    try:
        tree = ast.parse("".join(inspect.findsource(function)[0]))
    except (OSError, SyntaxError):
        raise GpusimError("the source of this lambda cannot be read.", where=where, hint="Write it with def, in a file or a notebook cell.") from None
    places = [p for p in code.co_positions() if p[2]]
    begin = min(((p[0] or 0, p[2] or 0) for p in places), default=(0, 0))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and _holds(n, begin)]
    if not found:
        raise GpusimError("the source of this lambda cannot be found.", where=where, hint="Write it with def.")
    return max(found, key=lambda n: (n.lineno, n.col_offset))


def _holds(node: ast.Lambda, place: tuple[int, int]) -> bool:
    """Whether the code that begins at `place` (line, column) is the body of `node`."""
    return (node.body.lineno, node.body.col_offset) <= place <= (node.body.end_lineno or 0, node.body.end_col_offset or 0)
