"""The constant caches of an SM: small, read only, behind them a second level that holds all of constant memory. Tags and no time."""

from __future__ import annotations

from collections.abc import Iterable


class ConstantCache:
    """`sets` x `ways` lines, LRU in each set. Line ids are byte addresses // bytes of a line."""

    __slots__ = ("ways", "sets")

    def __init__(self, lines: int, ways: int) -> None:
        """`lines` in sets of `ways` each, at most all of them."""
        self.ways = max(1, min(ways, lines))
        self.sets: list[dict[int, None]] = [{} for _ in range(lines // self.ways)]

    def misses(self, lines: Iterable[int]) -> int:
        """How many of the lines are not there; all are afterwards."""
        count, missing = len(self.sets), 0
        for line in lines:
            if not count:
                missing += 1
                continue
            tags = self.sets[line % count]
            if line in tags:
                del tags[line]
            else:
                missing += 1
                if len(tags) >= self.ways:
                    del tags[next(iter(tags))]
            tags[line] = None
        return missing
