"""One half of the L2: which cells it holds (LRU), which are dirty. State only, no time.

A cell is (tile cell, home): the lines of one tile whose home is that half. A half holds cells whose home it is, and copies
of cells whose home is the other half.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class Cell:
    """A resident cell: its bytes, when its data are there (cycles), and how many of its bytes are dirty."""

    __slots__ = ("bytes", "ready", "dirty")

    def __init__(self, nbytes: float, ready: float, dirty: float) -> None:
        self.bytes, self.ready, self.dirty = nbytes, ready, dirty


class Half:
    """`capacity` bytes under one LRU order, of which at most `dirty_limit` may be dirty. `foreign` dirty bytes of an
    earlier kernel leave first, in step with what is allocated; `oldest` more of them when no place is empty any more."""

    __slots__ = ("capacity", "dirty_limit", "used", "dirty", "foreign", "foreign_share", "oldest", "cells", "written")

    def __init__(self, capacity: float, dirty_limit: float, foreign: float = 0.0, oldest: float = 0.0) -> None:
        self.capacity, self.dirty_limit, self.oldest = capacity, dirty_limit, oldest
        self.used = self.dirty = 0.0
        self.foreign = foreign
        self.foreign_share = foreign / capacity
        self.cells: OrderedDict[Any, Cell] = OrderedDict()
        self.written: OrderedDict[Any, float] = OrderedDict()

    def find(self, key: Any) -> Cell | None:
        """The cell, now most recently used; None if it is not here."""
        cell = self.cells.get(key)
        if cell is not None:
            self.cells.move_to_end(key)
        return cell

    def put(self, key: Any, nbytes: float, ready: float, dirty: bool = False) -> float:
        """Allocate `key`; the bytes that must be written back to DRAM to make room."""
        old = self.cells.pop(key, None)
        back, unsaved = 0.0, nbytes if dirty else 0.0
        if old is not None:
            self.used -= old.bytes
            self.dirty -= old.dirty
            self.written.pop(key, None)
            unsaved = max(unsaved, min(old.dirty, nbytes))
        self.cells[key] = Cell(nbytes, ready, unsaved)
        self.used += nbytes
        if self.foreign > 0.0:
            share = min(self.foreign, nbytes * self.foreign_share)
            self.foreign -= share
            back += share
        if unsaved:
            self.dirty += unsaved
            self.written[key] = unsaved
            back += self._clean()
        if self.oldest and self.used + self.oldest > self.capacity:
            left = max(0.0, self.capacity - self.used)
            back += self.oldest - left
            self.oldest = left
        while self.used > self.capacity:
            gone, cell = self.cells.popitem(last=False)
            self.used -= cell.bytes
            if cell.dirty:
                self.dirty -= cell.dirty
                self.written.pop(gone, None)
                back += cell.dirty
        return back

    def _clean(self) -> float:
        """Write the oldest dirty cells back until the dirty share is kept; they stay, clean."""
        back = 0.0
        while self.dirty + self.foreign > self.dirty_limit * (1.0 + 1e-9) and self.written:
            key, amount = self.written.popitem(last=False)
            self.cells[key].dirty = 0.0
            self.dirty -= amount
            back += amount
        return back
