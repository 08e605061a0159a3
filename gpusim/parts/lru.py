"""Least recently used, for many lines at once: exact to the grain of a step, in which any number of lines is used together."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # np.ndarray

#: bits of an entry that are the caller's
FLAGS = 4
_FLAGGED = (1 << FLAGS) - 1
#: where more than so many steps are held for each line that is used again, the books of the steps are kept line by line
_SPARSE = 4


class Lru:
    """Which of `span` lines are held. `capacity` lines at most; those not used since step `oldest` are gone.

    A line is one number, its entry: the step of its last use, and behind it FLAGS bits that belong to the caller. How many lines were last used in
    each step tells which steps must go, so nothing is searched.
    """

    __slots__ = ("entries", "count", "capacity", "now", "oldest", "held", "brought")

    def __init__(self, span: int, capacity: int, entries: Array | None = None) -> None:
        """entries: zeros, int32 of shape [span]; tables that never use the same line may share them."""
        self.entries = np.zeros(span, np.int32) if entries is None else entries
        self.count = np.zeros(1024, np.int64)
        self.capacity = capacity
        self.now, self.oldest = 0, 1
        self.held = self.brought = 0

    def holds(self, lines: Array | slice) -> Array:
        """Which of the lines are held; bool, shape of `lines`."""
        return self.entries[lines] >= self.oldest << FLAGS

    def look(self, lines: Array) -> tuple[Array, Array, Array]:
        """(which are held, bool; their flags, uint8, 0 for others; their entries), each of the shape of `lines`."""
        entries = self.entries[lines]
        here = entries >= self.oldest << FLAGS
        return here, ((entries & _FLAGGED) * here).astype(np.uint8), entries

    def use(self, lines: Array) -> Array:
        """Use distinct lines together, and bring those that are not held. Which of them were held; bool, shape of `lines`."""
        here, _, entries = self.look(lines)
        self.put(lines, here, entries, 0)
        return here

    def put(self, lines: Array, here: Array, entries: Array, flags: Array | int) -> None:
        """Use distinct lines together, of which `look` just told `here` and `entries`. flags: what they have from now on."""
        if not len(lines):
            return
        self.now += 1
        if self.now >= len(self.count):
            self.count = np.concatenate([self.count, np.zeros(len(self.count), np.int64)])
        again = self._moved(here, entries)
        self.entries[lines] = np.add(flags, self.now << FLAGS, dtype=np.int32)
        self.count[self.now] += len(lines)
        new = len(lines) - again
        self.held += new
        self.brought += new
        while self.held > self.capacity and self.oldest < self.now:
            self.held -= int(self.count[self.oldest])
            self.oldest += 1

    def flag(self, lines: Array, entries: Array, flags: Array) -> None:
        """Other flags for lines of which `look` just told `entries`; they are not used by that."""
        self.entries[lines] = (entries & ~_FLAGGED) | flags

    def forget(self) -> None:
        """Nothing is held any more, as after the use of more lines than fit."""
        self.oldest, self.held = self.now + 1, 0

    def drop(self, lines: Array) -> None:
        """Forget distinct lines, those that are held."""
        here, _, entries = self.look(lines)
        if here.any():
            self.held -= self._moved(here, entries)
            self.entries[lines[here]] = 0

    def _moved(self, here: Array, entries: Array) -> int:
        """Those of the lines that are held are no longer of the step of their last use. How many these are."""
        kept = entries[here] >> FLAGS
        if not len(kept):
            return 0
        first, end = int(kept.min()), int(kept.max()) + 1
        if end - first > _SPARSE * len(kept):
            np.subtract.at(self.count, kept, 1)
        else:
            self.count[first:end] -= np.bincount(kept - first, minlength=end - first)
        return len(kept)
