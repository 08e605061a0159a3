"""Rings of pointers in device memory that take no more memory than the part that is walked, and the launches that warm and walk them."""

from __future__ import annotations

import mmap
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import latency
from gpusim.launch.dealing import deal
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.loads import Load
from gpusim.launch.simt.run import Begun
from gpusim.launch.simt.state import MemoryState
from gpusim.parts.noc import offsets
from gpusim.probe.loops import begin
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import resolve
from gpusim.trace.profile import Track
from gpusim.trace.run import Run

#: bytes of a pointer
POINTER = 8
#: passes of a timed loop that are not measured: in the first one the loads before it are still on their way, the last one has no successor
SPARE = 2
#: the generator's multipliers and shift are those of splitmix64, cut to the bits of the ring
_ROUNDS = ((0x9E3779B97F4A7C15, 0x7F4A7C15), (0xD1B54A32D192ED03, 0x01234567), (0x94D049BB133111EB, 77))


@dataclass(frozen=True, slots=True)
class Ring:
    """`nodes` pointers, `stride` bytes apart, visited in random order or one after the other. jitter: each lies so many lines further at most."""

    nodes: int
    stride: int
    random: bool = True
    jitter: int = 0

    @property
    def nbytes(self) -> int:
        return self.nodes * self.stride

    def offsets(self, first: int, count: int) -> np.ndarray:
        """Byte offsets of `count` nodes from the `first` on, in the order of the walk: int64 of shape [count]."""
        at = (first + np.arange(count, dtype=np.uint64)) % np.uint64(self.nodes)
        node = scattered(at, self.nodes) if self.random else at
        extra = scattered(node, 1 << 32) % np.uint64(self.jitter) * np.uint64(128) if self.jitter else np.uint64(0)
        return (node * np.uint64(self.stride) + extra).astype(np.int64)


def scattered(index: np.ndarray, n: int) -> np.ndarray:
    """A permutation of 0 to n - 1 that looks random, at these places: uint64 of the same shape. What falls beyond n is permuted again."""
    bits = max(1, (n - 1).bit_length())
    mask, shift = np.uint64((1 << bits) - 1), np.uint64(max(1, (bits + 1) // 2))
    out = index.astype(np.uint64)
    todo = np.ones(out.shape, bool)
    while todo.any():
        x = out[todo]
        for factor, step in _ROUNDS:
            x = (x * np.uint64(factor) + np.uint64(step)) & mask
            x ^= x >> shift
        out[todo] = x
        todo[todo] = x >= np.uint64(n)
    return out


def memory(nbytes: int) -> np.ndarray:
    """Zeros, uint64 of `nbytes` bytes, of which only the pages that are written take memory: small pages, without a reservation."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        pages = mmap.mmap(-1, nbytes, flags=flags)
    except (OSError, OverflowError):
        raise GpusimError(f"no address space for a ring of {nbytes} bytes.", where="probe latency", hint="Probe smaller footprints.") from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, np.uint64)


class Chip:
    """Launches that follow each other on one chip: its L2 is kept, and so is the ring."""

    def __init__(self, spec: GpuSpec, ring: Ring, walked: int, l2: str = "cold") -> None:
        """walked: how many nodes the longest walk visits; 0: each node points to itself."""
        self.spec, self.ring = spec, ring
        self.state = MemoryState(spec, l2)
        self.words = memory(ring.nbytes + (ring.stride if ring.jitter else 0))
        offsets = ring.offsets(0, (walked or ring.nodes) + 1)
        self.words[offsets[:-1] // POINTER] = offsets[1 if walked else 0 :][: len(offsets) - 1].astype(np.uint64)
        self.start = int(offsets[0])

    def begin(self, kernel: Any, ctas: int, threads: int, *args: Any, shared: int = 0, **options: Any) -> Begun:
        """A launch of `kernel(ring, *args)`; numbers are 32 bits wide where that is enough."""
        values = tuple(np.int32(a) if isinstance(a, int) and abs(a) < 2**31 else a for a in args)
        geometry = Geometry((ctas, 1, 1), (threads, 1, 1), shared)
        return begin(kernel, geometry, (self.words, *values), self.spec, state=self.state, exact=True, **options)

    def sweep(self, step: int, *, sms: int = 1) -> None:
        """One SM reads a word of every `step` bytes of the ring, or `sms` of them read all of it. No more than the last `capacity` bytes: whatever
        L2 held before them is gone. How long it takes does not matter, so no SM is timed."""
        end = self.ring.nbytes // POINTER
        first = max(0, end - self.spec.l2.capacity * max(1, step // 128) // POINTER)
        sink = ArraySpec((2,), "uint64")
        if sms > 1:
            begun = self.begin(latency.touch_all, sms, latency.THREADS, first, end, sink)
        else:
            begun = self.begin(latency.touch, 1, latency.THREADS, first, end, step // POINTER, sink)
        begun.loads = ()
        begun.execute(values=False)

    def walk(self, load: str, warm: int, steps: int, *, threads: int = 32, shared: int = 0) -> float:
        """Cycles of a step: of `steps` behind `warm` ones, both rounded up to whole passes. threads, shared: what the CTA has; they decide how many
        CTAs an SM is prepared for, and with that how much it sets aside for shared memory."""
        passes = -(-steps // latency.STEPS)
        sink = ArraySpec((2,), "uint64")
        kernel, before = latency.chase(load), -(-warm // latency.STEPS)
        begun = self.begin(kernel, 1, threads, np.uint64(self.start), before, passes + SPARE, sink, shared=shared)
        begun.execute(values=False)
        return per_pass(begun.result(timeline=True).run, passes) / latency.STEPS

    def visits(self) -> list[list[float]]:
        """For the first SM of each TPC, cycles of a load of each node, which it has loaded before: shape [TPCs][nodes]."""
        machine = resolve(self.spec, self.spec.clocks.boost / 1e6)
        every, sink = machine.sms_per_tpc, ArraySpec((2,), "uint64")
        begun = self.begin(latency.visit, machine.sms, 1, self.ring.nodes, self.ring.stride, every, sink)
        begun.loads = tuple(Load(sm, (cta,), 1, 0) for cta, sm in enumerate(deal(machine, machine.sms, 1)) if cta % every == 0)
        begun.execute(values=False)
        profile = begun.result(timeline=True).run.profile
        tracks = sorted(profile.tracks if profile else (), key=lambda track: track.sm)
        return [_visited(track, self.ring.nodes) for track in tracks]


def _visited(track: Track, nodes: int) -> list[float]:
    often = Counter(p.block for p in track.passes)
    starts = [p.start for p in track.passes if often[p.block] == nodes * latency.VISITS]
    return [(starts[i + 2] - starts[i + 1]) / latency.LOADS_A_VISIT for i in range(0, len(starts), latency.VISITS)]


def far_word(spec: GpuSpec, state: MemoryState, words: np.ndarray) -> int:
    """Index of a word of `words` that is at home in the half of L2 that is not that of the SM that runs a launch of one CTA (in its own half if there is
    but one), in a slice that is as far as the median: where the measured word lay is not known."""
    machine = resolve(spec, spec.clocks.boost / 1e6)
    sm = deal(machine, 1, 1)[0]
    half = np.repeat(np.array(machine.gpc_half) % machine.halves, machine.gpc_sms)[sm]
    lines = (state.addresses((words,))[0] + np.arange(0, words.nbytes, machine.line)) // machine.line
    far = np.flatnonzero(state.cache.home(lines) != half)
    away = offsets(machine, sm)
    places = sorted(far.tolist() or range(len(lines)), key=lambda i: away(int(lines[i])))
    return places[len(places) // 2] * machine.line // words.itemsize


def per_pass(run: Run, passes: int) -> float:
    """Cycles from the begin of one pass of the last loop of the first warp to the begin of the next: mean over `passes`, the last ones that another
    follows. So it is what a clock read before and behind the loop would show, less the loop's end."""
    track = run.profile.tracks[0] if run.profile is not None and run.profile.tracks else None
    blocks = [p.block for p in track.passes] if track else []
    often = Counter(blocks)
    body = next((b for b in reversed(blocks) if often[b] >= passes + SPARE), None)
    if track is None or body is None:
        raise GpusimError(f"no loop of {passes + SPARE} passes was timed.", where=run.kernel, hint="Launch it with a timeline.")
    starts = [p.start for p in track.passes if p.block == body]
    return (starts[-1] - starts[-1 - passes]) / passes
