"""Which accesses are boxes: pointers start + steps * index whose steps are the strides of a tensor, masks that are bounds on its dimensions.

Everything that has to be true for a box is proved over the whole grid (`ranges`); what cannot be proved keeps its addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.values import Array, Below, Lattice, Mask, Pointer, Scalar, Shape, lattice
from gpusim.frontend.tiles.views import View, view_of
from gpusim.ir.expr import Expr, bin_, cdiv
from gpusim.ir.linear import Linear, linear
from gpusim.ir.memory_ops import Box


@dataclass(slots=True)
class _Trial:
    """A way to see the access: `axes[d]` is the tile's axis along dimension d (None: extent 1)."""

    strides: Shape
    axes: list[int | None]
    extents: list[int]
    origin: list[Linear]
    limits: list[list[Expr]] = field(default_factory=list)
    from_zero: list[bool] = field(default_factory=list)


def box_of(ctx: Context, pointer: Pointer, mask: Mask | None, store: bool) -> Box | None:
    """The box that `pointer` under `mask` is, or None. The view it lies in is noted in the context."""
    if not isinstance(pointer.offset, Scalar | Lattice):
        return None
    offset = lattice(pointer.offset, pointer.shape)
    moving = _moving(offset)
    if moving is None:
        return None
    for strides in _candidates(pointer.array, [step for step, _ in moving]):
        trial = _split(offset, strides, moving)
        edges = _edges(trial, offset, store)
        if edges is None:
            return None
        view = _fits(ctx, trial, pointer.array, mask, offset.shape)
        if view is not None:
            view.loaded, view.stored = view.loaded or not store, view.stored or store
            return _made(trial, view, mask is not None or any(edges), offset.shape, edges if any(edges) else ())
    return None


def _moving(offset: Lattice) -> list[tuple[int, int]] | None:
    """(step, axis) of the axes with several elements, the largest step first; None if a step is no positive constant or two are equal."""
    made = []
    for axis, extent in enumerate(offset.shape):
        if extent > 1:
            step = offset.step(axis)
            if step is None or step < 1:
                return None
            made.append((step, axis))
    made.sort(reverse=True)
    return made if len({step for step, _ in made}) == len(made) else None


def _candidates(array: Array, steps: list[int]) -> list[Shape]:
    """Strides that the tensor may have, most telling first."""
    whole = tuple(steps if steps and steps[-1] == 1 else [*steps, 1])
    made = []
    if len(whole) == 1 and len(array.shape) > 1 and array.strides[-1] == 1 and array.strides[-2] > 1:
        made.append((array.strides[-2], 1))
    return [s for s in [*made, whole] if len(s) <= 3 and all(a % b == 0 for a, b in zip(s, s[1:], strict=False))]


def _split(offset: Lattice, strides: Shape, moving: list[tuple[int, int]]) -> _Trial:
    axis_of = dict(moving)
    rest, origin = linear(offset.start), []
    for stride in strides[:-1]:
        rows, rest = rest.split(stride)
        origin.append(rows)
    axes = [axis_of.get(stride) for stride in strides]
    return _Trial(strides, axes, [1 if a is None else offset.shape[a] for a in axes], [*origin, rest], [[] for _ in strides], [False] * len(strides))


def _fits(ctx: Context, trial: _Trial, array: Array, mask: Mask | None, shape: Shape) -> View | None:
    """The view, if mask and box lie in its dimensions for all blocks. Nothing is noted unless they do."""
    if mask is not None and not all(_bound(ctx, trial, bound, shape) for bound in mask.bounds):
        return None
    probe = view_of(dict(ctx.state.accesses), array, trial.strides)
    ends = [_end(ctx, trial, d, extent) for d, extent in enumerate(probe.natural)]
    if any(end is None for end in ends):
        return None
    view = view_of(ctx.state.accesses, array, trial.strides)
    for d, end in enumerate(ends):
        limit = _limit(trial, d)
        if limit is not None:
            view.limits[d].add(limit)
        else:
            view.reach[d] = max(view.reach[d], end or 0)
    return view


def _end(ctx: Context, trial: _Trial, d: int, extent: int) -> int | None:
    """The end of what is touched in dimension d, if it is proved to lie in [0, extent]. The first dimension is checked when it runs, if it depends on data."""
    found = ctx.ranges.of(trial.origin[d])
    limit = _limit(trial, d)
    if found is None:
        return extent if d == 0 and limit is None else None
    if found[0] < 0 and not trial.from_zero[d]:
        return None
    end = found[1] + trial.extents[d]
    if limit is not None:
        bound = ctx.ranges.of(linear(limit))
        end = min(end, bound[1]) if bound is not None else end
    return end if end <= extent else None


def _limit(trial: _Trial, d: int) -> Expr | None:
    """The least of the bounds of a dimension."""
    made: Expr | None = None
    for limit in dict.fromkeys(trial.limits[d]):
        made = limit if made is None else bin_("min", made, limit)
    return made


def _bound(ctx: Context, trial: _Trial, bound: Below, shape: Shape) -> bool:
    """Note one bound of the mask; False if it is none on a dimension of the box."""
    low, high = lattice(bound.low, shape), lattice(bound.high, shape)
    steps = [linear(a) - linear(b) for a, b in zip(low.steps, high.steps, strict=True)]
    along = [axis for axis, step in enumerate(steps) if step != Linear(0)]
    distance = bound.distance()
    if not along:
        return _condition(ctx, trial, distance)
    if len(along) > 1 or not steps[along[0]].is_constant or along[0] not in trial.axes:
        return False
    d, step = trial.axes.index(along[0]), steps[along[0]].constant
    if step > 0:
        count = distance.times(-1) if step == 1 else linear(cdiv(distance.times(-1).expr(), step))
        trial.limits[d].append((trial.origin[d] + count).expr())
        return True
    first = distance + Linear(1) if step == -1 else linear(bin_("//", distance.expr(), -step)) + Linear(1)
    found = ctx.ranges.of(first)
    if found is not None and found[1] <= 0:
        return True
    trial.from_zero[d] = trial.origin[d] + first == Linear(0)
    return trial.from_zero[d]


def _condition(ctx: Context, trial: _Trial, distance: Linear) -> bool:
    """A bound that the whole box has or not: the first dimension ends where it begins."""
    found = ctx.ranges.of(distance)
    if found is not None and found[1] < 0:
        return True
    holds = bin_("<", distance.expr(), 0)
    trial.limits[0].append((trial.origin[0] + linear(holds * trial.extents[0])).expr())
    return True


def _edges(trial: _Trial, offset: Lattice, store: bool) -> tuple[str, ...] | None:
    """What stands behind the end of each dimension, which the edges of the formula set; None if they do not lie along dimensions of a load."""
    made = [""] * len(trial.strides)
    for edge in offset.edges:
        if store or edge.axis not in trial.axes:
            return None
        d = trial.axes.index(edge.axis)
        trial.limits[d].append((trial.origin[d] - linear(edge.first) + Linear(edge.limit)).expr())
        if linear(edge.first) != trial.origin[d]:
            return None
        made[d] = edge.kind
    return tuple(made)


def _made(trial: _Trial, view: View, masked: bool, shape: Shape, edges: tuple[str, ...]) -> Box:
    limits = tuple(_limit(trial, d) for d in range(len(trial.strides)))
    axes = tuple(trial.axes.index(axis) if axis in trial.axes else -1 for axis in range(len(shape)))
    plain = axes == tuple(range(len(trial.strides)))
    origin = tuple(o.expr() for o in trial.origin)
    return Box(view.name, origin, tuple(trial.extents), masked, limits if any(x is not None for x in limits) else (), None if plain else axes, edges)
