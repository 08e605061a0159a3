"""What a timed SM finds in memory: the levels that the traffic pass found for its CTAs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.launch.simt.args import ArraySpec, np_dtype
from gpusim.launch.simt.walk import DRAM, NEAR, READS
from gpusim.lower.simt.code import Code
from gpusim.trace.simt import Counts, CtaPath

SECTOR = 32


@dataclass(frozen=True, slots=True)
class Footprint:
    """Of one buffer: distinct sectors that the launch reads, that it writes, and that it touches at all."""

    read: float
    written: float
    touched: float


def footprints(code: Code, counts: Counts, nbytes: Mapping[str, int]) -> dict[str, Footprint]:
    """Global buffer -> footprint, as far as counts tell: at most the buffer, at most what is requested. nbytes: size of each array."""
    asked: dict[str, list[int]] = {}
    for i, access in enumerate(code.accesses):
        if access.space == "global":
            row = asked.setdefault(access.buffer, [0, 0])
            row[0 if access.kind in READS else 1] += int(counts.sectors[i])
    most = {name: -(-nbytes.get(name, 0) // SECTOR) for name in asked}
    return {name: Footprint(min(most[name], r), min(most[name], w), min(most[name], r + w)) for name, (r, w) in asked.items()}


def array_bytes(code: Code, args: Sequence[object]) -> dict[str, int]:
    """Name of a global buffer -> bytes of its array."""
    out = {}
    for buffer in code.program.buffers:
        if buffer.space == "global" and buffer.arg is not None:
            array: Any = args[buffer.arg]
            out[buffer.name] = int(array.size) * (np_dtype(array.dtype).itemsize if isinstance(array, ArraySpec) else int(array.itemsize))
    return out


def loaded(code: Code, paths: Iterable[CtaPath]) -> dict[str, dict[int, None]]:
    """Global buffer -> the distinct sectors that the paths load, in the order of the paths."""
    out: dict[str, dict[int, None]] = {}
    readers = {i: a.buffer for i, a in enumerate(code.accesses) if a.space == "global" and a.kind in READS}
    for path in paths:
        for warp in path.warps:
            for touches in warp.touches:
                for touch in touches:
                    if touch.access in readers:
                        out.setdefault(readers[touch.access], {}).update(dict.fromkeys(touch.sectors))
    return out


def supposed_levels(code: Code, paths: Iterable[CtaPath]) -> dict[int, dict[int, list[int]]]:
    """CTA -> sector -> where it is found, if nobody has walked the launch's traffic: at first in DRAM behind either half, then near."""
    out: dict[int, dict[int, list[int]]] = {}
    for path in paths:
        out[path.cta] = {s: [DRAM + (s >> 3) % 2, NEAR] for sectors in loaded(code, [path]).values() for s in sectors}
    return out


def dram_sectors(asked: Mapping[int, Mapping[int, Sequence[int]]], ctas: Iterable[int]) -> int:
    """How often these CTAs ask for a sector that comes from DRAM."""
    return sum(level >= DRAM for cta in ctas for levels in asked[cta].values() for level in levels)


class Levels:
    """`where` for one timed SM: where the next request for a sector finds it. The last level of a sector stays. Sectors of copied paths are
    `apart` times a number away from those of their originals."""

    def __init__(self, asked: Mapping[int, Mapping[int, Sequence[int]]], paths: Iterable[CtaPath], apart: int) -> None:
        self.left: dict[int, list[int]] = {}
        for path in paths:
            turn, cta = divmod(path.cta, apart)
            shift = turn * apart
            for sector, levels in asked[cta].items():
                self.left.setdefault(sector + shift, []).extend(levels)
        for queue in self.left.values():
            queue.reverse()

    def where(self, sector: int) -> int:
        queue = self.left.get(sector)
        if not queue:
            return NEAR
        return queue.pop() if len(queue) > 1 else queue[0]
