"""Lanes that wait for a phase of an mbarrier or for the other CTAs of their cluster, until somebody makes it come."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpusim.interp.simt.compile import Piece
from gpusim.interp.simt.groups import Group, union
from gpusim.interp.simt.machine import Machine
from gpusim.ir.simt.nodes import Barrier, Mbarrier

Key = tuple[int, int]  # block, piece of it


class Waits:
    def __init__(self, machine: Machine) -> None:
        self.m = machine
        self.held: dict[Key, list[Group]] = {}
        self.pieces: dict[Key, Piece] = {}
        self.seen = 0

    def concerns(self, piece: Piece) -> bool:
        """Whether lanes pass the end of this piece one by one, not all those of a CTA together."""
        stop = piece.barrier
        return isinstance(stop, Mbarrier) or isinstance(stop, Barrier) and stop.kind == "cluster.wait"

    def _split(self, piece: Piece, g: Group) -> tuple[Group | None, Group | None]:
        return self.m.past_phase(piece, g) if isinstance(piece.barrier, Mbarrier) else self.m.past_cluster(piece, g)

    def through(self, key: Key, piece: Piece, g: Group) -> Group | None:
        """The lanes of g that go on; the others are held."""
        ready, rest = self._split(piece, g)
        if rest is not None:
            self.pieces[key] = piece
            self.held.setdefault(key, []).append(rest)
        return ready

    def released(self) -> Iterator[tuple[Key, Group]]:
        """Lanes for which something changed, with where they go on."""
        if not self.held or self.m.signals == self.seen:
            return
        self.seen = self.m.signals
        for key in list(self.held):
            ready, rest = self._split(self.pieces[key], union(self.m.space, self.held.pop(key)))
            if rest is not None:
                self.held[key] = [rest]
            if ready is not None:
                yield (key[0], key[1] + 1), ready

    def check(self) -> None:
        """Error if some wait while nobody is left who could make come what they wait for."""
        if not self.held:
            return
        key = min(self.held)
        site, g = self.pieces[key].site, self.held[key][0]
        assert site is not None
        lane = self.m.lane_name(*self.m.where(g, np.ones((1, 1), bool))[:2])
        what = self.m.waits_for(site, g) if isinstance(site.stmt, Mbarrier) else "other threads of the cluster"
        hint = "Count arrivals and expected bytes, and the parity: 0 for the first phase." if isinstance(site.stmt, Mbarrier) else "All must arrive."
        self.m.fail(site.line, f"deadlock: waits for {what} that never comes, first waiting lane: {lane}", "", hint)
