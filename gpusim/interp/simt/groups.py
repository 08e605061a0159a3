"""Sets of lanes that run together, and how values are laid out for them.

A chunk is C CTAs of T threads. A register is an array of shape (C, T), or (1, T) if all CTAs hold the same, (C, 1) if the threads of a
CTA do, (1, 1) if all do; NumPy's broadcasting keeps most index arithmetic small. A `Group` is either a rectangle (some CTAs x some
threads) with values of shape (R, K), or a list of n lanes with values of shape (1, n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.interp.simt.cached import cached_property

Array = Any  # np.ndarray of any type


@dataclass(frozen=True)
class Space:
    """The lanes of one chunk: `ctas` CTAs of `threads` threads in `warps` warps each."""

    ctas: int
    threads: int

    @property
    def warps(self) -> int:
        return -(-self.threads // 32)


class Group:
    """Lanes of a chunk. Rectangle: `rows` x `cols` (None: all). Else `lanes`: sorted numbers row * T + col."""

    def __init__(self, space: Space, rows: Array | None = None, cols: Array | None = None, lanes: Array | None = None) -> None:
        self.space, self.rows, self.cols, self.lanes = space, rows, cols, lanes
        self.parent: Group | None = None
        self.kind = ""
        self.pos: Array = None
        self.recorded: Any = None  # its warps that are recorded, once `recording` has listed them
        if lanes is not None:
            self.shape = (1, len(lanes))
        else:
            self.shape = (space.ctas if rows is None else len(rows), space.threads if cols is None else len(cols))
        self.size = self.shape[0] * self.shape[1]
        self.full = lanes is None and rows is None and cols is None
        self.col_slice = _as_slice(cols)

    @cached_property
    def cta(self) -> Array:
        """Row of the chunk, shape (R, 1) or (1, n)."""
        if self.lanes is not None:
            return (self.lanes // self.space.threads)[None]
        return (np.arange(self.space.ctas) if self.rows is None else self.rows)[:, None]

    @cached_property
    def tid(self) -> Array:
        """Thread in its CTA, shape (1, K) or (1, n)."""
        if self.lanes is not None:
            return (self.lanes % self.space.threads)[None]
        return (np.arange(self.space.threads) if self.cols is None else self.cols)[None]

    @cached_property
    def flat(self) -> Array:
        """Lane numbers in the chunk, shape (size,), sorted."""
        return self.lanes if self.lanes is not None else (self.cta * self.space.threads + self.tid).ravel()

    @cached_property
    def mask(self) -> Array:
        """Of all lanes of the chunk, shape (C * T,)."""
        mask = np.zeros(self.space.ctas * self.space.threads, bool)
        mask[self.flat] = True
        return mask

    @cached_property
    def per_cta(self) -> Array:
        """Lanes in each CTA of the chunk, shape (C,)."""
        counts = np.zeros(self.space.ctas, np.int64)
        if self.lanes is not None:
            return np.bincount(self.cta[0], minlength=self.space.ctas)
        counts[slice(None) if self.rows is None else self.rows] = self.shape[1]
        return counts

    @cached_property
    def _warp_layout(self) -> tuple[Array, int, Array]:
        """slot of each column in (warp, lane), warps per row, warp number of each of those."""
        tid = self.tid[0]
        warp = (tid >> 5) if self.lanes is None else self.cta[0] * self.space.warps + (tid >> 5)
        first = np.empty(len(warp), bool)
        first[:1] = True
        np.not_equal(warp[1:], warp[:-1], out=first[1:])
        return (np.cumsum(first) - 1) * 32 + (tid & 31), int(first.sum()), warp[first]

    @cached_property
    def regular(self) -> bool:
        """Whole warps only, in order: values reshape to warps."""
        return self.lanes is None and self.cols is None and self.space.threads % 32 == 0

    @property
    def slot(self) -> Array:
        return self._warp_layout[0]

    @property
    def row_warps(self) -> int:
        return self.space.warps if self.regular else self._warp_layout[1]

    @property
    def warp_ids(self) -> Array:
        """Warp in its CTA (rectangle) or cta * W + warp (list) of each warp in a row."""
        return self._warp_layout[2]

    @cached_property
    def warps(self) -> int:
        """Warps with an active lane."""
        if self.lanes is not None and self.space.threads % 32 == 0:
            warp = self.lanes >> 5
            return int(np.count_nonzero(warp[1:] != warp[:-1])) + 1
        return self.shape[0] * self.row_warps

    @cached_property
    def active(self) -> Array:
        """Shape (1, warps of a row, 32)."""
        out = np.zeros(self.row_warps * 32, bool)
        out[self.slot] = True
        return out.reshape(1, -1, 32)

    @cached_property
    def warp_of(self) -> Array:
        """Warp of each column, numbered from 0 on in a row; shape (K,)."""
        return self.lanes >> 5 if self.lanes is not None and self.space.threads % 32 == 0 else self.slot >> 5

    @cached_property
    def new_warp(self) -> Array:
        """Of each column but the first: its left neighbour is in another warp. Shape (1, K - 1)."""
        return (self.warp_of[1:] != self.warp_of[:-1])[None]

    def get(self, value: Array) -> Array:
        """From the layout of the chunk to this group's."""
        if self.full:
            return value
        rows, cols = value.shape
        if self.lanes is None:
            if self.rows is not None and rows > 1:
                value = value[self.rows]
            if self.cols is not None and cols > 1:
                value = value[:, self.col_slice]
            return value
        if cols > 1:
            return value[0].take(self.tid) if rows == 1 else value.reshape(-1).take(self.lanes)[None]
        return value if rows == 1 else value[:, 0].take(self.cta)

    def put(self, old: Array, owned: bool, value: Array) -> Array:
        """The chunk's register `old` with this group's lanes replaced. `owned`: `old` may be changed in place."""
        rows, cols = self.space.ctas, self.space.threads
        if self.lanes is None:
            rows = 1 if self.rows is None and value.shape[0] == 1 and old.shape[0] == 1 else rows
            cols = 1 if self.cols is None and value.shape[1] == 1 and old.shape[1] == 1 else cols
        if not owned or old.shape != (rows, cols):
            old = np.array(np.broadcast_to(old, (rows, cols)), order="C")
        if self.lanes is not None:
            old.reshape(-1)[self.lanes] = value[0]
        elif self.rows is None:
            old[:, self.col_slice] = value
        elif self.cols is None:
            old[self.rows] = value
        else:
            old[self.rows[:, None], self.cols] = value
        return old

    def split(self, cond: Array) -> tuple[Group | None, Group | None]:
        """The lanes where `cond` (in this group's layout) is true, and the others; None for none."""
        if cond.all():
            return self, None
        if not cond.any():
            return None, self
        return self._part(cond), self._part(~cond)

    def only(self, cond: Array) -> Group | None:
        """The lanes where `cond` is true; None for none."""
        if cond.all():
            return self
        return self._part(cond) if cond.any() else None

    def _part(self, cond: Array) -> Group:
        part: Group
        if self.lanes is None and cond.shape[0] == 1:
            pos = np.flatnonzero(cond)
            part = Group(self.space, self.rows, self.tid[0][pos])
            part.kind = "cols"
        elif self.lanes is None and cond.shape[1] == 1:
            pos = np.flatnonzero(cond)
            part = Group(self.space, self.cta[:, 0][pos], self.cols)
            part.kind = "rows"
        else:
            pos = (cond if cond.shape == self.shape else np.broadcast_to(cond, self.shape)).ravel().nonzero()[0]
            part = Group(self.space, lanes=pos if self.full else self.flat[pos])
            part.kind = "flat"
        part.parent, part.pos = self, pos
        return part

    def pick(self, value: Array) -> Array:
        """From the parent's layout to this group's."""
        rows, cols = value.shape
        if self.kind == "cols":
            return value if cols == 1 else value[:, self.pos]
        if self.kind == "rows":
            return value if rows == 1 else value[self.pos]
        if cols > 1:
            assert self.parent is not None and self.pos is not None
            return value[0].take(self.pos % self.parent.shape[1])[None] if rows == 1 else value.reshape(-1).take(self.pos)[None]
        assert self.parent is not None and self.pos is not None
        return value if rows == 1 else value[:, 0].take(self.pos // self.parent.shape[1])[None]

    def spread(self, old: Array, value: Array) -> Array:
        """In the parent's layout: `old` with this group's lanes replaced."""
        assert self.parent is not None
        out = np.array(np.broadcast_to(old, self.parent.shape), order="C")
        if self.kind == "cols":
            out[:, self.pos] = value
        elif self.kind == "rows":
            out[self.pos] = value
        else:
            out.reshape(-1)[self.pos] = value[0]
        return out

    def to_warps(self, value: Array) -> Array:
        """Shape (rows, warps of a row, 32); lanes that are not active hold zero."""
        rows, cols = value.shape
        if self.regular:
            return np.broadcast_to(value[:, :, None], (rows, self.row_warps, 32)) if cols == 1 else value.reshape(rows, -1, 32)
        out = np.zeros((rows, self.row_warps * 32), value.dtype)
        out[:, self.slot] = value
        return out.reshape(rows, -1, 32)

    def from_warps(self, value: Array) -> Array:
        """Back from shape (rows, warps of a row, 32)."""
        flat = value.reshape(value.shape[0], -1)
        return flat if self.regular else flat[:, self.slot]

    def whole(self, value: Array) -> Array:
        """`value` for every lane, shape of the group."""
        return np.broadcast_to(value, self.shape)


def _as_slice(cols: Array | None) -> Any:
    if cols is not None and len(cols) and cols[-1] - cols[0] == len(cols) - 1:
        return slice(int(cols[0]), int(cols[-1]) + 1)
    return cols


def union(space: Space, groups: list[Group]) -> Group:
    """One group of all lanes of disjoint groups; the group they came from, where they make it up again."""
    groups = _rejoin(groups)
    if len(groups) == 1:
        return groups[0]
    mask = groups[0].mask.copy()
    for group in groups[1:]:
        mask |= group.mask
    return from_mask(space, mask)


def from_mask(space: Space, mask: Array) -> Group:
    """The group of the lanes in `mask`, shape (C * T,): a rectangle where it is one."""
    grid = mask.reshape(space.ctas, space.threads)
    rows, cols = grid.any(axis=1), grid.any(axis=0)
    if np.count_nonzero(mask) != np.count_nonzero(rows) * np.count_nonzero(cols):
        return Group(space, lanes=np.flatnonzero(mask))
    return Group(space, None if rows.all() else np.flatnonzero(rows), None if cols.all() else np.flatnonzero(cols))


def _rejoin(groups: list[Group]) -> list[Group]:
    """Parents instead of all their parts, as far as that goes."""
    left = {id(g): g for g in groups}
    parts: dict[int, list[Group]] = {}
    todo = list(groups)
    while todo:
        group = todo.pop()
        parent = group.parent
        if parent is None:
            continue
        have = parts.setdefault(id(parent), [])
        have.append(group)
        if sum(x.size for x in have) == parent.size:
            for x in have:
                del left[id(x)]
            left[id(parent)] = parent
            todo.append(parent)
    return list(left.values())
