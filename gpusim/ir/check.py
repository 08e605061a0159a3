"""The checker: walks a program through the rules, then looks at where its boxes lie."""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.ir.boxes import check_boxes
from gpusim.ir.expr import names
from gpusim.ir.infer import results
from gpusim.ir.ops import MADE, Fold, If, Let, Loop, Op, Read, While, exprs, written
from gpusim.ir.program import Program, walk
from gpusim.ir.rule import Scope
from gpusim.ir.rules import PROGRAM_RULES, RULES, TENSOR_RULES, defines
from gpusim.ir.show import show_op


def check(program: Program) -> None:
    """Raise GpusimError for the first thing that `program` does wrong, with the op and, if known, the line of the user's source.

    The rules are in `rules.py`; then every unmasked box must lie inside its tensor, for all blocks and iterations.
    """
    for rule in PROGRAM_RULES:
        if not rule.holds(program):
            raise GpusimError(rule.message(program), where=program.name)
    for tensor in program.tensors:
        for rule in TENSOR_RULES:
            if not rule.holds(tensor):
                raise GpusimError(rule.message(tensor), where=program.name)
    scalars = _program_ids(program)
    tensors = {t.name: t for t in program.tensors}
    _check_body(program, program.body, Scope(tensors, {"pid0", "pid1", "pid2", *tensors}, scalars))
    if static(program):
        check_boxes(program)


def static(program: Program) -> bool:
    """Whether no address, trip count or branch depends on what is loaded: then it can be timed without values.

    The proof: every index expression uses only program ids, lets and loop variables, and those are made of nothing else. A program with a While is not static.
    """
    known = _program_ids(program)
    known |= {op.name if isinstance(op, Let) else op.var for op in walk(program.body) if isinstance(op, Let | Loop)}
    body = tuple(walk(program.body))
    return not any(isinstance(op, While) for op in body) and all(names(e) <= known for op in body for e in exprs(op))


def _program_ids(program: Program) -> set[str]:
    return {f"pid{axis}" for axis in range(len(program.grid))}


def _check_body(program: Program, body: tuple[Op, ...], scope: Scope) -> None:
    for op in body:
        for rule in RULES:
            if isinstance(op, rule.on) and not rule.holds(op, scope):
                line = f" (line {op.line})" if op.line else ""
                raise GpusimError(rule.message(op, scope), where=f"{program.name}: {show_op(op)}{line}", hint=rule.hint)
        scope.taken.update(defines(op))
        _check_inside(program, op, scope)
        if isinstance(op, Let | Read):
            scope.scalars.add(op.name)
        types = results(op, scope.tiles, scope.tensors)
        scope.tiles.update({dst: types[dst] for dst in written(op)})
        if isinstance(op, MADE):
            scope.accumulators.add(op.dst)


def _check_inside(program: Program, op: Op, scope: Scope) -> None:
    """The bodies of `op`: what they define is not known behind it."""
    if isinstance(op, Loop):
        inner = scope.inner()
        inner.scalars.add(op.var)
        _check_body(program, op.body, inner)
    elif isinstance(op, If):
        _check_body(program, op.then, scope.inner())
        _check_body(program, op.orelse, scope.inner())
    elif isinstance(op, While):
        inner = scope.inner()
        _check_body(program, op.before, inner)
        if strange := sorted(names(op.cond) - inner.scalars):
            raise GpusimError(f"'{strange[0]}' is not a scalar that is known here.", where=f"{program.name}: {show_op(op)}")
        _check_body(program, op.body, inner)
    elif isinstance(op, Fold):
        inner = scope.inner()
        types = results(op, scope.tiles, scope.tensors)
        inner.tiles.update({name: types[name] for name in (*op.left, *op.right)})
        _check_body(program, op.body, inner)
