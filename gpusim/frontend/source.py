"""The text and syntax tree of a function, and the names it sees from outside."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from gpusim.errors import GpusimError
from gpusim.frontend.match import rewritten


@dataclass(frozen=True, slots=True)
class Source:
    """`lines` are the function's own, from line `first` (1-based) of `file`; `tree` is its definition, whose first line is 1, with each `match`
    rewritten to comparisons."""

    function: FunctionType
    file: str
    first: int
    lines: tuple[str, ...]
    tree: ast.FunctionDef

    def line_of(self, node: ast.AST) -> int:
        """The file's line of a node, 1-based."""
        return self.first + int(getattr(node, "lineno", 1)) - 1

    def text_at(self, line: int) -> str:
        k = line - self.first
        return self.lines[k].strip() if 0 <= k < len(self.lines) else ""

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


def read(function: Callable[..., Any]) -> Source:
    """The source of a plain Python function. Raises GpusimError if the text cannot be had or is no `def`."""
    target = inspect.unwrap(function)
    if not isinstance(target, FunctionType):
        raise GpusimError(f"{function!r} is no Python function.", hint="Decorate a function that is written with def.")
    file = target.__code__.co_filename
    lines, first = _lines(target, file)
    text = textwrap.dedent("".join(lines))
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise GpusimError(f"The source of {target.__name__} cannot be read: {error.msg}.", where=f"{file}:{first}", hint=_REMEDY) from error
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise GpusimError(
            f"{target.__name__} is no plain function.", where=f"{file}:{first}", hint="Write it with def, on lines of its own (no lambda, no async)."
        )
    return Source(target, file, first, tuple(lines), rewritten(body[0]))


_REMEDY = (
    "Put the kernel into a file and import it, or define it in a notebook cell. Text that is typed at the plain >>> prompt or given to exec() is not kept."
)


def _lines(function: FunctionType, file: str) -> tuple[list[str], int]:
    linecache.checkcache(file)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, IndexError) as error:
        raise GpusimError(f"The source of kernel {function.__name__} is not available ({file}).", where=file, hint=_REMEDY) from error
    return lines, max(first, 1)


class Missing:
    """The mark of a name that nobody defines."""


def outer(function: FunctionType, name: str) -> Any:
    """What `name` means in the function if it is no local: a closure's cell, a module's global, a builtin; else `Missing`."""
    import builtins

    free = function.__code__.co_freevars
    if name in free:
        try:
            return (function.__closure__ or ())[free.index(name)].cell_contents
        except ValueError:
            return Missing
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, Missing)
