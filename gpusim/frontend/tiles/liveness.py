"""Which names a statement assigns, and which of them are read elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def assigned(body: Iterable[ast.stmt]) -> list[str]:
    """Names that statements give values, in the order of the text."""
    found: dict[str, None] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None
    return list(found)


def read_elsewhere(function: ast.FunctionDef, node: ast.stmt, enclosing: list[ast.stmt]) -> set[str]:
    """Names read behind `node`, or anywhere in a loop around it, where the next iteration may come to it."""
    inside = {id(inner) for inner in ast.walk(node)}
    around = {id(inner) for loop in enclosing for inner in ast.walk(loop)}
    end = node.end_lineno or node.lineno
    made = set()
    for other in ast.walk(function):
        name = _read(other)
        if name and id(other) not in inside and (id(other) in around or getattr(other, "lineno", 0) > end):
            made.add(name)
    return made


def _read(node: ast.AST) -> str:
    if isinstance(node, ast.AugAssign):
        return node.target.id if isinstance(node.target, ast.Name) else ""
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ""
