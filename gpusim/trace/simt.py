"""What the value pass of a SIMT kernel records for timing and for the report. No time in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(slots=True)
class Counts:
    """Exact sums over the CTAs that were executed. Index of the first two and of `arrivals`: code block; of the others: Access.

    arrivals: groups of lanes that came to the block, before those of one warp wait for each other there.
    requests: warp-level accesses (a warp with at least one active lane). sectors: distinct 32-byte sectors of each request, summed
    (global, local). lines: distinct 128-byte lines. wavefronts: passes through shared memory (1 + conflicts). partial: sectors of global
    stores that a request writes in part.
    """

    warps: np.ndarray
    lanes: np.ndarray
    requests: np.ndarray
    sectors: np.ndarray
    lines: np.ndarray
    wavefronts: np.ndarray
    arrivals: np.ndarray
    partial: np.ndarray

    @classmethod
    def zero(cls, blocks: int, accesses: int) -> Counts:
        b = [np.zeros(blocks, np.int64) for _ in range(3)]
        a = [np.zeros(accesses, np.int64) for _ in range(5)]
        return cls(b[0], b[1], a[0], a[1], a[2], a[3], b[2], a[4])

    def add(self, other: Counts, times: int = 1) -> None:
        for name in ("warps", "lanes", "requests", "sectors", "lines", "wavefronts", "arrivals", "partial"):
            getattr(self, name).__iadd__(getattr(other, name) * times)


@dataclass(frozen=True, slots=True)
class Work:
    """How much each CTA did. ctas: linear numbers; instructions: warp instructions of each; longest: those of its longest warp."""

    ctas: np.ndarray
    instructions: np.ndarray
    longest: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[Work]) -> Work:
        """All parts, by the numbers of the CTAs."""
        names = ("ctas", "instructions", "longest")
        ctas, instructions, longest = (np.concatenate([getattr(p, name) for p in parts] or [np.zeros(0, np.int64)]) for name in names)
        order = np.argsort(ctas, kind="stable")
        return cls(ctas[order], instructions[order], longest[order])


@dataclass(slots=True)
class Touch:
    """One access by one warp. `sectors`: ids of the distinct sectors (byte address // 32; global and local), () for shared memory.
    `wavefronts`: passes (shared), data passes of a load that hits L1. lanes: active ones. same: most lanes on one address (atomics).
    partial: sectors that a store writes in part. words: of a float atomic on shared memory, the word of each active lane."""

    access: int
    lanes: int
    sectors: tuple[int, ...] = ()
    wavefronts: int = 1
    same: int = 1
    partial: int = 0
    words: tuple[int, ...] = ()


@dataclass(slots=True)
class WarpPath:
    """`blocks[i]`: the i-th code block the warp ran, `masks[i]`: its active lanes as 32 bits, `touches[i]`: the accesses in it, in the
    order of the block's memory statements (one per statement, with lanes = 0 where no lane was active under the predicate)."""

    blocks: list[int] = field(default_factory=list)
    masks: list[int] = field(default_factory=list)
    touches: list[tuple[Touch, ...]] = field(default_factory=list)


@dataclass(slots=True)
class CtaPath:
    """cta: linear number (x fastest). warps: one path per warp."""

    cta: int
    warps: list[WarpPath]
