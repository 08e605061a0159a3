"""The scalar part of a program for many blocks at once: program ids, lets, loops and branches, without any tile.

A scalar is an int where all blocks agree, or an array with one value for each block. The checker and the interpreter both walk a
program this way; what they do with an op on tiles is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.expr import Bin, Expr, Name, evaluate, names
from gpusim.ir.ops import If, Let, Loop, Op, While, exprs
from gpusim.ir.program import walk
from gpusim.ir.show import show_expr

Scalars = dict[str, Any]
#: what to do with an op on tiles: the op, the rows of the batch that execute it, and the scalars of those rows, to which a Read adds
Visit = Callable[[Op, np.ndarray, Scalars], None]


def program_ids(grid: tuple[int, ...], blocks: np.ndarray) -> dict[str, np.ndarray]:
    """pid0, pid1, ... of the blocks with these linear numbers; axis 0 runs fastest, as blockIdx.x does."""
    ids = {}
    for axis, extent in enumerate(grid):
        # The last axis needs no remainder, and a division over all blocks is what costs here.
        ids[f"pid{axis}"] = blocks if axis == len(grid) - 1 else blocks % extent
        blocks = blocks if axis == len(grid) - 1 else blocks // extent
    return ids


def run(body: tuple[Op, ...], rows: np.ndarray, scalars: Mapping[str, Any], visit: Visit, ends: frozenset[str] = frozenset()) -> None:
    """Execute `body` in lockstep for the blocks at `rows` (sorted), calling `visit` for every op on tiles.

    Blocks that have left a loop or did not take a branch are left out of `rows`; where all take part, `rows` is the same object.
    ends: loop variables that only take their first and last value.
    """
    scope = dict(scalars)
    for op in body:
        if isinstance(op, Let):
            scope[op.name] = value(op.value, scope)
        elif isinstance(op, Loop):
            for step, active in _steps(op, scope, op.var in ends):
                run(op.body, *_narrow(rows, {**scope, op.var: step}, active), visit, ends)
        elif isinstance(op, If):
            taken = value(op.cond, scope) != 0
            for arm, active in ((op.then, taken), (op.orelse, np.logical_not(taken))):
                if arm and np.any(active):
                    run(arm, *_narrow(rows, scope, active), visit, ends)
        elif isinstance(op, While):
            _repeat(op, rows, scope, visit)
        else:
            visit(op, rows, scope)


def _repeat(op: While, rows: np.ndarray, scope: dict[str, Any], visit: Visit) -> None:
    """The rounds of `op`, until no block wants another. GpusimError if there is no end to it."""
    for _ in range(MOST_ROUNDS):
        inner = dict(scope)
        _in_scope(op.before, rows, inner, visit)
        active = np.broadcast_to(np.asarray(value(op.cond, inner) != 0), rows.shape)
        if not active.any():
            return
        rows, inner = _narrow(rows, inner, active)
        scope = {name: v for name, v in inner.items() if name in scope}
        run(op.body, rows, inner, visit)
    raise GpusimError(
        f"a loop did not end after {MOST_ROUNDS} rounds.",
        where=f"line {op.line}" if op.line else "while",
        hint="Blocks are computed one after the other: none can wait for a block behind it.",
    )


#: rounds of an open loop after which it counts as endless
MOST_ROUNDS = 1 << 20


def _in_scope(body: tuple[Op, ...], rows: np.ndarray, scope: dict[str, Any], visit: Visit) -> None:
    """The Lets and ops on tiles of a straight body; `scope` keeps what they define."""
    for op in body:
        if isinstance(op, Let):
            scope[op.name] = value(op.value, scope)
        elif isinstance(op, Loop | If | While):
            run((op,), rows, scope, visit)
        else:
            visit(op, rows, scope)


def value(e: Expr, scalars: Mapping[str, Any]) -> Any:
    """`evaluate`, but a division by zero is a GpusimError."""
    try:
        with np.errstate(divide="raise"):
            return evaluate(e, scalars)
    except (ZeroDivisionError, FloatingPointError):
        raise GpusimError(f"'{show_expr(e)}' divides by zero in some block.", where="index expression", hint="Guard it with max(..., 1) or a branch.") from None


def _steps(op: Loop, scope: Mapping[str, Any], ends: bool) -> Iterator[tuple[Any, Any]]:
    """The values of the loop variable, one iteration after the other, and the blocks that take part in each."""
    start, stop = value(op.start, scope), value(op.stop, scope)
    if not isinstance(start, np.ndarray) and not isinstance(stop, np.ndarray):
        steps = range(start, stop)
        yield from ((s, True) for s in (sorted({*steps[:1], *steps[-1:]}) if ends else steps))
        return
    trips = np.maximum(stop - start, 0)
    if ends:
        yield from ((s, trips > 0) for s in (start, stop - 1) if trips.any())
        return
    yield from ((start + n, n < trips) for n in range(int(trips.max(initial=0))))


def _narrow(rows: np.ndarray, scope: dict[str, Any], active: Any) -> tuple[np.ndarray, dict[str, Any]]:
    if np.all(active):
        return rows, scope
    return rows[active], {name: v[active] if isinstance(v, np.ndarray) else v for name, v in scope.items()}


def affine_loops(body: tuple[Op, ...]) -> frozenset[str]:
    """Loop variables on which every expression of their loop depends linearly, so that the extremes lie at the first and last value."""
    return frozenset(op.var for op in walk(body) if isinstance(op, Loop) and _affine_in(op))


def _affine_in(loop: Loop) -> bool:
    tainted = {loop.var}
    for op in walk(loop.body):
        straight = isinstance(op, Loop | If)
        if not all(_affine(e, tainted) and not (straight and names(e) & tainted) for e in exprs(op)):
            return False
        if isinstance(op, Let) and names(op.value) & tainted:
            tainted.add(op.name)
    return True


def _affine(e: Expr, tainted: set[str]) -> bool:
    """Whether `e` is a linear function of the tainted names."""
    if not names(e) & tainted or isinstance(e, Name):
        return True
    assert isinstance(e, Bin)
    if e.op == "*" and (names(e.a) & tainted) and (names(e.b) & tainted):
        return False
    return e.op in ("+", "-", "*") and _affine(e.a, tainted) and _affine(e.b, tainted)
