"""Matrix instructions on the tensor cores of the SM, and waiting for them."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import GMMA, MATH, Cta, Executor, Handler
from gpusim.devices.handlers.instructions import instructions
from gpusim.parts.tensor_core import mma_sync_cycles, wgmma_cycles


def multiply(x: Executor, cta: Cta, e: fx.Matrix, site: int, j: int) -> None:
    x.tensor_fma += e.count * e.m * e.n * e.k
    if e.kind == "wgmma":
        _wgmma(x, cta, e)
    else:
        _mma_sync(x, cta, e)


def _wgmma(x: Executor, cta: Cta, e: fx.Matrix) -> None:
    """Asynchronous; issue waits while the SM's queue of matrix instructions is full."""
    unit = x.machine.wgmma
    assert unit is not None
    each = wgmma_cycles(x.machine, e.fmt, e.m, e.n, e.k)
    end = cta.sm.tensor.book(cta.t, e.count * each)
    x.wavefronts += e.count * (unit.operand_base + unit.operand_per_n * e.n)
    cta.matrix.append(end + unit.latency)
    instructions(x, cta, e.among)
    cta.spend(MATH, end - unit.queue * each)


def _mma_sync(x: Executor, cta: Cta, e: fx.Matrix) -> None:
    """Operands come from shared memory while earlier instructions multiply: a pipeline as slow as its slower part."""
    unit, m = x.machine.mma_sync, x.machine
    each = mma_sync_cycles(m, e.fmt, e.m, e.n, e.k)
    x.wavefronts += e.wavefronts
    begun = cta.t
    operands = cta.sm.shared.book(begun, e.wavefronts)
    end = max(operands, cta.sm.tensor.book(begun, e.count * each))
    cta.matrix.append(end + m.shared_latency + unit.latency)
    instructions(x, cta, e.loads + e.count / x.warps, chain=0.0)


def wait_matrix(x: Executor, cta: Cta, e: fx.WaitMatrix, site: int, j: int) -> None:
    while len(cta.matrix) > e.pending:
        cta.spend(GMMA, cta.matrix.popleft())


HANDLERS: dict[type, Handler] = {fx.Matrix: multiply, fx.WaitMatrix: wait_matrix}
