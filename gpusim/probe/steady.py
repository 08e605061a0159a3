"""Long launches in the time of short ones, and launches that follow others on one chip.

Once a stream has filled the L2, every further byte costs the same. So a launch that moves much more is not simulated whole: two shorter ones
are, which both reach that state, and what the longer one takes more tells what every further part takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import streams
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.state import MemoryState
from gpusim.probe.loops import begin, launched
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run

Extents = tuple[int, int, int]
#: bytes of one array that the longer of two launches moves at least: both of them move more than L2 holds, so that both keep as much dirty as they can
ENOUGH = 96 << 20
#: the same where loads and stores mix: DRAM's turnaround shows only when what L2 keeps dirty is little beside all that moves
MIXED = 240 << 20
#: waves of the longer launch at least, so that the first ones, whose requests all come at once, are behind in both; in a launch of so many times ENOUGH
#: they do not count
WAVES, AMPLE = 5, 1.5


def steady(time: Callable[[int], float], parts: int, lengths: tuple[int, int]) -> float:
    """The time of `parts` equal parts of a launch, one behind the other. Of more than the longer of `lengths`, only launches of these two lengths
    are simulated."""
    less, most = lengths
    if parts <= most:
        return time(parts)
    short, long = time(less), time(most)
    return long + (parts - most) * (long - short) / (most - less)


def before_part(l2: str, parts: int, all_parts: int) -> str:
    """What L2 holds before a launch of `parts` parts that stands for a longer one: of an array that is much larger than L2, an identical launch
    left the dirty lines of the end, which a shorter one does not reach."""
    return "foreign-dirty" if l2 == "warm" and parts < all_parts else l2


def two_lengths(each: int, grain: int = 1, size: int = ENOUGH) -> tuple[int, int]:
    """Two numbers of parts that each touch lines of `each` bytes, both whole waves of `grain` parts: the longer one about `size` bytes, the shorter
    one two thirds. WAVES waves are enough, and so are fewer that touch AMPLE times `size`."""
    wave = grain * each
    waves = max(min(WAVES, max(2, round(AMPLE * size / wave))), round(size / wave))
    return (waves - max(1, waves // 3)) * grain, waves * grain


@dataclass(frozen=True, slots=True)
class Chain:
    """Launches without values that follow each other on one chip, whose L2 is kept between them."""

    spec: GpuSpec
    state: MemoryState = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", MemoryState(self.spec))

    def run(self, kernel: Any, ctas: int, threads: int, args: Sequence[Any], **options: Any) -> Run:
        """A launch that is timed, its overhead in it."""
        return launched(self.spec, kernel, _line(ctas, threads), args, state=self.state, launch="in", **options)

    def before(self, kernel: Any, ctas: int, threads: int, args: Sequence[Any]) -> None:
        """A launch of which only what it leaves in L2 matters: no SM is timed."""
        begun = begin(kernel, _line(ctas, threads), args, self.spec, state=self.state)
        begun.loads = ()
        begun.execute(values=False)

    def touch(self, array: ArraySpec, ctas: int) -> None:
        """All SMs together read the array, 8-byte words, once."""
        self.before(streams.touch, ctas, 1024, (array, np.int32(array.size // 2), np.int32(0), ArraySpec((1,), "uint64")))


def _line(ctas: int, threads: int) -> Geometry:
    return Geometry((ctas, 1, 1), (threads, 1, 1), 0)
