"""Atomics on shared memory that are loops: read a word, compute, swap if the word is still what was read.

In a round one lane of a warp gets through in each bank, whichever words of it the others want, and only if no other warp has changed the
word since the round's read. Source: micro.json smem/shared_atomic red.add.f32: as many rounds of 95 cycles as lanes fall into one bank, and
2 more for each further word that a read wants of a bank; 46 cycles from one change of a word to the next where all warps want it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusim.lower.simt.code import Instr

if TYPE_CHECKING:
    from gpusim.trace.simt import Touch

BANKS = 32
READ, SWAP, END = "LDS", "ATOMS.CAST.SPIN", "BSYNC"


class Spin:
    """The loop a warp is in. waiting: words of the lanes that are not through; changed: of the CTA, word -> when it was changed last;
    read: when this round read."""

    __slots__ = ("waiting", "changed", "read")

    def __init__(self, changed: dict[int, float]) -> None:
        self.waiting: list[int] = []
        self.changed = changed
        self.read = 0.0

    def start(self, touch: Touch) -> int:
        """A round begins; returns the wavefronts of its read: most different words in one bank."""
        if not self.waiting:
            self.waiting = list(touch.words)
        banks = Counter(word % BANKS for word in set(self.waiting))
        return max(banks.values(), default=1)

    def swap(self, t: float) -> None:
        """The swap of this round, which changes words at t."""
        left: list[int] = []
        through: set[int] = set()
        for word in self.waiting:
            bank = word % BANKS
            if bank in through or self.changed.get(word, -1.0) > self.read:
                left.append(word)
            else:
                through.add(bank)
                self.changed[word] = t
        self.waiting = left


def restarts(instrs: Sequence[Instr]) -> dict[int, int]:
    """Of a block: place of the end of each such loop -> place where its next round begins."""
    found: dict[int, int] = {}
    first = None
    for place, instr in enumerate(instrs):
        if instr.op == SWAP:
            first = next(p for p in range(place, -1, -1) if instrs[p].op == READ and instrs[p].access == instr.access)
        elif instr.op == END and first is not None:
            found[place], first = first, None
    return found
