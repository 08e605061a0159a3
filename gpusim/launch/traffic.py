"""Traffic without time: the distinct tiles of every wave and step, walked through the L2 halves in order.

Used where the timing run is shortened: residency depends on what was really touched, so it is never extrapolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim import effects as fx
from gpusim.devices.stream import Placed, Stream
from gpusim.ir.expr import evaluate
from gpusim.launch.places import places
from gpusim.launch.places import slots as slots_of
from gpusim.launch.tally import grid_env
from gpusim.parts.l2 import Half
from gpusim.spec.resolve import Machine


@dataclass(slots=True)
class Traffic:
    """Bytes by level for the whole launch; `near_misses` bytes that the near halves did not have."""

    dram_read: float = 0.0
    dram_write: float = 0.0
    fabric: float = 0.0
    near_misses: float = 0.0
    dirty: float = 0.0


def walk(made: Stream, machine: Machine, slots_per_sm: int, l2: str, leftover: float = 0.0) -> Traffic:
    """The launch as waves of `slots_per_sm` CTAs on every SM, each dealt as a first wave is. l2: one of `protocol.L2_STATES`; leftover: see `empty`."""
    foreign = machine.dirty_bytes if l2 == "foreign-dirty" else 0.0
    walker = _Walker(machine, empty(machine, foreign=foreign, leftover=leftover), 1.0, {})
    if l2 == "warm":
        _walk(made, walker, slots_per_sm)
        walker.traffic = Traffic()
    return _walk(made, walker, slots_per_sm)


def left_behind(made: Stream, machine: Machine, slots_per_sm: int, scale: float = 1.0) -> list[Half]:
    """What the halves hold after the launch, for the run of an identical one behind it. scale: as in `shorten.Plan`, where `made` is shortened."""
    parts = {site: e.parts for e, site in made.body if isinstance(e, fx.Load)}
    walker = _Walker(machine, empty(machine, scale), scale, parts)
    _walk(made, walker, slots_per_sm)
    return walker.halves


def empty(machine: Machine, scale: float = 1.0, foreign: float = 0.0, leftover: float = 0.0) -> list[Half]:
    """Halves that hold nothing of the launch. scale: of the capacity; foreign: dirty bytes of an earlier kernel in each, at full capacity; leftover: more
    of them in all halves, which are the oldest."""
    oldest = leftover * scale / machine.halves
    return [Half(machine.half_bytes * scale, machine.dirty_bytes * scale, foreign * scale, oldest) for _ in range(machine.halves)]


def _walk(made: Stream, walker: _Walker, slots_per_sm: int) -> Traffic:
    machine = walker.machine
    half_of_sm = np.repeat(np.array(machine.gpc_half) % machine.halves, machine.gpc_sms)
    slots = slots_of(machine, slots_per_sm, made.pipeline)
    env, ctas = grid_env(made), made.ctas
    loads = sorted({s for e, s in made.body if isinstance(e, fx.Copy | fx.Load)})
    stores = sorted({s for e, s in made.epilogue if isinstance(e, fx.Store)})
    late = sorted({s for e, s in made.epilogue if isinstance(e, fx.Load)})
    keys = {s: _origins(made, s, env) for s in (*loads, *late, *stores)}
    cache: dict[tuple[int, int], Placed] = {}

    def distinct(site: int, first: int, last: int, half: np.ndarray) -> list[tuple[int, Placed]]:
        """(half, place) of the different tiles that the CTAs first..last of a wave touch, in the order of the CTAs."""
        pairs = np.stack([half, keys[site][first:last]])
        _, at = np.unique(pairs, axis=1, return_index=True)
        found = []
        for i in np.sort(at):
            number = first + int(i)
            tile = (site, int(keys[site][number]))
            if tile not in cache:
                cache[tile] = Placed(made.sites[site], made.env(number), made.var, machine)
            found.append((int(half[i]), cache[tile]))
        return found

    for first in range(0, ctas, slots):
        last = min(first + slots, ctas)
        near = half_of_sm[places(machine, last - first, slots_per_sm, made.pipeline)]
        tiles = [(s, *t) for s in loads for t in distinct(s, first, last, near)]
        for k in made.steps:
            for s, half, placed in tiles:
                walker.read(half, s, placed, k)
        for s in late:
            for half, placed in distinct(s, first, last, near):
                walker.read(half, s, placed, 0)
        for s in stores:
            for half, placed in distinct(s, first, last, near):
                walker.write(half, placed)
    walker.traffic.dirty = sum(h.dirty for h in walker.halves)
    return walker.traffic


def _origins(made: Stream, site: int, env: dict[str, np.ndarray]) -> np.ndarray:
    """A number per CTA that is equal exactly where the site's tile is."""
    at = [np.broadcast_to(evaluate(o, env | {made.var: 0}), (made.ctas,)) for o in made.sites[site].box.origin]
    code = at[0].astype(np.int64)
    for more in at[1:]:
        code = (code << 32) + more
    return code


class _Walker:
    """Keys are those of `devices/memory.py`. scale: of what the halves hold; stores are not shortened as loops are, so less of them counts.
    parts: of a site's tile that are asked for one after the other, where not 1."""

    def __init__(self, machine: Machine, halves: list[Half], scale: float, parts: dict[int, int]) -> None:
        self.machine, self.halves, self.traffic = machine, halves, Traffic()
        self.scale, self.parts = scale, parts

    def read(self, near: int, site: int, placed: Placed, k: int) -> None:
        nbytes, n = placed.touched(k).unique, self.parts.get(site, 1)
        if nbytes:
            key = (placed.key + k * placed.stride) * fx.MOST_PARTS
            for part in range(n):
                self._read(near, key + part * fx.MOST_PARTS // n, nbytes / n / self.machine.halves)

    def _read(self, near: int, key: int, part: float) -> None:
        t = self.traffic
        for home in range(self.machine.halves):
            cell = key * 2 + home
            if self.halves[near].find(cell) is not None:
                continue
            t.near_misses += part
            if home != near:
                t.fabric += part
            if home == near or self.halves[home].find(cell) is None:
                t.dram_read += part
                t.dram_write += self.halves[home].put(cell, part, 0.0)
            if home != near:
                t.dram_write += self.halves[near].put(cell, part, 0.0)

    def write(self, near: int, placed: Placed) -> None:
        part, key = placed.touched(0).unique * self.scale / self.machine.halves, placed.key * fx.MOST_PARTS
        for home in range(self.machine.halves):
            if home != near:
                self.traffic.fabric += part
                self.traffic.dram_write += self.halves[near].put(key * 2 + home, part, 0.0)
            self.traffic.dram_write += self.halves[home].put(key * 2 + home, part, 0.0, dirty=True)
