"""Shared memory of the CTAs of a chunk: values, bank conflicts, and the questions to the shadow."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from gpusim.interp.simt import atomics, counting, recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import Launch
from gpusim.interp.simt.memory_global import GlobalMemory, last_lane
from gpusim.interp.simt.shadow import MANY, Finding, Shadow
from gpusim.interp.simt.state import at
from gpusim.ir.simt.walk import counts_lanes

Array = Any
PATTERNS = 2048  # remembered at most, some KiB each


class SharedMemory(GlobalMemory):
    def __init__(self, launch: Launch, ctas: Array) -> None:
        super().__init__(launch, ctas)
        row = -(-launch.shared_bytes // 16) * 16
        self.shared = np.zeros((len(ctas), row), np.uint8)
        self.views: dict[str, Array] = {}
        sizes = [DTYPES[b.dtype].itemsize for b in launch.program.buffers if b.space == "shared"]
        self.grain = min(sizes, default=4)
        self.shadow = Shadow(self.space, row // self.grain)

    def view(self, dtype: str) -> Array:
        """Shared memory as elements of one type, shape (C, elements of a CTA)."""
        if dtype not in self.views:
            self.views[dtype] = self.shared.view(DTYPES[dtype])
        return self.views[dtype]

    def shared_place(self, site: Site, g: Group, buffer: Any, index: Array, n: int) -> Array:
        """Checked elements, counted from the begin of the CTA's shared memory."""
        item = DTYPES[buffer.dtype].itemsize
        room = math.prod(buffer.shape) if buffer.shape is not None else (self.launch.shared_bytes - buffer.offset) // item
        index = self.place(site, g, index, room, n) + buffer.offset // item
        if n > 1:
            self.aligned(site, g, index * item, n * item)
        return index

    def count_shared(self, site: Site, g: Group, byte: Array, width: int, atomic: bool = False) -> None:
        """`width` bytes a lane from byte address `byte` of the CTA's shared memory."""
        counts, a = self.launch.counts, site.access
        if a < 0:
            return
        counts.requests[a] += g.warps
        if byte.shape[1] == 1 and not atomic and width <= 8:
            waves, same = np.ones((1, g.row_warps), np.int64), None
        else:
            waves, same = self.waves(g, byte, width, atomic)
        counts.wavefronts[a] += int(waves.sum()) * (g.shape[0] if len(waves) == 1 else 1)
        if len(self.record_rows):
            spins = atomic and DTYPES[site.stmt.buffer.dtype].kind == "f" and site.stmt.op not in ("exch", "cas")
            recording.shared(self, site, g, waves, same, byte >> 2 if spins else None)

    def waves(self, g: Group, byte: Array, width: int, atomic: bool) -> tuple[Array, Array | None]:
        """(passes, most lanes on one address) per warp, shape (R or 1, warps of a row). Remembered for patterns that all CTAs share."""
        key = None
        if g.lanes is None and len(byte) == 1:
            key = (width, atomic, b"" if g.cols is None else g.cols.tobytes(), byte.tobytes())
            if key in self.launch.wavefronts and not (atomic and len(self.record_rows)):
                return self.launch.wavefronts[key]
        table = g.to_warps(byte).reshape(-1, 32)
        active = None if g.regular else np.broadcast_to(g.active, (len(byte), g.row_warps, 32)).reshape(-1, 32)
        waves = counting.atomic_passes(table >> 2, active) if atomic else counting.passes(table, active, width)
        same = counting.most_equal(table, active).reshape(len(byte), -1) if atomic and len(self.record_rows) else None
        result = (waves.reshape(len(byte), -1), same)
        if key is not None and not (atomic and len(self.record_rows)):
            if len(self.launch.wavefronts) >= PATTERNS:
                self.launch.wavefronts.clear()
            self.launch.wavefronts[key] = result
        return result

    def gather(self, view: Array, g: Group, index: Array) -> Array:
        """view[cta, index] in g's layout; a copy."""
        if g.lanes is None and g.rows is None and len(index) == 1:
            pattern = index[0]
            if len(pattern) == 1:
                return view[:, pattern[0] : pattern[0] + 1].copy()
            return view.take(pattern, axis=1)
        return view.reshape(-1).take(g.cta * view.shape[1] + index)

    def scatter(self, view: Array, g: Group, index: Array, value: Array) -> None:
        """view[cta, index] = value; of several lanes the last wins."""
        if g.lanes is None and g.rows is None and len(index) == 1:
            value = value[:, -1:] if value.shape[1] > index.shape[1] else value
            lo, hi = int(index[0, 0]), int(index[0, -1])
            run = hi - lo == index.shape[1] - 1 and (hi == lo or bool((index[0, 1:] - index[0, :-1] == 1).all()))
            view[:, slice(lo, hi + 1) if run else index[0]] = value
            return
        spot = g.cta * view.shape[1] + index
        view.reshape(-1)[spot] = np.broadcast_to(last_lane(value, spot), spot.shape)

    def load_shared(self, site: Site, g: Group, index: Array) -> list[Array]:
        buffer = site.stmt.buffer
        n, item = len(site.stmt.dst), DTYPES[buffer.dtype].itemsize
        element = self.shared_place(site, g, buffer, index, n)
        self.count_shared(site, g, element * item, n * item)
        if self.launch.sanitize:
            for cell in self.cells(element, item, n):
                self.report(site, g, self.shadow.load(g, cell, site.number), "reads", element, buffer)
        view = self.view(buffer.dtype)
        return [self.gather(view, g, element if j == 0 else element + j) for j in range(n)]

    def store_shared(self, site: Site, g: Group, index: Array, *values: Array) -> None:
        buffer = site.stmt.buffer
        n, item = len(values), DTYPES[buffer.dtype].itemsize
        element = self.shared_place(site, g, buffer, index, n)
        self.count_shared(site, g, element * item, n * item)
        view = self.view(buffer.dtype)
        for j, value in enumerate(values):
            spot = element if j == 0 else element + j
            double = self.ask_store(site, g, spot, value, view) if self.launch.sanitize else None
            self.scatter(view, g, spot, value)
            if double is not None:
                self.same_value(site, g, spot, value, view, double)
        self.changes += 1

    def ask_store(self, site: Site, g: Group, element: Array, value: Array, view: Array) -> Array | None:
        buffer, double = site.stmt.buffer, None
        for cell in self.cells(element, view.dtype.itemsize, 1):
            certain, maybe, double = self.shadow.store(g, cell, site.number)
            self.report(site, g, certain, "writes", element, buffer)
            if maybe is not None:
                maybe.flags = maybe.flags & _differ(self.gather(view, g, element), value)
                self.report(site, g, maybe if maybe.flags.any() else None, "writes", element, buffer)
        return double

    def same_value(self, site: Site, g: Group, element: Array, value: Array, view: Array, double: Array) -> None:
        """Lanes of one statement that share a cell must agree on its value."""
        bad = double & _differ(self.gather(view, g, element), value)
        if not bad.any():
            return
        cta, tid, pos = self.where(g, bad)
        buffer = site.stmt.buffer
        number = int(at(element, pos)) - buffer.offset // view.dtype.itemsize
        self.fail(
            site.line,
            f"shared-memory race: {buffer.name}[{number}] is written with different values by several threads in one statement, one of them",
            self.lane_name(cta, tid),
            "Let one thread write it, or use cuda.atomic.",
        )

    def atomic_shared(self, site: Site, g: Group, index: Array, *args: Array) -> tuple[Array] | None:
        buffer = site.stmt.buffer
        item = DTYPES[buffer.dtype].itemsize
        element = self.shared_place(site, g, buffer, index, 1)
        self.count_shared(site, g, element * item, item, atomic=not counts_lanes(site.stmt))
        if self.launch.sanitize:
            for cell in self.cells(element, item, 1):
                self.report(site, g, self.shadow.atomic(g, cell, site.number), "changes (atomically)", element, buffer)
        view = self.view(buffer.dtype)
        flat = np.broadcast_to(g.cta * view.shape[1] + element, g.shape).ravel()
        values = [np.ascontiguousarray(g.whole(a)).ravel() for a in args]
        old, changed = atomics.apply(site.stmt.op, view.reshape(-1), flat, values, site.stmt.dst is not None)
        self.changes += changed
        return None if old is None else (old.reshape(g.shape),)

    def cells(self, element: Array, item: int, n: int) -> list[Array]:
        """The shadow's cells of n consecutive elements."""
        per = item // self.grain
        first = element * per
        return [first if j == 0 else first + j for j in range(per * n)]

    def report(self, site: Site, g: Group, found: Finding | None, verb: str, element: Array, buffer: Any) -> None:
        if found is not None and not self.ordered(site, g, found, verb, buffer):
            self._report(site, g, found, verb, element, buffer)

    def ordered(self, site: Site, g: Group, found: Finding, verb: str, buffer: Any) -> bool:
        """A lock may stand between the two accesses of a race, or the load is the first guess of a compare-and-swap."""
        locks = self.launch.locks
        if found.kind != "race":
            return False
        guess = (found.verb.startswith("changed") and verb == "reads") or (found.verb == "read" and verb.startswith("changes"))
        if guess and buffer.id in locks.swapped:
            return True
        sites = self.launch.compiled.sites
        others = np.unique(np.broadcast_to(found.other, g.shape)[np.broadcast_to(found.flags, g.shape)])
        return locks.guarded[site.block] and all(locks.guarded[sites[int(o)].block] for o in others)

    def _report(self, site: Site, g: Group, found: Finding, verb: str, element: Array, buffer: Any) -> NoReturn:
        cta, tid, pos = self.where(g, found.flags)
        name = f"{buffer.name}[{int(at(element, pos)) - buffer.offset // DTYPES[buffer.dtype].itemsize}]"
        lane = self.lane_name(cta, tid)
        if found.kind == "uninitialised":
            self.fail(site.line, f"read of shared memory {name}, which nothing has written,", lane, "Write it first, in every thread's share.")
        other = self.launch.compiled.sites[int(np.broadcast_to(found.other, g.shape)[pos])]
        if found.kind == "flight":
            what = f"shared memory {name} is used while the asynchronous copy of line {other.line} may still be under way, "
            what += verb.replace("reads", "read").replace("writes", "written")
            self.fail(site.line, what, lane, "Wait for the copy first: cp_async_wait, or the mbarrier of a bulk copy.")
        warp = int(np.broadcast_to(found.other_key, g.shape)[pos]) & 63
        who = "several warps" if warp == MANY else f"warp {warp}"
        line = self.launch.source(other.line)
        what = f"shared-memory race: {who} {found.verb} {name} in line {other.line}{f' ({line})' if line else ''}, and without a barrier in between it is "
        what += {"reads": "read", "writes": "written"}.get(verb, "changed atomically")
        self.fail(site.line, what, lane, "Put cuda.syncthreads() between the two lines.")


def _differ(a: Array, b: Array) -> Array:
    """Values that are not the same, bit for bit as far as == tells; NaN equals NaN."""
    return ~((a == b) | ((a != a) & (b != b)))
