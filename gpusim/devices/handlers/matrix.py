"""Matrix instructions on the tensor cores of the SM, and waiting for them."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import GMMA, MATH, Act, Cta, Executor, Handler
from gpusim.devices.handlers.instructions import paced
from gpusim.parts.tensor_core import mma_sync_cycles, wgmma_cycles


def multiply(x: Executor, e: fx.Matrix, site: int) -> Act:
    return _wgmma(x, e) if e.kind == "wgmma" else _mma_sync(x, e)


def _wgmma(x: Executor, e: fx.Matrix) -> Act:
    """Asynchronous; issue waits while the SM's queue of matrix instructions is full."""
    unit = x.machine.wgmma
    assert unit is not None
    each = wgmma_cycles(x.machine, e.fmt, e.m, e.n, e.k)
    fma, busy, queued, latency = e.count * e.m * e.n * e.k, e.count * each, unit.queue * each, unit.latency
    passes = e.count * (unit.operand_base + unit.operand_per_n * e.n)
    among, times = paced(x, e.among), x.tensor_times

    def act(cta: Cta, j: int) -> None:
        x.tensor_fma += fma
        x.wavefronts += passes
        end = cta.sm.tensor.book(cta.t, busy)
        times[cta.sm.index] += (end - busy, end)
        cta.matrix.append(end + latency)
        among(cta)
        cta.spend(MATH, end - queued)

    return act


def _mma_sync(x: Executor, e: fx.Matrix) -> Act:
    """Operands come from shared memory while earlier instructions multiply: a pipeline as slow as its slower part."""
    unit, m = x.machine.mma_sync, x.machine
    fma, busy = e.count * e.m * e.n * e.k, e.count * mma_sync_cycles(m, e.fmt, e.m, e.n, e.k)
    own, times = paced(x, e.loads + e.count / x.warps, chain=0.0), x.tensor_times

    def act(cta: Cta, j: int) -> None:
        x.tensor_fma += fma
        x.wavefronts += e.wavefronts
        operands = cta.sm.shared.book(cta.t, e.wavefronts)
        end = max(operands, cta.sm.tensor.book(cta.t, busy))
        times[cta.sm.index] += (cta.t, end)
        cta.matrix.append(end + m.shared_latency + unit.latency)
        own(cta)

    return act


def wait_matrix(x: Executor, e: fx.WaitMatrix, site: int) -> Act:
    pending = e.pending

    def act(cta: Cta, j: int) -> None:
        while len(cta.matrix) > pending:
            cta.spend(GMMA, cta.matrix.popleft())

    return act


HANDLERS: dict[type, Handler] = {fx.Matrix: multiply, fx.WaitMatrix: wait_matrix}
