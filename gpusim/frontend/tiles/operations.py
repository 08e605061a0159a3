"""How many operations the matrix products of a program are, where its trip counts do not depend on data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim.ir.blocks import program_ids
from gpusim.ir.expr import evaluate, names
from gpusim.ir.infer import TileType, tile_types
from gpusim.ir.ops import Dot, If, Let, Loop, Op, While
from gpusim.ir.program import Program, walk


class _Unknown(Exception):
    """A trip count or a branch depends on data, or on a loop around it."""


def products(program: Program) -> int:
    """2 m n k of every product that is executed, with what lies behind the edges of arrays; 0 where that is not known."""
    blocks = np.arange(program.ctas)
    try:
        counts = _count(program.body, dict(program_ids(program.grid, blocks)), np.ones(len(blocks), np.int64), tile_types(program))
    except _Unknown:
        return 0
    return int(np.sum(counts))


def _count(body: tuple[Op, ...], env: dict[str, Any], active: np.ndarray, types: Mapping[str, TileType]) -> Any:
    """Operations of each block. active: how often each comes here."""
    total: Any = np.zeros_like(active)
    for op in body:
        if isinstance(op, Let):
            if names(op.value) <= env.keys():
                env[op.name] = evaluate(op.value, env)
        elif isinstance(op, Loop) and _has_product(op.body):
            total = total + _count(op.body, dict(env), active * np.maximum(_known(op.stop, env) - _known(op.start, env), 0), types)
        elif isinstance(op, If) and (_has_product(op.then) or _has_product(op.orelse)):
            taken = np.broadcast_to(_known(op.cond, env) != 0, active.shape)
            total = total + _count(op.then, dict(env), active * taken, types) + _count(op.orelse, dict(env), active * ~taken, types)
        elif isinstance(op, While) and _has_product(op.body):
            raise _Unknown
        elif isinstance(op, Dot):
            (m, k), n = types[op.a].shape, types[op.b].shape[1]
            total = total + 2 * m * n * k * active
    return total


def _has_product(body: tuple[Op, ...]) -> bool:
    return any(isinstance(op, Dot) for op in walk(body))


def _known(e: Any, env: dict[str, Any]) -> Any:
    if not names(e) <= env.keys():
        raise _Unknown
    return evaluate(e, env)
