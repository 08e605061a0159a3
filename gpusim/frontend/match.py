"""`match` on an integer: rewritten to comparisons before anything else looks at a function, as compilers translate a switch.

Up to four cases are compared one after the other. From five on, comparisons halve the sorted constants down to groups of at most `GROUP`, which are
compared one by one. That needs constants in one row or no default: the default must not be copied to every gap between them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

#: so many cases are one chain of comparisons, and so many stand at the ends of the tree
CHAIN, GROUP = 4, 3

Body = list[ast.stmt]


class Subject(ast.Assign):
    """name = value, where the value must be an integer."""


@dataclass(frozen=True, slots=True)
class _Case:
    """constants: what the subject is compared with; None: everything. name: a variable that becomes the subject."""

    at: ast.match_case
    constants: tuple[int, ...] | None
    name: str | None = None


def rewritten(tree: ast.FunctionDef) -> ast.FunctionDef:
    """`tree` without the match statements whose cases are integers, alternatives of them, `_` or a name. Others stay, to be refused where they stand."""
    return ast.fix_missing_locations(_Rewriter().visit(tree))


class _Rewriter(ast.NodeTransformer):
    def visit_Match(self, node: ast.Match) -> ast.AST | Body:  # noqa: N802
        self.generic_visit(node)
        cases = [_case(case) for case in node.cases]
        if any(case is None for case in cases):
            return node
        name = f"match@{node.lineno}:{node.col_offset}"
        subject = ast.copy_location(Subject([ast.Name(name, ast.Store())], node.subject), node)
        return [subject, *_Choice(name).of([case for case in cases if case is not None])]


def _case(case: ast.match_case) -> _Case | None:
    pattern = case.pattern
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        # a guard would see the name before it is known whether the case holds
        return None if pattern.name and case.guard else _Case(case, None, pattern.name)
    parts = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    constants = [_constant(part) for part in parts]
    return None if None in constants else _Case(case, tuple(c for c in constants if c is not None))


def _constant(pattern: ast.pattern) -> int | None:
    """The integer of a pattern: 3 or -3."""
    value = pattern.value if isinstance(pattern, ast.MatchValue) else None
    sign = -1 if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) else 1
    value = value.operand if isinstance(value, ast.UnaryOp) and sign < 0 else value
    return sign * value.value if isinstance(value, ast.Constant) and type(value.value) is int else None


class _Choice:
    """The statements that choose between cases by the variable `name`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, cases: list[_Case]) -> Body:
        rows = [case for case in cases if case.constants is not None]
        default = next((case for case in cases if case.constants is None and case.at.guard is None), None)
        bodies: dict[int, _Case] = {}
        for case in rows:
            for constant in case.constants or ():
                bodies.setdefault(constant, case)
        plain = all(case.at.guard is None and len(case.constants or ()) == 1 for case in cases if case is not default)
        if not plain or len(bodies) <= CHAIN:
            return self.chain(cases)
        ordered = sorted(bodies.items())
        low, high = ordered[0][0], ordered[-1][0]
        if default is None:
            return self.halves(ordered, False)
        if high - low + 1 != len(ordered):
            return self.chain(cases)
        outside = ast.BoolOp(ast.Or(), [self.test(ast.Lt(), low), self.test(ast.Gt(), high)])
        return [self.branch(default.at, outside, self.body(default), self.halves(ordered, True))]

    def chain(self, cases: list[_Case]) -> Body:
        """One comparison after the other, in the order in which they are written."""
        if not cases:
            return []
        case, rest = cases[0], cases[1:]
        if case.constants is None and case.at.guard is None:
            return self.body(case)
        tests: list[ast.expr] = [self.test(ast.Eq(), c) for c in case.constants or ()]
        cond = ast.BoolOp(ast.Or(), tests) if len(tests) > 1 else tests[0] if tests else None
        guard = case.at.guard
        if guard is not None:
            cond = guard if cond is None else ast.BoolOp(ast.And(), [cond, guard])
        assert cond is not None
        return [self.branch(case.at, cond, self.body(case), self.chain(rest))]

    def halves(self, ordered: list[tuple[int, _Case]], certain: bool) -> Body:
        """Sorted constants: comparisons that halve them. certain: the subject is one of all the constants."""
        if len(ordered) <= GROUP:
            return self.group(ordered, certain)
        half = len(ordered) // 2
        low, high = ordered[:half], ordered[half:]
        above = self.test(ast.Gt(), low[-1][0])
        return [self.branch(low[0][1].at, above, self.halves(high, certain), self.halves(low, certain))]

    def group(self, ordered: list[tuple[int, _Case]], certain: bool) -> Body:
        (constant, case), rest = ordered[0], ordered[1:]
        if certain and not rest:
            return self.body(case)
        return [self.branch(case.at, self.test(ast.Eq(), constant), self.body(case), self.group(rest, certain) if rest else [])]

    def test(self, op: ast.cmpop, constant: int) -> ast.expr:
        number: ast.expr = ast.Constant(abs(constant))
        return ast.Compare(self.read(), [op], [number if constant >= 0 else ast.UnaryOp(ast.USub(), number)])

    def read(self) -> ast.expr:
        return ast.Name(self.name, ast.Load())

    def body(self, case: _Case) -> Body:
        if case.name is None:
            return case.at.body
        named = ast.Assign([ast.Name(case.name, ast.Store())], self.read())
        return [ast.copy_location(named, case.at.pattern), *case.at.body]

    def branch(self, at: ast.match_case, cond: ast.expr, then: Body, orelse: Body) -> ast.stmt:
        return ast.copy_location(ast.If(cond, then, orelse), at.pattern)
