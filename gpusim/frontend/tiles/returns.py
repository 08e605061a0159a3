"""A function body with one way out: what follows an `if` that returns is put into its other arm."""

from __future__ import annotations

import ast


def with_one_end(body: list[ast.stmt]) -> list[ast.stmt]:
    """`body` in which nothing follows a statement that may return. Statements are shared with the original; a changed `if` is a copy."""
    made: list[ast.stmt] = []
    for n, statement in enumerate(body):
        rest = body[n + 1 :]
        if isinstance(statement, ast.Return):
            return [*made, statement]
        if isinstance(statement, ast.If) and rest and _returns(statement):
            both = ast.If(test=statement.test, body=with_one_end([*statement.body, *rest]), orelse=with_one_end([*statement.orelse, *rest]))
            return [*made, ast.copy_location(both, statement)]
        made.append(statement)
    return made


def _returns(node: ast.If) -> bool:
    return any(isinstance(inner, ast.Return) for inner in ast.walk(node))
