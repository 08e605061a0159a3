"""Servers are booked in the order of time: a booking ahead of time would hold up requests that come before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpusim.devices.gpu import Gpu
from gpusim.engine.server import Server
from gpusim.launch import run as launch
from tests.laws.cases import Case
from tests.laws.closed import Gemm

#: one CTA an SM; several; without a pipeline; narrow; on the FMA pipes
LAUNCHES = {
    "one a SM": Case("h200", Gemm(2048, 2048, 1024, (128, 128, 64), "bf16", "padded")),
    "several a SM": Case("h200", Gemm(1500, 1500, 1000, (64, 64, 32), "bf16", "padded")),
    "serial": Case("a100", Gemm(1024, 1024, 1024, (128, 128, 32), "fp16", "padded"), stages=1),
    "narrow": Case("h200", Gemm(700, 701, 801, (128, 128, 64), "bf16", "packed")),
    "fp32": Case("a100", Gemm(700, 701, 500, (64, 64, 32), "fp32", "padded")),
}
PER_SM = ("tensor", "shared", "fill", "store")
PER_CHIP = ("read", "write", "dram")
#: a store books its way into L2 when its instructions have issued, which other CTAs may do earlier: cycles
GRANTED = {"write": 500.0}


class _Watch:
    """Remembers when each server of a launch was last booked, and every booking that came too late for its turn."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.last: dict[int, float] = {}
        self.bookings: dict[str, int] = {}
        self.late: list[tuple[str, float]] = []

    def wired(self, gpu: Gpu) -> None:
        self.names = {id(getattr(sm, name)): name for sm in gpu.sms for name in PER_SM}
        self.names |= {id(getattr(gpu.memory, name)): name for name in PER_CHIP}
        self.names |= {id(gpc.port): "port" for gpc in gpu.gpcs}

    def booked(self, server: Server, now: float) -> None:
        name, before = self.names.get(id(server)), self.last.get(id(server), 0.0)
        if name is not None:
            self.bookings[name] = self.bookings.get(name, 0) + 1
            self.last[id(server)] = max(before, now)
            if now < before - GRANTED.get(name, 1e-6):
                self.late.append((name, before - now))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Watch]:
    watching, book, wire = _Watch(), Server.book, Gpu.__init__

    def watched_book(self: Server, now: float, amount: float) -> float:
        watching.booked(self, now)
        return book(self, now, amount)

    def watched_wire(self: Gpu, *args: Any, **kwargs: Any) -> None:
        wire(self, *args, **kwargs)
        watching.wired(self)

    monkeypatch.setattr(Server, "book", watched_book)
    monkeypatch.setattr(Gpu, "__init__", watched_wire)
    assert launch.Gpu is Gpu
    yield watching


@pytest.mark.parametrize("name", LAUNCHES)
def test_what_ctas_share_is_booked_in_the_order_of_time(name: str, watch: _Watch) -> None:
    LAUNCHES[name].run(exact=True)
    assert watch.bookings["fill"] > 100 and watch.bookings["dram"] > 100
    assert watch.late == []
