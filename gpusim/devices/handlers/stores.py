"""Shared memory, spilled registers, and global memory away from the SM."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import DRAIN, LG, LONG, SHORT, Act, Cta, Executor, Handler
from gpusim.devices.handlers.instructions import paced


def shared(x: Executor, e: fx.Shared, site: int) -> Act:
    own, m = paced(x, e.count), x.machine
    latency, last = m.shared_latency, e.wavefronts / max(e.count, 1.0) * 128 / m.shared_rate

    def act(cta: Cta, j: int) -> None:
        x.wavefronts += e.wavefronts
        passed = cta.sm.shared.book(cta.t, e.wavefronts)
        own(cta)
        if e.arriving:
            cta.spend(LONG, cta.loaded)
            passed = max(passed, cta.loaded + last)
        cta.spend(SHORT, passed + latency)

    return act


def local(x: Executor, e: fx.Local, site: int) -> Act:
    """Spilled registers: what does not fit L1 beside shared memory goes to L2 and back; stores are written through."""
    m, line = x.machine, x.machine.line
    loads, stores = e.loads * x.warps * line, e.stores * x.warps * line
    own = paced(x, e.loads + e.stores)
    room = max(0.0, m.l1_bytes - x.stream.shared_bytes)
    missing = loads if e.footprint > room else 0.0

    def act(cta: Cta, j: int) -> None:
        x.local_bytes += loads + stores
        passed = cta.sm.l1.book(cta.t, (loads + stores) / line)
        own(cta)
        cta.spend(LG, passed)
        written = max(cta.sm.store.book(cta.t, stores), x.memory.write.book(cta.t, stores))
        cta.spend(LG, written)
        if missing:
            read = max(cta.sm.fill.book(cta.t, missing), x.memory.read.book(cta.t, missing))
            cta.spend(LONG, read + m.l2_latency)

    return act


def store(x: Executor, e: fx.Store, site: int) -> Act:
    def act(cta: Cta, j: int) -> None:
        placed = cta.placed[site]
        touched = placed.touched(0)
        x.store_sectors += touched.sectors
        cta.sm.l1.book(cta.t, touched.lines)
        paced(x, touched.instructions / x.warps)(cta)
        if touched.unique:
            sent = x.memory.store(cta.sm, placed.key * fx.MOST_PARTS, touched.unique, touched.sectors, cta.t)
            cta.spend(DRAIN, sent - e.behind * (sent - cta.t))

    return act


HANDLERS: dict[type, Handler] = {fx.Shared: shared, fx.Local: local, fx.Store: store}
