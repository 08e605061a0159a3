"""mbarriers: phases that count arrivals and bytes, and lanes that wait for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt import noting, recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Piece, Site, constant
from gpusim.interp.simt.copies import Copies
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import Launch
from gpusim.interp.simt.state import at
from gpusim.ir.simt.nodes import Reg
from gpusim.trace.asynchronous import BarrierTouch

Array = Any
#: arrivals of a phase at most (PTX ISA, mbarrier.init)
MOST_ARRIVALS = (1 << 20) - 1
BYTES = 8


class Mbarriers(Copies):
    """count: arrivals of a phase (0: no mbarrier there); pending: of them still missing; owed: bytes expected that have not landed; phase: phases
    that are complete. Each of shape (C, places of 8 bytes in a CTA's shared memory)."""

    def __init__(self, launch: Launch, ctas: Array) -> None:
        super().__init__(launch, ctas)
        self.tables: dict[str, Array] = {}
        self.signals = 0
        self.seen: dict[tuple[int, int, int], int] = {}

    def barrier_table(self, name: str) -> Array:
        if name not in self.tables:
            self.tables[name] = np.zeros((self.space.ctas, self.shared.shape[1] // BYTES), np.int64)
        return self.tables[name]

    def barrier_place(self, site: Site, g: Group, buffer: Any, index: Array) -> tuple[Array, tuple[Array, Array]]:
        """(number of the mbarrier in g's layout, (row, number) of each lane)."""
        element = self.shared_place(site, g, buffer, index, 1)
        rows = np.broadcast_to(g.cta, g.shape).ravel()
        return element, (rows, np.broadcast_to(element, g.shape).ravel())

    def made(self, site: Site, g: Group, spot: tuple[Array, Array], buffer: Any) -> None:
        """Error for what is no mbarrier yet."""
        missing = self.barrier_table("count")[spot] == 0
        if missing.any():
            self.barrier_error(
                site, g, missing, spot, buffer, "is used before anybody has made it an mbarrier,", "Call mbarrier.init, then cuda.syncthreads()."
            )

    def barrier_error(self, site: Site, g: Group, bad: Array, spot: tuple[Array, Array], buffer: Any, what: str, hint: str) -> None:
        place = int(np.flatnonzero(bad)[0])
        cta, tid, _ = self.where(g, bad.reshape(g.shape))
        number = int(spot[1][place]) - buffer.offset // BYTES
        self.fail(site.line, f"{buffer.name}[{number}] {what}", self.lane_name(cta, tid), hint)

    def mbarrier_init(self, site: Site, g: Group, index: Array, arrivals: Array) -> None:
        element, spot = self.barrier_place(site, g, site.stmt.buffer, index)
        count = g.whole(arrivals.astype(np.int64)).ravel()
        bad = (count < 1) | (count > MOST_ARRIVALS)
        if bad.any():
            what = f"gets {int(count[bad][0])} arrivals a phase; an mbarrier has 1 to {MOST_ARRIVALS},"
            self.barrier_error(site, g, bad, spot, site.stmt.buffer, what, "Give the number of threads that arrive.")
        for name, value in (("count", count), ("pending", count), ("owed", 0), ("phase", 0)):
            self.barrier_table(name)[spot] = value
        self.changes += 1
        self.note_barrier(site, g, element, arrivals)

    def mbarrier_arrive(self, site: Site, g: Group, index: Array, expected: Array) -> None:
        element, spot = self._expects(site, g, index, expected)
        np.subtract.at(self.barrier_table("pending"), spot, 1)
        bad = self.barrier_table("pending")[spot] < 0
        if bad.any():
            what = f"has {int(self.barrier_table('count')[spot][bad][0])} arrivals a phase, and one more arrives in it,"
            self.barrier_error(site, g, bad, spot, site.stmt.buffer, what, "Wait for the phase first, or make the mbarrier for more arrivals.")
        self._turn(spot)
        self.note_barrier(site, g, element, expected, total=True, arrive=True)

    def mbarrier_expect(self, site: Site, g: Group, index: Array, expected: Array) -> None:
        element, _ = self._expects(site, g, index, expected)
        self.note_barrier(site, g, element, expected, total=True)

    def _expects(self, site: Site, g: Group, index: Array, expected: Array) -> tuple[Array, tuple[Array, Array]]:
        element, spot = self.barrier_place(site, g, site.stmt.buffer, index)
        self.made(site, g, spot, site.stmt.buffer)
        owed = g.whole(expected.astype(np.int64)).ravel()
        bad = owed < 0
        if bad.any():
            self.barrier_error(site, g, bad, spot, site.stmt.buffer, f"is to expect {int(owed[bad][0])} bytes", "Give 0 or more.")
        np.add.at(self.barrier_table("owed"), spot, owed)
        self.changes += 1
        return element, spot

    def _turn(self, spot: tuple[Array, Array]) -> None:
        """Phases of which nothing is missing are complete; the next ones begin."""
        pending = self.barrier_table("pending")
        done = (pending[spot] == 0) & (self.barrier_table("owed")[spot] == 0)
        if done.any():
            which = tuple(np.unique(np.stack([spot[0][done], spot[1][done]]), axis=1))
            self.barrier_table("phase")[which] += 1
            pending[which] = self.barrier_table("count")[which]
            self.signals += 1

    def landed(self, spot: tuple[Array, Array], nbytes: Array) -> None:
        """So many bytes of bulk copies are there."""
        np.subtract.at(self.barrier_table("owed"), spot, nbytes)
        self._turn(spot)

    # waiting

    def value(self, g: Group, value: Any) -> Array:
        dtype = DTYPES[value.dtype]
        return self.fetch(g, value.id, dtype) if isinstance(value, Reg) else constant(value, dtype)

    def past_phase(self, piece: Piece, g: Group) -> tuple[Group | None, Group | None]:
        """(lanes whose phase is complete, those that must wait)."""
        site = piece.site
        assert site is not None
        stmt = site.stmt
        element, spot = self.barrier_place(site, g, stmt.buffer, self.value(g, stmt.index))
        self.made(site, g, spot, stmt.buffer)
        parity = g.whole(self.value(g, stmt.value).astype(np.int64))
        bad = (parity < 0) | (parity > 1)
        if bad.any():
            self.barrier_error(site, g, bad.ravel(), spot, stmt.buffer, "is waited for with a parity that is neither 0 nor 1", "Give 0 or 1.")
        phase = self.barrier_table("phase")[spot].reshape(g.shape)
        ready, rest = g.split(phase & 1 != parity)
        if ready is not None:
            self._go_on(site, ready, element if ready is g else ready.pick(element))
        return ready, rest

    def _go_on(self, site: Site, g: Group, element: Array) -> None:
        """What landed before the phase ended may be used now, and what others did before they arrived is seen."""
        spot = (np.broadcast_to(g.cta, g.shape).ravel(), np.broadcast_to(element, g.shape).ravel())
        self.land(set(zip(spot[0].tolist(), spot[1].tolist(), strict=True)) if self.flying else set())
        self.shadow.next_epoch(g)
        self.changes += 1
        if site.access >= 0:
            self.launch.counts.requests[site.access] += g.warps
        if len(self.record_rows):
            self._record_wait(site, g, element)

    def land(self, places: set[tuple[int, int]]) -> None:
        """Bulk copies that count at these mbarriers, in phases that are complete, stand in shared memory."""

    # recording

    def note_barrier(self, site: Site, g: Group, element: Array, amount: Array, total: bool = False, arrive: bool = False) -> None:
        """Count a request, and record it. total: the amounts of a warp's lanes add up; arrive: its lanes arrive."""
        if site.access < 0:
            return
        self.launch.counts.requests[site.access] += g.warps
        if len(self.record_rows):
            found = recording.recorded(self, g)
            amounts = noting.of_warps(g, found, np.broadcast_to(amount.astype(np.int64), g.shape))
            for n, (place, lanes, number) in enumerate(self._per_warp(site, g, element)):
                mine = amounts[n][found.active[n]]
                value = int(mine.sum()) if total else int(mine[0])
                noting.put(self, site, *place, BarrierTouch(site.access, lanes, (), 1, lanes if arrive else 0, barrier=number, amount=value))

    def _per_warp(self, site: Site, g: Group, element: Array) -> list[tuple[tuple[int, int], int, int]]:
        """((row, warp), active lanes, mbarrier) of each recorded warp of g."""
        found = recording.recorded(self, g)
        if not found.places:
            return []
        table = noting.of_warps(g, found, np.broadcast_to(element, g.shape))
        out = []
        for n, (place, lanes) in enumerate(zip(found.places, found.lanes, strict=True)):
            mine = table[n][found.active[n]]
            if (mine != mine[0]).any():
                self.fail(
                    site.line, "threads of one warp use different mbarriers in one statement, of which the timing knows nothing", "", "Let them take turns."
                )
            out.append((place, lanes, int(mine[0])))
        return out

    def _record_wait(self, site: Site, g: Group, element: Array) -> None:
        for (row, warp), lanes, number in self._per_warp(site, g, element):
            phase = int(self.barrier_table("phase")[row, number])
            key = (row, warp, number)
            noting.put(self, site, row, warp, BarrierTouch(site.access, lanes, (), 1, 1, barrier=number, amount=phase - self.seen.get(key, 0)))
            self.seen[key] = phase

    def waits_for(self, site: Site, g: Group) -> str:
        """What the first lane of g waits for."""
        index = self.place(site, g, self.value(g, site.stmt.index), site.stmt.buffer.shape[0] if site.stmt.buffer.shape else 1 << 20, 1)
        return f"a phase of mbarrier {site.stmt.buffer.name}[{int(at(index, (0, 0)))}]"
