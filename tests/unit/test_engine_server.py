"""The engine: a server queues and never forgets, latency occupies nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.engine.clock import Agent, Clock
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
    """When the last of `requests` of 8 bytes at 2 B/cycle is there; `window` agents ask one after the other."""
    clock, server, arrived = Clock(), Server(2.0), []

    def agent(turns: int) -> Agent:
        for _ in range(turns):
            yield server.book(clock.now, 8.0) + latency
            arrived.append(clock.now)

    for _ in range(window):
        clock.start(agent(requests // window))
    clock.run()
    return max(arrived)


@pytest.mark.parametrize("latency", [0.0, 10.0, 1000.0])
def test_latency_does_not_eat_bandwidth(latency: float) -> None:
    assert _stream(latency) == 50 * 4.0 + latency


def test_latency_limits_what_waits_for_it() -> None:
    assert _stream(100.0, window=1) == 50 * (4.0 + 100.0)


def test_the_past_is_now() -> None:
    clock, seen = Clock(10.0), []

    def agent() -> Agent:
        for t in (3.0, 12.0, 12.0, 11.0):
            yield t
            seen.append(clock.now)

    clock.start(agent())
    clock.run()
    assert seen == [10.0, 12.0, 12.0, 12.0]


def test_agents_go_on_in_the_order_of_time_and_of_asking() -> None:
    clock, seen = Clock(), []

    def agent(name: str, *times: float) -> Agent:
        for t in times:
            yield t
            seen.append((clock.now, name))

    def parent() -> Agent:
        yield 2.0
        clock.start(agent("child", 4.0))
        yield 3.0
        seen.append((clock.now, "parent"))

    clock.start(agent("a", 1.0, 5.0))
    clock.start(agent("b", 1.0, 4.0))
    clock.start(parent())
    clock.run()
    assert seen == [(1.0, "a"), (1.0, "b"), (3.0, "parent"), (4.0, "b"), (4.0, "child"), (5.0, "a")]
