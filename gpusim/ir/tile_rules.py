"""Rules for gathers, scatters, variables, and for tiles that take another shape."""

from __future__ import annotations

import math
from typing import Any

from gpusim.ir.functions import ARGS, ATOMICS, REDUCES, SCANS, WHOLE
from gpusim.ir.ops import (
    Atomic,
    Broadcast,
    Cast,
    Check,
    Fold,
    Gather,
    Histogram,
    Index,
    Join,
    Part,
    Read,
    Reduce,
    Reshape,
    Scan,
    Scatter,
    Sort,
    Take,
    Transpose,
    Update,
)  # fmt: skip
from gpusim.ir.rule import Rule, Scope

_ADDRESSED = (Gather, Scatter, Atomic)
_ALONG = (Part, Take, Sort, Scan, Fold)


def _src(op: Any) -> str:
    return str(op.srcs[0]) if isinstance(op, Fold) else str(op.src)


def _whole(op: Any, s: Scope, name: str) -> bool:
    return s.tiles[name].dtype.name in WHOLE


def _same_shape(op: Any, s: Scope) -> bool:
    """Index, mask and values of an access have one shape, or the values are one element for all."""
    shape = s.tiles[op.index].shape
    others = [n for n in (op.mask, getattr(op, "src", ""), getattr(op, "compare", "")) if n]
    return all(s.tiles[n].shape == shape for n in others)


def _broadcasts_to(op: Broadcast, s: Scope) -> bool:
    have = s.tiles[op.src].shape
    wanted = op.shape[len(op.shape) - len(have) :]
    return len(have) <= len(op.shape) and all(h in (1, w) for h, w in zip(have, wanted, strict=True))


def _as_wide(op: Cast, s: Scope) -> bool:
    return not op.bits or s.tiles[op.src].dtype.bits == op.dtype.bits


def _pair(op: Any, s: Scope, first: str, second: str) -> str:
    return f"'{first}' is {s.tiles[first]} and '{second}' is {s.tiles[second]}."


TILE_RULES = (
    Rule("tensor known", _ADDRESSED, lambda op, s: op.tensor in s.tensors, lambda op, s: f"there is no tensor '{op.tensor}'."),
    Rule("index", (*_ADDRESSED, Take), lambda op, s: _whole(op, s, op.index), lambda op, s: f"the index '{op.index}' is {s.tiles[op.index]}, not integers."),
    Rule(
        "mask",
        _ADDRESSED,
        lambda op, s: not op.mask or s.tiles[op.mask].dtype.name == "bool",
        lambda op, s: f"the mask '{op.mask}' is {s.tiles[op.mask]}, not bool.",
    ),
    Rule("access shape", _ADDRESSED, _same_shape, lambda op, s: "index, mask and values of an access differ in shape.", "Broadcast them first."),
    Rule("write to an output", (Scatter, Atomic), lambda op, s: s.tensors[op.tensor].role != "in", lambda op, s: f"'{op.tensor}' is an input."),
    Rule(
        "write dtype",
        (Scatter, Atomic),
        lambda op, s: s.tiles[op.src].dtype == s.tensors[op.tensor].dtype,
        lambda op, s: f"'{op.src}' is {s.tiles[op.src]} and '{op.tensor}' holds {s.tensors[op.tensor].dtype}.",
        "Cast the tile first.",
    ),
    Rule("atomic known", (Atomic,), lambda op, s: op.fn in ATOMICS, lambda op, s: f"'{op.fn}' is no atomic.", f"Known: {', '.join(sorted(ATOMICS))}."),
    Rule("compare", (Atomic,), lambda op, s: bool(op.compare) == (op.fn == "cas"), lambda op, s: "a comparison belongs to cas, and to nothing else."),
    Rule("one variable", (Update,), lambda op, s: s.tiles[op.src] == s.tiles[op.dst], lambda op, s: _pair(op, s, op.dst, op.src), "Both have one type."),
    Rule("index dtype", (Index,), lambda op, s: op.dtype.name in WHOLE, lambda op, s: f"indices are integers, not {op.dtype}."),
    Rule("index steps", (Index,), lambda op, s: len(op.steps) == len(op.shape), lambda op, s: f"{len(op.steps)} steps for {len(op.shape)} axes."),
    Rule("one element", (Read,), lambda op, s: s.tiles[op.src].shape == (), lambda op, s: f"'{op.src}' is {s.tiles[op.src]}: a scalar is read from shape ()."),
    Rule(
        "elements stay",
        (Reshape,),
        lambda op, s: math.prod(s.tiles[op.src].shape) == math.prod(op.shape),
        lambda op, s: f"'{op.src}' is {s.tiles[op.src]}, which does not have the elements of {op.shape}.",
    ),
    Rule("broadcast to", (Broadcast,), _broadcasts_to, lambda op, s: f"'{op.src}' is {s.tiles[op.src]}, which does not broadcast to {op.shape}."),
    Rule(
        "order of axes",
        (Transpose,),
        lambda op, s: sorted(op.order) == list(range(len(s.tiles[op.src].shape))),
        lambda op, s: f"{op.order} is no order of the axes of '{op.src}', which is {s.tiles[op.src]}.",
    ),
    Rule("joined", (Join,), lambda op, s: s.tiles[op.a] == s.tiles[op.b], lambda op, s: _pair(op, s, op.a, op.b), "Both have one type."),
    Rule(
        "axis",
        _ALONG,
        lambda op, s: 0 <= op.axis < len(s.tiles[_src(op)].shape),
        lambda op, s: f"'{_src(op)}' is {s.tiles[_src(op)]} and has no axis {op.axis}.",
    ),
    Rule("part", (Part,), lambda op, s: 0 <= op.index < s.tiles[op.src].shape[op.axis], lambda op, s: f"axis {op.axis} of '{op.src}' has no index {op.index}."),
    Rule("scan known", (Scan,), lambda op, s: op.fn in SCANS, lambda op, s: f"'{op.fn}' is no scan.", f"Known: {', '.join(sorted(SCANS))}."),
    Rule("bins", (Histogram,), lambda op, s: op.bins >= 1 and _whole(op, s, op.src), lambda op, s: f"{op.bins} bins of {s.tiles[op.src]} make no histogram."),
    Rule("same bits", (Cast,), _as_wide, lambda op, s: f"{s.tiles[op.src]} is not as wide as {op.dtype}."),
    Rule("condition", (Check,), lambda op, s: s.tiles[op.src].dtype.name == "bool", lambda op, s: f"'{op.src}' is {s.tiles[op.src]}, not bool."),
    Rule(
        "fold",
        (Fold,),
        lambda op, s: len({len(op.dsts), len(op.srcs), len(op.left), len(op.right), len(op.results)}) == 1 and len(set(s.shapes(*op.srcs))) == 1,
        lambda op, s: "a fold takes tiles of one shape, and has as many results and elements on each side.",
    ),
    Rule(
        "reduction known",
        (Reduce,),
        lambda op, s: op.fn in REDUCES | ARGS,
        lambda op, s: f"'{op.fn}' is no reduction.",
        f"Known: {', '.join(sorted(REDUCES | ARGS))}.",
    ),
)  # fmt: skip
