"""Global memory towards the SM: asynchronous copies to shared memory, loads to registers, and waiting for them."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import LG, LONG, Act, Cta, Executor, Handler
from gpusim.devices.handlers.instructions import paced
from gpusim.devices.persistent import engine_copy
from gpusim.engine.noise import noise
from gpusim.parts.coalesce import WARP_LANES

#: keeps the drift of a CTA apart from other hashes of its number
DRIFT = 0xD81F7 << 40


def copy(x: Executor, e: fx.Copy, site: int) -> Act:
    """Copies go out through the L1 tag stage, lanes that an edge masks too; the warps are held while more of them wait for
    it than its queue takes, and go on without the data."""
    if e.engine:
        return engine_copy(x, e, site)
    m, steps, ahead, jitter = x.machine, x.stream.steps, e.ahead, 2.0 * x.jitter
    among = paced(x, e.among.count, e.among.slots, e.among.wide)
    lanes, held = WARP_LANES * e.piece / m.line, m.copy_queue / m.l1_line_rate
    extra, least = m.cp_async_latency, 1.0 - x.jitter

    def act(cta: Cta, j: int) -> None:
        at = j + ahead
        if at >= len(steps):
            among(cta)
            return
        k, placed = steps[at], cta.placed[site]
        touched = placed.touched(k)
        x.load_sectors += touched.sectors
        x.instructions += touched.instructions
        uneven = least + jitter * noise(cta.number << 20 | j << 4 | site)
        passed = cta.sm.l1.book(cta.t, max(touched.lines, touched.instructions * lanes) * uneven)
        cta.spend(LG, passed - held)
        among(cta)
        if touched.unique:
            landed = _fetch(x, cta, (placed.key + k * placed.stride) * fx.MOST_PARTS, touched.unique, touched.sectors, passed, extra, j)
            if landed > cta.landing:
                cta.landing = landed

    return act


def load(x: Executor, e: fx.Load, site: int) -> Act:
    """A part takes its share of the tile."""
    n, steps, offset = e.parts, x.stream.steps, e.part * fx.MOST_PARTS // e.parts

    def act(cta: Cta, j: int) -> None:
        k, placed = steps[j], cta.placed[site]
        touched = placed.touched(k)
        x.load_sectors += touched.sectors / n
        passed = cta.sm.l1.book(cta.t, touched.lines / n)
        paced(x, touched.instructions / x.warps / n)(cta)
        cta.spend(LG, passed)
        if touched.unique:
            key = (placed.key + k * placed.stride) * fx.MOST_PARTS + offset
            cta.loaded = max(cta.loaded, _fetch(x, cta, key, touched.unique / n, touched.sectors / n, passed, 0.0, j))

    return act


def _fetch(x: Executor, cta: Cta, key: int, nbytes: float, sectors: float, issued: float, extra: float, j: int) -> float:
    """When the tile is in the SM; how much of it was merged is noted with the CTA."""
    memory = x.memory
    before = memory.merged_sectors
    step = (cta.t - cta.marks[0]) / j if j > 0 and cta.sm.resident > 1 and _apart(x, cta, j) else 0.0
    landed = memory.fetch(cta.sm, key, nbytes, sectors, x.clock.now, issued, extra, step)
    cta.merged += memory.merged_sectors - before
    return landed


def _apart(x: Executor, cta: Cta, j: int) -> bool:
    """Whether a CTA that shares its SM has drifted away from those that read the same tiles. How warps of several CTAs take turns is not simulated, so the
    drift that it causes is a law: of CTAs whose slot has run k loop steps, one in 1 + k / merge_drift is still in step."""
    return noise(cta.number ^ DRIFT) * (1.0 + (cta.age + j * x.stretch) / x.machine.merge_drift) > 1.0


def commit(x: Executor, e: fx.Commit, site: int) -> Act:
    return lambda cta, j: cta.groups.append(cta.landing)


def wait_copies(x: Executor, e: fx.WaitCopies, site: int) -> Act:
    pending = e.pending

    def act(cta: Cta, j: int) -> None:
        while len(cta.groups) > pending:
            cta.spend(LONG, cta.groups.popleft())

    return act


def wait_loads(x: Executor, e: fx.WaitLoads, site: int) -> Act:
    return lambda cta, j: cta.spend(LONG, cta.loaded)


HANDLERS: dict[type, Handler] = {fx.Copy: copy, fx.Commit: commit, fx.WaitCopies: wait_copies, fx.Load: load, fx.WaitLoads: wait_loads}
