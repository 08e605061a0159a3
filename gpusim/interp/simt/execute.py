"""Values of a SIMT kernel: run CTAs through the code, many warps at once, and count what the machine would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.cluster import by_clusters
from gpusim.interp.simt.compile import Compiled, compile_code
from gpusim.interp.simt.flow import Flow, analyse
from gpusim.interp.simt.launch import Launch, Watch, bind, parameters
from gpusim.interp.simt.locks import Locks, find_locks
from gpusim.interp.simt.machine import Machine
from gpusim.interp.simt.recording import finish
from gpusim.interp.simt.schedule import Scheduler
from gpusim.ir.simt.nodes import Atomic, Geometry, Print, SimtProgram
from gpusim.lower.simt.code import Code
from gpusim.trace.simt import Counts, CtaPath, Work

LANES = 1 << 16  # of a chunk: arrays of 256 KiB stay in the cache
MEMORY = 1 << 27  # bytes of shared or local memory that a chunk holds at most
SMALL = 1 << 13  # lanes of a launch below which nothing is gained by splitting it
RESIDENT = 1 << 19  # lanes that run side by side when CTAs may wait for each other


@dataclass(frozen=True)
class Executed:
    """counts: exact sums over the executed CTAs. paths: of the recorded CTAs. touched: distinct 32-byte sectors of each global buffer that were
    read or written; read and written: of each kind. addresses: byte address of each global buffer's first element, as in the paths' sector ids.
    work: how much each CTA did, if asked for."""

    counts: Counts
    paths: dict[int, CtaPath]
    printed: str
    notes: tuple[str, ...]
    touched: dict[str, int]
    read: dict[str, int]
    written: dict[str, int]
    addresses: dict[str, int]
    work: Work | None = None


@lru_cache(maxsize=64)
def _prepared(key: _ById) -> tuple[Compiled, Flow, Locks]:
    flow = analyse(key.code)
    return compile_code(key.code), flow, find_locks(key.code, flow.reach)


class _ById:
    """A Code as a key of the cache by identity: comparing whole programs costs more than compiling them."""

    def __init__(self, code: Code) -> None:
        self.code = code

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.code is self.code


def execute(
    code: Code,
    geometry: Geometry,
    arrays: Sequence[Any],
    *,
    ctas: Any = None,
    record: Sequence[int] = (),
    sanitize: bool = True,
    shared: int | None = None,
    written: Mapping[int, np.ndarray] | None = None,
    work: bool = False,
    watch: Watch | None = None,
    addresses: Mapping[int, int] | None = None,
    prints: bool = True,
) -> Executed:
    """Run the kernel; arrays among the arguments are changed in place.

    `ctas`: linear numbers of the CTAs to run (x fastest), all by default; of a cluster, all CTAs run. `record`: those of them whose paths are
    wanted. `shared`: dynamic shared memory in bytes (default: the geometry's). `written`: argument number -> bool array with shape and layout of the
    argument, True where it holds something; stores mark it. Other arrays hold something everywhere. `work`: note how much each CTA does.
    `watch`: is told of every access to global memory. `addresses`: argument number -> byte address of its first element (default: arrays
    stand behind each other). `prints`: count distinct sectors, which takes a byte for each sector of the arrays.
    Raises GpusimError for what a sanitizer finds.
    """
    program = code.program
    compiled, flow, locks = _prepared(_ById(code))
    dynamic = geometry.shared_bytes if shared is None else shared
    chosen = np.arange(geometry.ctas) if ctas is None else np.unique(np.asarray(ctas, np.int64))
    if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < geometry.ctas:
        raise GpusimError(f"CTA {chosen[-1]} is outside of a grid of {geometry.ctas}", where=program.name)
    launch = Launch(
        compiled,
        geometry,
        bind(program, arrays, written or {}, addresses, prints),
        {b.id: np.array(b.data, DTYPES[b.dtype]).ravel() for b in program.buffers if b.space == "const"},
        parameters(program, arrays),
        Counts.zero(len(code.blocks), len(code.accesses)),
        sanitize,
        _shared_bytes(program, dynamic),
        frozenset(int(c) for c in record),
        [] if work else None,
        locks,
        watch=watch,
    )
    with np.errstate(all="ignore"):
        for chunk in _chunks(chosen, launch, flow):
            machine = Machine(launch, chunk)
            Scheduler(machine, flow).run()
            machine.finish_work()
    return _result(launch)


def _shared_bytes(program: SimtProgram, dynamic: int) -> int:
    """Bytes of one CTA: static arrays, and the dynamic part behind them."""
    end = 0
    for buffer in program.buffers:
        if buffer.space == "shared":
            size = int(np.prod(buffer.shape)) * DTYPES[buffer.dtype].itemsize if buffer.shape is not None else dynamic
            end = max(end, buffer.offset + size)
    return end


def _chunks(ctas: Any, launch: Launch, flow: Flow) -> Iterator[Any]:
    """CTAs that run side by side, in order; those that are recorded apart from the others, where that saves time and the order of CTAs can not matter."""
    lanes = RESIDENT if flow.resident else LANES
    local = sum(int(np.prod(b.shape)) * DTYPES[b.dtype].itemsize for b in launch.program.buffers if b.space == "local" and b.shape)
    cta = max(launch.shared_bytes, local * launch.geometry.threads, 1)
    step = max(1, len(ctas) if flow.together else min(lanes // launch.geometry.threads, MEMORY // cta))
    if launch.geometry.cluster_ctas > 1:
        yield from by_clusters(launch.geometry, ctas, step)
        return
    small = len(ctas) * launch.geometry.threads <= SMALL
    pieces = [ctas]
    if not (small or flow.resident or any(isinstance(site.stmt, (Atomic, Print)) for site in launch.compiled.sites)):
        wanted = np.isin(ctas, list(launch.record))
        pieces = [ctas[wanted], ctas[~wanted]]
    for piece in pieces:
        for start in range(0, len(piece), step):
            yield piece[start : start + step]


def _result(launch: Launch) -> Executed:
    finish(launch.paths)
    arrays = {a.buffer.name: a for a in launch.arrays.values()}
    return Executed(
        launch.counts,
        launch.paths,
        "".join(launch.printed),
        tuple(launch.notes.values()),
        {name: a.count(a.read, a.written) for name, a in arrays.items()},
        {name: a.count(a.read) for name, a in arrays.items()},
        {name: a.count(a.written) for name, a in arrays.items()},
        {name: a.address for name, a in arrays.items()},
        None if launch.works is None else Work.joined(launch.works),
    )
