"""What a kernel may not contain, told with the source line and what to write instead."""

from __future__ import annotations

import ast
from typing import NoReturn

from gpusim.errors import GpusimError
from gpusim.frontend.source import Source


def refuse(source: Source, node: ast.AST | int, what: str, hint: str = "") -> NoReturn:
    """GpusimError for the line of `node`."""
    line = node if isinstance(node, int) else source.line_of(node)
    text = source.text_at(line)
    raise GpusimError(f"{what}\n    {text}\n" if text else what, where=f"{source.file}:{line}", hint=hint)


_ONLY = "Kernels have numbers, tuples of numbers, and arrays."

#: form of Python -> (what it is called, what to write instead)
UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.List: ("a list", "Use a tuple, cuda.local.array, or cuda.shared.array."),
    ast.Dict: ("a dict", f"{_ONLY} Index an array instead."),
    ast.Set: ("a set", f"{_ONLY} Use a tuple with `in`."),
    ast.ListComp: ("a comprehension", "Write a for loop that fills a cuda.local.array."),
    ast.SetComp: ("a comprehension", "Write a for loop."),
    ast.DictComp: ("a comprehension", "Write a for loop."),
    ast.GeneratorExp: ("a generator expression", "Write a for loop."),
    ast.Lambda: ("a lambda", "Write a function with @cuda.jit(device=True)."),
    ast.JoinedStr: ("an f-string", "Give print several arguments: print('x', x)."),
    ast.Yield: ("yield", "A kernel writes its results to arrays."),
    ast.YieldFrom: ("yield from", "A kernel writes its results to arrays."),
    ast.Await: ("await", "A kernel runs to its end; use cuda.syncthreads to wait."),
    ast.Starred: ("an argument with *", "Write each item."),
    ast.NamedExpr: ("an assignment inside an expression", "Assign on a line of its own."),
    ast.Slice: ("a slice", "Index single elements, or loop over them."),
    ast.Try: ("try", "Kernels cannot catch errors; test the condition with if."),
    ast.With: ("with", "Write the statements without it."),
    ast.Import: ("an import", "Import outside the kernel."),
    ast.ImportFrom: ("an import", "Import outside the kernel."),
    ast.FunctionDef: ("a function inside a kernel", "Put it outside, with @cuda.jit(device=True)."),
    ast.AsyncFunctionDef: ("an async function", "Put a plain one outside, with @cuda.jit(device=True)."),
    ast.ClassDef: ("a class", "Use several arrays, one per field."),
    ast.Global: ("global", "Pass the value as an argument, or return it through an array."),
    ast.Nonlocal: ("nonlocal", "Pass the value as an argument, or return it through an array."),
    ast.AsyncFor: ("async for", "Write a plain for."),
    ast.AsyncWith: ("async with", "Write the statements without it."),
    ast.Match: ("a match with such a case", "Cases are integers, alternatives as in `case 1 | 2:`, `case name:` or `case _:`; for all else write if and elif."),
}
