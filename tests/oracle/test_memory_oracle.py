"""Tiles through the simulator's memory, against a model that moves every line by itself.

Patterns on which the two should agree: what is shared by SMs of one GPC is left out, because the second model merges no requests.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache
from typing import Any

import pytest
import simpy

from gpusim.devices.memory import Memory
from gpusim.parts.sm import Gpc, Sm
from gpusim.spec.resolve import Machine
from tests.laws.specs import gpc_rates, quiet_machine
from tests.oracle.lines import LINE, Lines, Numbers, Seen, Tile

#: lines of a tile: 8 KB
TILE = 64
MACHINE = quiet_machine()
SMS = MACHINE.sms
GPC_OF = tuple(gpc for gpc, size in enumerate(MACHINE.gpc_sms) for _ in range(size))

Wanted = tuple[tuple[Tile, ...], ...]


def _distinct(sms: int, tiles: int) -> Wanted:
    return tuple(tuple((sm * tiles + i, TILE) for i in range(tiles)) for sm in range(sms))


#: pattern -> (what each SM loads, tiles under way per SM)
PATTERNS: dict[str, tuple[Wanted, int]] = {
    "one SM, one tile at a time": (_distinct(1, 24), 1),
    "one SM, four under way": (_distinct(1, 48), 4),
    "one SM, what it has read before": ((tuple((i % 8, TILE) for i in range(48)),), 2),
    "all SMs, one tile at a time": (_distinct(SMS, 12), 1),
    "all SMs, four under way": (_distinct(SMS, 16), 4),
    "one SM of each GPC, the same tiles": (tuple(tuple((i, TILE) for i in range(24)) if sm in (0, 4, 8, 10) else () for sm in range(SMS)), 2),
    "half of the SMs stream, the others read their own again": (
        tuple(tuple((sm * 100 + (i if sm % 2 else i % 2), TILE) for i in range(20)) for sm in range(SMS)),
        2,
    ),
}


def _numbers(m: Machine) -> Numbers:
    return Numbers(GPC_OF, m.gpc_half, m.fill_rate, gpc_rates(m), m.l2_read_rate, m.dram_rate, m.l2_latency, m.far_latency, m.dram_latency)


def _simulated(m: Machine, wanted: Sequence[Sequence[Tile]], window: int) -> Seen:
    """The simulator's own servers, driven by agents that do nothing but load."""
    env, memory, seen = simpy.Environment(), Memory(m, "cold"), Seen([], 0, 0.0)
    gpcs = [Gpc(half, rate) for half, rate in zip(m.gpc_half, gpc_rates(m), strict=True)]
    sms = [Sm(i, gpcs[gpc], m) for i, gpc in enumerate(GPC_OF)]

    def tile(sm: Sm, number: int, lines: int, slots: simpy.Resource) -> Generator[Any, Any, None]:
        with slots.request() as turn:
            yield turn
            asked = env.now
            yield env.timeout(memory.fetch(sm, number, lines * LINE, lines * LINE // 32, asked, asked, 0.0) - asked)
            seen.latencies.append(env.now - asked)
            seen.end = env.now

    for sm, tiles in zip(sms, wanted, strict=False):
        slots = simpy.Resource(env, window)
        for number, lines in tiles:
            env.process(tile(sm, number, lines, slots))
    env.run()
    seen.dram_bytes = int(memory.dram_read)
    return seen


#: latency of the way to the other half -> how well the two agree. The simulator adds it behind a whole tile; line by line, what
#: comes from the near half uses the time.
AGREEMENT = {0.0: 0.06, 100.0: 0.13}


@cache
def _both(pattern: str, far: float = 0.0) -> tuple[Seen, Seen]:
    wanted, window = PATTERNS[pattern]
    machine = quiet_machine(far_latency=far)
    return _simulated(machine, wanted, window), Lines(_numbers(machine)).run(wanted, window)


def _mean(seen: Seen) -> float:
    return sum(seen.latencies) / len(seen.latencies)


@pytest.mark.parametrize("far", AGREEMENT)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_time_and_mean_latency(pattern: str, far: float) -> None:
    """Booking every hop when a tile is asked for, against queueing for every hop on arrival."""
    ours, theirs = _both(pattern, far)
    assert len(ours.latencies) == len(theirs.latencies)
    assert ours.end == pytest.approx(theirs.end, rel=AGREEMENT[far])
    assert _mean(ours) == pytest.approx(_mean(theirs), rel=AGREEMENT[far])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_bytes_from_dram(pattern: str) -> None:
    ours, theirs = _both(pattern)
    assert ours.dram_bytes == theirs.dram_bytes


def test_the_patterns_are_limited_by_different_things() -> None:
    """Else they would show the same thing several times: latency, the port of an SM, DRAM."""
    size = TILE * LINE
    alone, deep, again = (_both(name)[1] for name in list(PATTERNS)[:3])
    assert alone.end > 3 * 24 * size / MACHINE.fill_rate
    assert deep.end < 1.4 * 48 * size / MACHINE.fill_rate
    assert again.dram_bytes == 8 * size
    everyone = _both("all SMs, four under way")[1]
    assert everyone.end < 1.2 * SMS * 16 * size / MACHINE.dram_rate
