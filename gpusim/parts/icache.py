"""The instruction buffer of a sub-core: the lines of code it ran last."""

from __future__ import annotations

from collections.abc import Sequence


class InstructionCache:
    """`capacity` lines under LRU. `spans[b]`: first line of code block b and the line behind its last. Code that fits as a whole always hits
    after its first pass, so it is not followed at all.

    Only a jump waits for its line: what follows in sequence is fetched ahead.
    """

    __slots__ = ("capacity", "spans", "lines", "latest")

    def __init__(self, capacity: int, spans: Sequence[tuple[int, int]]) -> None:
        self.capacity = capacity
        self.spans = spans
        self.lines: dict[int, None] = {}
        self.latest = -1

    def enter(self, block: int) -> bool:
        """Whether the first line of `block` is there; all its lines are afterwards."""
        if block == self.latest:
            return True
        self.latest = block
        lines = self.lines
        first, behind = self.spans[block]
        hit = first in lines
        for line in range(first, behind):
            lines.pop(line, None)
            lines[line] = None
        for line in list(lines)[: len(lines) - self.capacity] if len(lines) > self.capacity else ():
            del lines[line]
        return hit


def spans_of(lengths: Sequence[int], per_line: int) -> list[tuple[int, int]]:
    """First line and the line behind the last, for blocks of so many instructions that lie one behind the other."""
    out = []
    at = 0
    for length in lengths:
        out.append((at // per_line, -(-(at + max(length, 1)) // per_line)))
        at += length
    return out
