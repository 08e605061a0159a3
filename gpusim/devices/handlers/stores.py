"""Shared memory, spilled registers, and global memory away from the SM."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import DRAIN, LG, LONG, SHORT, Cta, Executor, Handler
from gpusim.devices.handlers.instructions import instructions


def shared(x: Executor, cta: Cta, e: fx.Shared, site: int, j: int) -> None:
    x.wavefronts += e.wavefronts
    passed = cta.sm.shared.book(cta.t, e.wavefronts)
    instructions(x, cta, e.count)
    cta.spend(SHORT, passed + x.machine.shared_latency)


def local(x: Executor, cta: Cta, e: fx.Local, site: int, j: int) -> None:
    """Spilled registers: what does not fit L1 beside shared memory goes to L2 and back; stores are written through."""
    m, line = x.machine, x.machine.line
    loads, stores = e.loads * x.warps * line, e.stores * x.warps * line
    x.local_bytes += loads + stores
    room = max(0.0, m.l1_bytes - x.stream.shared_bytes)
    missing = loads if e.footprint > room else 0.0
    passed = cta.sm.l1.book(cta.t, (loads + stores) / line)
    instructions(x, cta, e.loads + e.stores)
    cta.spend(LG, passed)
    written = max(cta.sm.store.book(cta.t, stores), x.memory.write.book(cta.t, stores))
    cta.spend(LG, written)
    if missing:
        read = max(cta.sm.fill.book(cta.t, missing), x.memory.read.book(cta.t, missing))
        cta.spend(LONG, read + m.l2_latency)


def store(x: Executor, cta: Cta, e: fx.Store, site: int, j: int) -> None:
    placed = cta.placed[site]
    touched = placed.touched(0)
    x.store_sectors += touched.sectors
    cta.sm.l1.book(cta.t, touched.lines)
    instructions(x, cta, touched.instructions / x.warps)
    if touched.unique:
        cta.spend(DRAIN, x.memory.store(cta.sm, placed.key * fx.MOST_PARTS, touched.unique, touched.sectors, cta.t))


HANDLERS: dict[type, Handler] = {fx.Shared: shared, fx.Local: local, fx.Store: store}
