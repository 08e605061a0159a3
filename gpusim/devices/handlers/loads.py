"""Global memory towards the SM: asynchronous copies to shared memory, loads to registers, and waiting for them."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import LG, LONG, Cta, Executor, Handler
from gpusim.devices.handlers.instructions import instructions
from gpusim.engine.noise import noise
from gpusim.parts.coalesce import WARP_LANES, Touched


def copy(x: Executor, cta: Cta, e: fx.Copy, site: int, j: int) -> None:
    """Copies go out through the L1 tag stage, lanes that an edge masks too; the warps are held while more of them wait for
    it than its queue takes, and go on without the data."""
    if j + e.ahead >= len(x.stream.steps):
        instructions(x, cta, e.among.count, e.among.slots, e.among.wide)
        return
    key, touched = _tile(x, cta, site, j + e.ahead)
    x.load_sectors += touched.sectors
    uneven = 1.0 + x.jitter * (2.0 * noise(cta.number << 20 | j << 4 | site) - 1.0)
    lines = max(touched.lines, touched.instructions * WARP_LANES * e.piece / x.machine.line)
    passed = cta.sm.l1.book(cta.t, lines * uneven)
    cta.spend(LG, passed - x.machine.copy_queue / x.machine.l1_line_rate)
    instructions(x, cta, e.among.count, e.among.slots, e.among.wide)
    x.instructions += touched.instructions
    if touched.unique:
        landed = _fetch(x, cta, key, touched.unique, touched.sectors, passed, x.machine.cp_async_latency)
        cta.landing = max(cta.landing, landed)


def load(x: Executor, cta: Cta, e: fx.Load, site: int, j: int) -> None:
    """A part takes its share of the tile."""
    (key, touched), n = _tile(x, cta, site, j), e.parts
    x.load_sectors += touched.sectors / n
    passed = cta.sm.l1.book(cta.t, touched.lines / n)
    instructions(x, cta, touched.instructions / x.warps / n)
    cta.spend(LG, passed)
    if touched.unique:
        part = key + e.part * fx.MOST_PARTS // n
        cta.loaded = max(cta.loaded, _fetch(x, cta, part, touched.unique / n, touched.sectors / n, passed, 0.0))


def _tile(x: Executor, cta: Cta, site: int, j: int) -> tuple[int, Touched]:
    """(key, extent) of the site's tile at the j-th step that is run."""
    placed, k = cta.placed[site], x.stream.steps[j]
    return (placed.key + k * placed.stride) * fx.MOST_PARTS, placed.touched(k)


def _fetch(x: Executor, cta: Cta, key: int, nbytes: float, sectors: float, issued: float, extra: float) -> float:
    """When the tile is in the SM; how much of it was merged is noted with the CTA."""
    before = x.memory.merged_sectors
    landed = x.memory.fetch(cta.sm, key, nbytes, sectors, x.env.now, issued, extra)
    cta.merged += x.memory.merged_sectors - before
    return landed


def commit(x: Executor, cta: Cta, e: fx.Commit, site: int, j: int) -> None:
    cta.groups.append(cta.landing)


def wait_copies(x: Executor, cta: Cta, e: fx.WaitCopies, site: int, j: int) -> None:
    while len(cta.groups) > e.pending:
        cta.spend(LONG, cta.groups.popleft())


def wait_loads(x: Executor, cta: Cta, e: fx.WaitLoads, site: int, j: int) -> None:
    cta.spend(LONG, cta.loaded)


HANDLERS: dict[type, Handler] = {fx.Copy: copy, fx.Commit: commit, fx.WaitCopies: wait_copies, fx.Load: load, fx.WaitLoads: wait_loads}
