"""CTAs that take tile after tile: the copies of the next tile begin under the last steps of this one, and consumers may take turns.

A cluster's CTAs share copies: what one of them asks for reaches all.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import log2
from typing import TYPE_CHECKING

from gpusim import effects as fx
from gpusim.devices.cta import GMMA, NO_INSTRUCTION, Act, Cta, Executor
from gpusim.devices.stream import Placed
from gpusim.engine.noise import noise
from gpusim.parts.sm import Sm

if TYPE_CHECKING:
    from gpusim.devices.gpu import Gpu

#: bytes that tell the copy engine about an array
DESCRIPTOR = 128
#: cycles between two looks of a consumer at whether its last tile has left
LOOK = 20.0


class Tile(Cta):
    """A CTA at one of its tiles. `places`: those of this tile and, where they are known, of the following ones; `cluster`: its number."""

    __slots__ = ("places", "cluster")

    def __init__(self, number: int, sm: Sm, t: float, places: list[list[Placed]], cluster: int) -> None:
        super().__init__(number, sm, t, places[0])
        self.places, self.cluster = places, cluster


def engine_copy(x: Executor, e: fx.Copy, site: int) -> Act:
    """A copy engine takes the box; of a box that a cluster shares, every CTA asks for its share, and all receive all. Steps behind the last
    one are the first of the next tile."""
    bulk, steps, n = x.machine.bulk, x.stream.steps, len(x.stream.steps)
    assert bulk is not None
    flights: dict[tuple[int, int], tuple[float, int]] = {}

    def act(cta: Cta, j: int) -> None:
        assert isinstance(cta, Tile)
        tile, at = divmod(j + e.ahead, n)
        if tile >= len(cta.places):
            return
        k, placed = steps[at], cta.places[tile][site]
        touched = placed.touched(k)
        x.load_sectors += touched.sectors / e.multicast
        x.instructions += 1
        if not touched.unique:
            return
        key = (placed.key + k * placed.stride) * fx.MOST_PARTS
        now = x.clock.now
        done, joined = flights.get((cta.cluster, key), (0.0, 0))
        if joined:
            landed = max(done, cta.sm.fill.book(now, touched.unique))
        else:
            before = x.memory.merged_sectors
            landed = x.memory.fetch(cta.sm, key, touched.unique, touched.sectors, now, now, bulk.latency)
            cta.merged += x.memory.merged_sectors - before
        landed = max(landed, now + touched.unique / bulk.bytes_per_cycle)
        if joined + 1 < e.multicast:
            flights[cta.cluster, key] = (landed, joined + 1)
        elif joined:
            del flights[cta.cluster, key]
        cta.landing = max(cta.landing, landed)

    return act


def worker(gpu: Gpu, sm: Sm, numbers: Sequence[int]) -> Generator[float, None, None]:
    """One persistent CTA, which computes the tiles `numbers`. In a "grid" every tile belongs to a CTA
    of its own, which comes when the one before has ended."""
    x, made, clock, plan = gpu.executor, gpu.stream, gpu.clock, gpu.stream.pipeline
    assert plan is not None
    own = not plan.persistent
    yield gpu.machine.start_spread * noise(numbers[0] // plan.ctas_per_cluster)
    begun = clock.now
    yield begun + gpu.machine.cold_fetch
    yield from _set_up(gpu, sm)
    sm.resident += 1
    places = [[Placed(site, made.env(i), made.var, gpu.machine) for site in made.sites] for i in numbers]
    leaving: list[list[float]] = []
    previous: Tile | None = None
    for i, number in enumerate(numbers):
        known = places[i : i + 1] if own else places[i:]
        cta = Tile(number, sm, begun, known, number // plan.ctas_per_cluster)
        cta.spend(NO_INSTRUCTION, clock.now)
        if previous is None or own:
            yield from x.once(cta, x.prologue)
        else:
            cta.groups, cta.matrix, cta.landing = previous.groups, previous.matrix, previous.landing
            yield from x.once(cta, x.prologue[:1])
        if plan.roles == "ping-pong" and not own:
            while i > 1 and not leaving[i - 2]:
                yield clock.now + LOOK
            cta.spend(GMMA, clock.now)
        yield from x.loop(cta)
        if plan.roles == "ping-pong" and not own:
            leaving.append([])
            clock.start(_leave(gpu, cta, leaving[i]))
        else:
            yield from x.once(cta, x.epilogue)
            if cta.t > clock.now:
                yield cta.t
            gpu.finish(cta, cta.t)
        previous, begun = cta, cta.t
        if own and i + 1 < len(numbers):
            yield max(gpu.replace.book(clock.now, 1.0), clock.now + gpu.machine.cta_change)
    sm.resident -= 1


def _set_up(gpu: Gpu, sm: Sm) -> Generator[float, None, None]:
    """Before the first copy: the engine fetches what describes each array, which no cache holds where they begin empty; the barriers of a
    cluster's CTAs must be there before any of them copies to the others."""
    m, made, plan = gpu.machine, gpu.stream, gpu.stream.pipeline
    assert plan is not None
    now = gpu.clock.now
    numbers = {site.number for site in made.sites}
    ready = max(gpu.memory.fetch(sm, -1 - number, DESCRIPTOR, 0.0, now, now, 0.0) for number in numbers)
    if plan.ctas_per_cluster > 1 and m.clusters is not None:
        ready += m.clusters.barrier + m.clusters.barrier_level * log2(plan.ctas_per_cluster)
    yield ready


def _leave(gpu: Gpu, cta: Tile, ended: list[float]) -> Generator[float, None, None]:
    """The end of a tile while the other consumer multiplies the next one."""
    x = gpu.executor
    tail = Tile(cta.number, cta.sm, cta.t, cta.places, cta.cluster)
    tail.matrix.extend(cta.matrix)
    yield from x.once(tail, x.epilogue)
    if tail.t > gpu.clock.now:
        yield tail.t
    ended.append(tail.t)
    cta.life = [a + b for a, b in zip(cta.life, tail.life, strict=True)]
    gpu.finish(cta, tail.t)
