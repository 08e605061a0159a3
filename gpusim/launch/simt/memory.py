"""What a timed SM finds in memory, as far as this model goes: a sector comes from DRAM the first time that anybody touches it, then from L2.

Only some SMs are timed. A sector that one of them touches first may have been brought by another SM before. Per buffer, the launch touches
at most as many distinct sectors as the buffer has, and as it requests; if all SMs together make more first touches than that, only
that share of them, every k-th, goes to DRAM. L2 is taken to hold whatever is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpusim.lower.simt.code import Code
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Counts, CtaPath

READS = ("load", "copy")
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


def warmed(prints: Mapping[str, Footprint], machine: Machine) -> dict[str, Footprint]:
    """The footprints that are left to DRAM where L2 holds the arrays already. Each half keeps what its SMs read, so one half's size counts."""
    total = SECTOR * sum(p.touched for p in prints.values())
    missing = max(0.0, 1.0 - machine.half_bytes / total) if total else 0.0
    return {name: Footprint(p.read * missing, p.written, p.touched) for name, p in prints.items()}


def array_bytes(code: Code, args: Sequence[object]) -> dict[str, int]:
    """Name of a global buffer -> bytes of its array."""
    out = {}
    for buffer in code.program.buffers:
        if buffer.space == "global" and buffer.arg is not None:
            array = args[buffer.arg]
            out[buffer.name] = int(array.size) * int(array.itemsize)  # type: ignore[attr-defined]
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


def first_shares(code: Code, paths: Iterable[CtaPath], prints: Mapping[str, Footprint], part: float) -> dict[str, float]:
    """Global buffer -> share of an SM's first loads that nobody made before. paths: whole CTAs; part: they over all CTAs of the launch."""
    return {name: min(1.0, prints[name].read * part / len(sectors)) for name, sectors in loaded(code, paths).items() if sectors}


def from_dram(code: Code, paths: Iterable[CtaPath], shares: Mapping[str, float]) -> frozenset[int]:
    """Sectors whose first load by the timed SM goes to DRAM."""
    return frozenset(s for name, sectors in loaded(code, paths).items() for s in every(list(sectors), shares.get(name, 1.0)))


def every(items: list[int], share: float) -> list[int]:
    """A regular pattern of `share` of the items."""
    return [item for i, item in enumerate(items) if int((i + 1) * share + 1e-9) > int(i * share + 1e-9)]


class FirstTouch:
    """`where` for one timed SM: "dram" for the first time a sector of `cold` is asked for, else "l2"."""

    def __init__(self, cold: frozenset[int]) -> None:
        self.left = set(cold)

    def where(self, sector: int) -> str:
        if sector in self.left:
            self.left.discard(sector)
            return "dram"
        return "l2"


def l1_bytes(machine: Machine, shared_per_cta: int, reserved: int, ctas_per_sm: int) -> int:
    """What the shared memory of the resident CTAs leaves of the SM's SRAM."""
    return max(0, machine.l1_bytes - (shared_per_cta + reserved) * ctas_per_sm)
