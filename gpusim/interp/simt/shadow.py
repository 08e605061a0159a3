"""Who touched which cell of shared memory since the last barrier: finds races and reads of what nothing wrote.

A cell is the smallest element of the CTA's shared arrays. Every cell keeps the key epoch * 64 + warp of its last write and last read
(63: several warps), -1 for never. The epoch of a CTA counts its barriers, so keys from before the last barrier are smaller than
epoch * 64. Two accesses race if they fall into one epoch, come from different warps, one writes, and they are not both atomic. Lanes of one
warp race only within one statement, where two lanes write different values to one cell.

While all CTAs of a chunk do the same, one row of cells stands for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.interp.simt.groups import Group, Space

Array = Any
MANY = 63


@dataclass
class Finding:
    """kind: "uninitialised", "race" or "flight" (an asynchronous copy is under way); `flags` in g's layout; `other`: site number of each
    lane's counterpart."""

    kind: str
    flags: Array
    other: Array
    other_key: Array
    verb: str = ""


class Shadow:
    def __init__(self, space: Space, cells: int) -> None:
        self.space, self.cells = space, cells
        self.rows = 1
        self.epochs = np.zeros(space.ctas, np.int32)
        self.uniform: int | None = 0
        self.tables: dict[str, Array] = {}
        self.in_flight = False

    def table(self, name: str) -> Array:
        """Keys ("write", "read", "atomic"), site numbers (with "_site"), or the last lane ("owner")."""
        if name not in self.tables:
            self.tables[name] = np.full(self.rows * self.cells, -1, np.int32)
        return self.tables[name]

    def next_epoch(self, g: Group | None, ctas: Array | None = None) -> None:
        """A barrier of all CTAs of the chunk (g is full over CTAs), or of the rows `ctas`."""
        if g is not None and g.lanes is None and g.rows is None and self.uniform is not None:
            self.uniform += 1
            return
        self._expand()
        self.epochs[ctas if ctas is not None else np.unique(g.cta) if g is not None else slice(None)] += 1

    def _expand(self) -> None:
        if self.uniform is not None:
            self.epochs[:] = self.uniform
            self.uniform = None
        if self.rows == 1 and self.space.ctas > 1:
            self.tables = {name: np.tile(t, self.space.ctas) for name, t in self.tables.items()}
        self.rows = self.space.ctas

    def _spot(self, g: Group, cell: Array) -> tuple[Array, Array, Array]:
        """(flat cells, own key, smallest key of this epoch), broadcast against each other."""
        if self.rows == 1 and self.uniform is not None and (self.space.ctas == 1 or (g.lanes is None and g.rows is None and cell.shape[0] == 1)):
            floor: Array = np.int32(self.uniform * 64)
            return cell, (g.tid >> 5).astype(np.int32) + floor, floor
        self._expand()
        floor = self.epochs[g.cta] * np.int32(64)
        return g.cta * self.cells + cell, (g.tid >> 5).astype(np.int32) + floor, floor

    def _clash(self, name: str, spot: Array, key: Array, floor: Array, verb: str) -> Finding | None:
        if name not in self.tables:
            return None
        there = self.tables[name].take(spot)
        bad = (there >= floor) & (there != key)
        if not bad.any():
            return None
        return Finding("race", bad, np.broadcast_to(self.table(name + "_site").take(spot), bad.shape), np.broadcast_to(there, bad.shape), verb)

    def load(self, g: Group, cell: Array, site: int) -> Finding | None:
        spot, key, floor = self._spot(g, cell)
        there = self.table("write").take(spot)
        found = self._early(spot, there)
        if found:
            return found
        bad = (there >= floor) & (there != key)
        if bad.any():
            return Finding("race", bad, np.broadcast_to(self.table("write_site").take(spot), bad.shape), np.broadcast_to(there, bad.shape), "wrote")
        found = self._clash("atomic", spot, key, floor, "changed (atomically)")
        self._mark("read", spot, key, floor, site)
        return found

    def _early(self, spot: Array, there: Array) -> Finding | None:
        if self.in_flight:
            flying = self.table("flight").take(spot) >= 0
            if flying.any():
                return Finding("flight", flying, self.table("flight").take(spot), there, "copies")
        never = there < 0
        return Finding("uninitialised", never, there, there) if never.any() else None

    def _mark(self, name: str, spot: Array, key: Array, floor: Array, site: int) -> None:
        """Enter one's key, or MANY where another warp's key of this epoch stands or arrives at the same time."""
        table = self.table(name)
        there = table.take(spot)
        new = np.where((there >= floor) & (there != key), floor + np.int32(MANY), key)
        spot = np.broadcast_to(spot, new.shape)
        table[spot] = new
        mixed = table.take(spot) != new
        if mixed.any():
            table[spot[mixed]] = np.broadcast_to(floor, new.shape)[mixed] + MANY
        self.table(name + "_site")[spot] = site

    def store(self, g: Group, cell: Array, site: int) -> tuple[Finding | None, Finding | None, Array | None]:
        """(certain race, race if the value differs from what stands there, lanes that share their cell with another lane)."""
        spot, key, floor = self._spot(g, cell)
        certain = self._clash("read", spot, key, floor, "read") or self._clash("atomic", spot, key, floor, "changed (atomically)")
        if self.in_flight and certain is None:
            flying = self.table("flight").take(spot) >= 0
            if flying.any():
                certain = Finding("flight", flying, self.table("flight").take(spot), spot, "copies")
        maybe = self._clash("write", spot, key, floor, "wrote")
        everywhere = np.broadcast_to(spot, np.broadcast_shapes(spot.shape, key.shape))
        owner = self.table("owner")
        me = np.broadcast_to(g.tid.astype(np.int32), everywhere.shape)
        owner[everywhere] = me
        double = owner.take(everywhere) != me
        self.table("write")[everywhere] = key
        self.table("write_site")[everywhere] = site
        return certain, maybe, double if double.any() else None

    def atomic(self, g: Group, cell: Array, site: int) -> Finding | None:
        spot, key, floor = self._spot(g, cell)
        found = self._early(spot, self.table("write").take(spot))
        found = found or self._clash("write", spot, key, floor, "wrote") or self._clash("read", spot, key, floor, "read")
        self._mark("atomic", spot, key, floor, site)
        return found

    def launch_copy(self, g: Group, cell: Array, site: int) -> Finding | None:
        """An asynchronous copy into the cells begins: a write whose time is not known until it is waited for."""
        spot, key, floor = self._spot(g, cell)
        found = self._clash("read", spot, key, floor, "read") or self._clash("write", spot, key, floor, "wrote")
        self.table("flight")[np.broadcast_to(spot, np.broadcast_shapes(spot.shape, key.shape))] = site
        self.in_flight = True
        return found

    def land_copy(self, g: Group, cell: Array, site: int) -> None:
        spot, key, _ = self._spot(g, cell)
        spot = np.broadcast_to(spot, np.broadcast_shapes(spot.shape, key.shape))
        self.table("flight")[spot] = -1
        self.table("write")[spot] = key
        self.table("write_site")[spot] = site

    def remote(self, rows: Array, cells: list[Array], how: str, site: int) -> Finding | None:
        """Lanes of other CTAs touch cells of the CTAs `rows`: how is "read", "write" or "atomic". They count as several warps of that CTA."""
        self._expand()
        floor = self.epochs[rows] * np.int32(64)
        key = floor + np.int32(MANY)
        clashes = {"read": ("write", "atomic"), "write": ("read", "atomic", "write"), "atomic": ("read", "write")}[how]
        for cell in cells:
            spot = rows * self.cells + cell
            found = self._early(spot, self.table("write").take(spot)) if how != "write" else None
            for name in clashes:
                found = found or self._clash(name, spot, key, floor, name)
            if found is not None:
                return found
            self.table(how)[spot] = key
            self.table(how + "_site")[spot] = site
        return None
