"""What a SIMT run tells about its source: raw sums per line and access, and the passes of the warps that were timed. No formulas."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LineCost:
    """Of all CTAs of the launch: `instructions` of warps and `thread_instructions` (their active lanes, summed) that `line` causes;
    `stalls`: warp-cycles by reason that warps spent on its instructions ("selected": issuing), scaled from the timed SMs."""

    line: int
    instructions: int
    thread_instructions: int
    stalls: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AccessCost:
    """One place that touches memory, all CTAs. `least_sectors`, `least_wavefronts`: what the same lanes would need side by side."""

    line: int
    kind: str
    space: str
    buffer: str
    bytes: int
    requests: int
    sectors: int
    least_sectors: int
    wavefronts: int
    least_wavefronts: int


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """A code block: the lines its instructions come from, and whether warps that took different ways meet again there."""

    id: int
    line: int
    lines: tuple[int, ...]
    joins: bool
    instructions: int


@dataclass(frozen=True, slots=True)
class Pass:
    """A warp runs a block once: [start, end) in cycles of its SM, `mask`: active lanes as 32 bits."""

    start: float
    end: float
    block: int
    mask: int


@dataclass(frozen=True, slots=True)
class Track:
    """The life of one timed warp. `cta` is the linear number in the grid, `warp` the number in the CTA."""

    sm: int
    cta: int
    warp: int
    subcore: int
    passes: tuple[Pass, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """`source[0]` is line `first_line` of `file`. `same_address`: most lanes of one atomic instruction on one address, by line (timed CTAs).
    `tracks` is empty unless the run was asked for a timeline."""

    file: str
    first_line: int
    source: tuple[str, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lines: tuple[LineCost, ...]
    accesses: tuple[AccessCost, ...]
    blocks: tuple[BlockPlace, ...]
    same_address: dict[int, int] = field(default_factory=dict)
    tracks: tuple[Track, ...] = field(default=(), repr=False)
