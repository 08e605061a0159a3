"""What a program must obey: a table of rules, each with its name, what it applies to, when it holds, and what to say otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.ir.expr import names
from gpusim.ir.functions import ACCUMULATORS, LETTERS, MAPS, fits
from gpusim.ir.ops import Box, Broadcast, Dot, Full, Index, Let, Load, Loop, Map, Op, Read, Reduce, Reshape, Store, exprs, reads, written
from gpusim.ir.program import Tensor
from gpusim.ir.rule import ProgramRule, Rule, Scope, positive
from gpusim.ir.show import is_name
from gpusim.ir.tile_rules import TILE_RULES

ROLES = ("in", "out", "inout")


def defines(op: Any) -> tuple[str, ...]:
    """The names that `op` gives, of tiles, a scalar or a loop variable."""
    return (op.name,) if isinstance(op, Let | Read) else (op.var,) if isinstance(op, Loop) else written(op)


def _unfit(op: Any) -> list[str]:
    return [name for name in defines(op) if not is_name(name)]


def _taken(op: Any, s: Scope) -> list[str]:
    return [name for name in defines(op) if name in s.taken]


def _strange(op: Op, s: Scope) -> list[str]:
    return sorted(set().union(*(names(e) for e in exprs(op))) - s.scalars)


def _missing(op: Op, s: Scope) -> list[str]:
    return [name for name in reads(op) if name not in s.tiles]


def _tensor(op: Any, s: Scope) -> Tensor:
    return s.tensors[op.box.tensor]


def _product_fits(op: Dot, s: Scope) -> bool:
    acc, a, b = s.shapes(op.acc, op.a, op.b)
    return len(a) == len(b) == 2 and a[1] == b[0] and acc == (a[0], b[1])


def _broadcasts(op: Map, s: Scope) -> bool:
    try:
        np.broadcast_shapes(*s.shapes(*op.args))
    except ValueError:
        return False
    return True


def _arguments_fit(op: Map, s: Scope) -> bool:
    dtypes = [s.tiles[a].dtype.name for a in op.args]
    takes = MAPS[op.fn].takes
    common = {d for d, letter in zip(dtypes, takes, strict=True) if letter != "B"}
    return len(common) <= 1 and all(fits(letter, d) for letter, d in zip(takes, dtypes, strict=True))


def _arguments_wanted(op: Map, s: Scope) -> str:
    takes = ", ".join(LETTERS[letter] for letter in MAPS[op.fn].takes)
    return f"{op.fn} takes ({takes}), here are ({', '.join(str(s.tiles[a]) for a in op.args)})."


def _axes_fit(box: Box) -> bool:
    """Every dimension runs along at most one axis of the tile, and has extent 1 if along none."""
    along = [d for d in box.axes or () if d >= 0]
    fits_axes = box.axes is None or (
        len(set(along)) == len(along) and all(d in along or n == 1 for d, n in enumerate(box.shape)) and max(along, default=0) < len(box.shape)
    )
    fits_axes = fits_axes and len(box.edges) in (0, len(box.shape) if box.masked else 0) and set(box.edges) <= {"", "wrap", "first"}
    return fits_axes and len(box.limits) in (0, len(box.shape) if box.masked else 0)


_BOXED = (Load, Store)
_ALL = (object,)

PROGRAM_RULES = (
    ProgramRule("grid", lambda p: len(p.grid) <= 3 and positive(p.grid), lambda p: f"grid {p.grid} is not one to three positive extents."),
    ProgramRule("warps", lambda p: p.warps >= 1, lambda p: f"{p.warps} warps per block make no block."),
    ProgramRule("tensors unique", lambda p: len({t.name for t in p.tensors}) == len(p.tensors), lambda p: "two tensors have the same name."),
)

TENSOR_RULES = (
    ProgramRule("tensor name", lambda t: is_name(t.name), lambda t: f"'{t.name}' is not a name."),
    ProgramRule("tensor shape", lambda t: positive(t.shape), lambda t: f"'{t.name}' has the shape {t.shape}, which is not positive extents."),
    ProgramRule("role", lambda t: t.role in ROLES, lambda t: f"'{t.name}' has the role '{t.role}', which is none of {', '.join(ROLES)}."),
    ProgramRule("pitch", lambda t: t.pitch >= t.shape[-1], lambda t: f"'{t.name}' has pitch {t.pitch} and rows of {t.shape[-1]} elements."),
    ProgramRule(
        "bound",
        lambda t: t.bound == 0 or t.shape[-1] <= t.bound <= t.pitch,
        lambda t: f"'{t.name}' has bound {t.bound}, which is not between the row length {t.shape[-1]} and the pitch {t.pitch}.",
    ),
)

#: in this order, so that a rule may rely on those above it
RULES = (
    Rule("name", _ALL, lambda op, s: not _unfit(op), lambda op, s: f"'{_unfit(op)[0]}' is not a name."),
    Rule(
        "assigned once",
        _ALL,
        lambda op, s: not _taken(op, s),
        lambda op, s: f"'{_taken(op, s)[0]}' is defined twice.",
        "Take a fresh name.",
    ),
    Rule(
        "scalars defined",
        _ALL,
        lambda op, s: not _strange(op, s),
        lambda op, s: f"'{_strange(op, s)[0]}' is not a scalar that is known here.",
        "Indices take program ids, lets and loop variables that are defined before, in this body or around it.",
    ),
    Rule(
        "tiles defined",
        _ALL,
        lambda op, s: not _missing(op, s),
        lambda op, s: f"'{_missing(op, s)[0]}' is not a tile that is known here.",
        "Tiles are defined before their use, in this body or around it.",
    ),
    Rule("tensor known", _BOXED, lambda op, s: op.box.tensor in s.tensors, lambda op, s: f"there is no tensor '{op.box.tensor}'."),
    Rule(
        "box rank",
        _BOXED,
        lambda op, s: len(op.box.shape) == len(_tensor(op, s).shape),
        lambda op, s: f"the box has {len(op.box.shape)} dimension(s) and '{op.box.tensor}' has {len(_tensor(op, s).shape)}.",
    ),
    Rule("box extent", _BOXED, lambda op, s: positive(op.box.shape), lambda op, s: f"the extents {op.box.shape} are not positive."),
    Rule("box axes", _BOXED, lambda op, s: _axes_fit(op.box), lambda op, s: f"axes {op.box.axes} and limits {op.box.limits} do not fit {op.box.shape}."),
    Rule(
        "tile extent",
        (Full, Index, Reshape, Broadcast),
        lambda op, s: op.shape == () or positive(op.shape),
        lambda op, s: f"the extents {op.shape} are not positive.",
    ),
    Rule(
        "store to an output",
        (Store,),
        lambda op, s: _tensor(op, s).role != "in",
        lambda op, s: f"'{op.box.tensor}' is an input.",
        "Give it the role 'out' or 'inout'.",
    ),
    Rule("edges", (Store,), lambda op, s: not op.box.edges, lambda op, s: "a store has no edges: two places would be one.", "Mask it instead."),
    Rule(
        "store shape",
        (Store,),
        lambda op, s: s.tiles[op.src].shape == op.box.tile,
        lambda op, s: f"'{op.src}' is {s.tiles[op.src]} and the box is {list(op.box.tile)}.",
    ),
    Rule(
        "store dtype",
        (Store,),
        lambda op, s: s.tiles[op.src].dtype == _tensor(op, s).dtype,
        lambda op, s: f"'{op.src}' is {s.tiles[op.src]} and '{op.box.tensor}' holds {_tensor(op, s).dtype}.",
        "Cast the tile first.",
    ),
    Rule(
        "stages",
        (Loop,),
        lambda op, s: op.stages is None or op.stages >= 1,
        lambda op, s: f"stages = {op.stages} is no pipeline depth.",
        "Give 1 (no pipeline) or more.",
    ),
    Rule(
        "accumulator",
        (Dot,),
        lambda op, s: op.acc in s.accumulators,
        lambda op, s: f"'{op.acc}' is not made by full.",
        "Products accumulate into a tile made by full, or by arithmetic.",
    ),
    Rule(
        "product shape",
        (Dot,),
        _product_fits,
        lambda op, s: "{} += {} x {} does not fit.".format(*map(list, s.shapes(op.acc, op.a, op.b))),
        "The shapes are [M, N] += [M, K] x [K, N].",
    ),
    Rule(
        "product dtype",
        (Dot,),
        lambda op, s: s.tiles[op.a].dtype == s.tiles[op.b].dtype,
        lambda op, s: f"the operands are {s.tiles[op.a].dtype} and {s.tiles[op.b].dtype}.",
        "Cast one of them.",
    ),
    Rule(
        "accumulator dtype",
        (Dot,),
        lambda op, s: ACCUMULATORS.get(s.tiles[op.a].dtype.name) == s.tiles[op.acc].dtype.name,
        lambda op, s: f"products of {s.tiles[op.a].dtype} do not accumulate in {s.tiles[op.acc].dtype}.",
        f"Operand and accumulator: {', '.join(f'{a} in {b}' for a, b in ACCUMULATORS.items())}.",
    ),
    Rule("function known", (Map,), lambda op, s: op.fn in MAPS, lambda op, s: f"'{op.fn}' is no function.", f"Known: {', '.join(MAPS)}."),
    Rule(
        "argument count",
        (Map,),
        lambda op, s: len(op.args) == len(MAPS[op.fn].takes),
        lambda op, s: f"{op.fn} takes {len(MAPS[op.fn].takes)} tile(s), here are {len(op.args)}.",
    ),
    Rule("broadcast", (Map,), _broadcasts, lambda op, s: f"the shapes {', '.join(map(str, s.shapes(*op.args)))} do not broadcast."),
    Rule("argument dtypes", (Map,), _arguments_fit, _arguments_wanted, "Cast first."),
    *TILE_RULES,
    Rule(
        "reduction axis",
        (Reduce,),
        lambda op, s: 0 <= op.axis < len(s.tiles[op.src].shape),
        lambda op, s: f"'{op.src}' is {s.tiles[op.src]} and has no axis {op.axis}.",
    ),
    Rule(
        "reduction dtype",
        (Reduce,),
        lambda op, s: fits("T", s.tiles[op.src].dtype.name),
        lambda op, s: f"'{op.src}' holds bool, and {op.fn} takes numbers.",
    ),
)
