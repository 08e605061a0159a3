"""Least recently used, for many lines at once: exact to the grain of a step, in which any number of lines is used together."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # np.ndarray


class Lru:
    """Which of `span` lines are held. `capacity` lines at most; those not used since step `oldest` are gone.

    A line is one number: the step of its last use. How many lines were last used in each step tells which steps must go, so nothing is searched.
    """

    __slots__ = ("stamp", "count", "capacity", "now", "oldest", "held", "brought")

    def __init__(self, span: int, capacity: int) -> None:
        self.stamp = np.zeros(span, np.int32)
        self.count = np.zeros(1024, np.int64)
        self.capacity = capacity
        self.now, self.oldest = 0, 1
        self.held = self.brought = 0

    def holds(self, lines: Array) -> Array:
        """Which of the lines are held; bool, shape of `lines`."""
        return self.stamp[lines] >= self.oldest

    def use(self, lines: Array) -> Array:
        """Use distinct lines together, and bring those that are not held. Which of them were held; bool, shape of `lines`."""
        if not len(lines):
            return np.zeros(0, bool)
        self.now += 1
        if self.now >= len(self.count):
            self.count = np.concatenate([self.count, np.zeros(len(self.count), np.int64)])
        before = self.stamp[lines]
        here = before >= self.oldest
        kept = before[here]
        if len(kept):
            self.count[self.oldest : self.now] -= np.bincount(kept - self.oldest, minlength=self.now - self.oldest)
        self.stamp[lines] = self.now
        self.count[self.now] += len(lines)
        new = len(lines) - len(kept)
        self.held += new
        self.brought += new
        while self.held > self.capacity and self.oldest < self.now:
            self.held -= int(self.count[self.oldest])
            self.oldest += 1
        return here

    def forget(self) -> None:
        """Nothing is held any more, as after the use of more lines than fit."""
        self.oldest, self.held = self.now + 1, 0

    def drop(self, lines: Array) -> None:
        """Forget distinct lines, those that are held."""
        before = self.stamp[lines]
        here = before >= self.oldest
        if here.any():
            self.count[: self.now + 1] -= np.bincount(before[here], minlength=self.now + 1)
            self.held -= int(np.count_nonzero(here))
            self.stamp[lines[here]] = 0
