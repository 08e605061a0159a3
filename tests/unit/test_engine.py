"""The engine: a server queues and never forgets, latency occupies nothing, irregularity is fixed."""

from __future__ import annotations

from collections.abc import Generator
from math import exp
from typing import Any

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from gpusim.engine.clock import start, until
from gpusim.engine.noise import noise, tail
from gpusim.engine.server import Server

GAPS_AND_AMOUNTS = st.lists(st.tuples(st.floats(0, 50), st.floats(0, 400)), min_size=1, max_size=40)


def test_an_idle_server_starts_at_once() -> None:
    server = Server(4.0)
    assert server.book(100.0, 20.0) == 105.0
    assert server.book(200.0, 4.0) == 201.0


def test_a_busy_server_serves_in_the_order_of_booking() -> None:
    server = Server(2.0)
    assert [server.book(0.0, amount) for amount in (10, 2, 4)] == [5.0, 6.0, 8.0]
    assert server.book(7.0, 2.0) == 9.0, "the queue is served before the newcomer"


@given(GAPS_AND_AMOUNTS)
def test_the_end_is_that_of_the_longest_busy_period(booked: list[tuple[float, float]]) -> None:
    """Whatever the arrivals: the last one ends when the work since some arrival j, done without a pause, ends; the latest j counts."""
    server, now, arrivals = Server(3.0), 0.0, []
    for gap, amount in booked:
        now += gap
        arrivals.append((now, amount))
        end = server.book(now, amount)
        assert end >= now + amount / 3.0 - 1e-9
    behind = [at + sum(amount for _, amount in arrivals[j:]) / 3.0 for j, (at, _) in enumerate(arrivals)]
    assert end == pytest.approx(max(behind), rel=1e-9)
    assert server.served == pytest.approx(sum(amount for _, amount in arrivals))
    assert server.busy == pytest.approx(server.served / 3.0)
    assert server.busy <= end + 1e-6


def test_nothing_takes_no_time() -> None:
    server = Server(1.0)
    assert server.book(5.0, 0.0) == 5.0
    assert server.busy == 0.0


def test_a_server_without_limit_never_queues() -> None:
    server = Server(float("inf"))
    assert [server.book(3.0, 1e9) for _ in range(3)] == [3.0, 3.0, 3.0]


def _stream(latency: float, requests: int = 50, window: int = 50) -> float:
    """When the last of `requests` of 8 bytes at 2 B/cycle is there; `window` may be under way."""
    env, server, arrived = simpy.Environment(), Server(2.0), []

    def one(turn: simpy.Event | None, done: simpy.Event) -> Generator[Any, Any, None]:
        if turn is not None:
            yield turn
        yield until(env, server.book(env.now, 8.0) + latency)
        arrived.append(env.now)
        done.succeed()

    ends = [env.event() for _ in range(requests)]
    for i in range(requests):
        start(env, one(ends[i - window] if i >= window else None, ends[i]))
    env.run()
    return max(arrived)


@pytest.mark.parametrize("latency", [0.0, 10.0, 1000.0])
def test_latency_does_not_eat_bandwidth(latency: float) -> None:
    assert _stream(latency) == 50 * 4.0 + latency


def test_latency_limits_what_waits_for_it() -> None:
    assert _stream(100.0, window=1) == 50 * (4.0 + 100.0)


def test_until_the_past_is_now() -> None:
    env = simpy.Environment(initial_time=10.0)
    seen = []

    def agent() -> Generator[Any, Any, None]:
        for t in (3.0, 12.0, 12.0, 11.0):
            yield until(env, t)
            seen.append(env.now)

    start(env, agent())
    env.run()
    assert seen == [10.0, 12.0, 12.0, 12.0]


NUMBERS = range(20_000)


@given(st.integers(0, 2**70))
def test_noise_lies_in_its_range(number: int) -> None:
    assert 0.0 <= noise(number) < 1.0
    assert 0.0 <= tail(number) < 25.0


def test_noise_is_evenly_spread() -> None:
    values = [noise(i) for i in NUMBERS]
    assert sum(values) / len(values) == pytest.approx(0.5, abs=0.01)
    bins = [sum(b <= 10 * v < b + 1 for v in values) for b in range(10)]
    assert min(bins) > 0.9 * len(values) / 10
    assert max(bins) < 1.1 * len(values) / 10


def test_neighbours_have_nothing_to_do_with_each_other() -> None:
    pairs = [(noise(i) - 0.5, noise(i + 1) - 0.5) for i in NUMBERS]
    assert abs(sum(a * b for a, b in pairs) / len(pairs)) < 0.02 / 12


def test_the_tail_is_exponential_with_mean_one() -> None:
    values = [tail(i) for i in NUMBERS]
    assert sum(values) / len(values) == pytest.approx(1.0, abs=0.02)
    for x in (0.5, 1.0, 3.0):
        assert sum(v > x for v in values) / len(values) == pytest.approx(exp(-x), abs=0.01)


def test_noise_is_the_same_for_ever() -> None:
    """Digests rest on it, so the first values are written down."""
    assert [round(noise(i), 6) for i in range(4)] == [0.789072, 0.422642, 0.916768, 0.592725]
