"""A second model of the way from DRAM to an SM: every line of 128 bytes is a process that queues at every hop when it gets there.

It shares no code with the simulator, and nothing with its method: no tile is looked up as a whole, nothing is booked ahead. It is
about a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

LINE = 128

#: a tile: number, and how many lines it has. Tiles with the same number are the same lines.
Tile = tuple[int, int]
Events = Generator[Any, Any, None]


@dataclass(frozen=True)
class Numbers:
    """Bytes and cycles. `gpc_of` and `half_of` give the GPC of an SM and the L2 half of a GPC."""

    gpc_of: tuple[int, ...]
    half_of: tuple[int, ...]
    fill: float
    gpc: tuple[float, ...]
    l2: float
    dram: float
    l2_latency: float
    far_latency: float
    dram_latency: float
    slices: int = 8
    channels: int = 8


@dataclass
class Seen:
    """Cycles from asking for a tile to its last byte, in order of arrival; bytes that DRAM gave; when the last tile came."""

    latencies: list[float]
    dram_bytes: int
    end: float


class Lines:
    """The chip: one queue each for DRAM channels, L2 slices, GPC ports and SM ports. Every half keeps every line it has seen."""

    def __init__(self, numbers: Numbers) -> None:
        n = self.numbers = numbers
        self.env = simpy.Environment()
        self.sm = [simpy.Resource(self.env) for _ in n.gpc_of]
        self.gpc = [simpy.Resource(self.env) for _ in n.half_of]
        self.slice = [simpy.Resource(self.env) for _ in range(n.slices)]
        self.channel = [simpy.Resource(self.env) for _ in range(n.channels)]
        self.copies: dict[tuple[int, tuple[int, int]], simpy.Event] = {}
        self.homes: dict[tuple[int, int], simpy.Event] = {}
        self.seen = Seen([], 0, 0.0)

    def run(self, wanted: Sequence[Sequence[Tile]], window: int) -> Seen:
        """SM i loads the tiles wanted[i] in order, `window` of them under way."""
        for sm, tiles in enumerate(wanted):
            slots = simpy.Resource(self.env, window)
            for tile in tiles:
                self.env.process(self._tile(sm, tile, slots))
        self.env.run()
        return self.seen

    def _tile(self, sm: int, tile: Tile, slots: simpy.Resource) -> Events:
        number, lines = tile
        with slots.request() as turn:
            yield turn
            asked = self.env.now
            yield self.env.all_of([self.env.process(self._line(sm, (number, i))) for i in range(lines)])
            self.seen.latencies.append(self.env.now - asked)
            self.seen.end = self.env.now

    def _line(self, sm: int, line: tuple[int, int]) -> Events:
        n, gpc = self.numbers, self.numbers.gpc_of[sm]
        near, home = n.half_of[gpc], line[1] % 2
        if (near, line) in self.copies:
            yield self.copies[near, line]
        else:
            there = self.copies[near, line] = self.env.event()
            yield self.env.timeout(n.far_latency if home != near else 0.0)
            yield from self._at_home(line)
            there.succeed()
        yield from self._through(self.slice[(line[0] * 7 + line[1]) % n.slices], n.l2 / n.slices)
        yield from self._through(self.gpc[gpc], n.gpc[gpc])
        yield from self._through(self.sm[sm], n.fill)
        yield self.env.timeout(n.l2_latency)

    def _at_home(self, line: tuple[int, int]) -> Events:
        """Until the line's home has it; the first who asks fetches it."""
        n = self.numbers
        if line in self.homes:
            yield self.homes[line]
            return
        fetched = self.homes[line] = self.env.event()
        yield from self._through(self.channel[(line[0] * 5 + line[1]) % n.channels], n.dram / n.channels)
        yield self.env.timeout(n.dram_latency)
        self.seen.dram_bytes += LINE
        fetched.succeed()

    def _through(self, server: simpy.Resource, rate: float) -> Events:
        with server.request() as turn:
            yield turn
            yield self.env.timeout(LINE / rate)
