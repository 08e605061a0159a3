"""Matrix instructions of a product whose operands lie as `layout` says, per CTA."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.ir.types import DType
from gpusim.lower.matrix import LDMATRIX_PASSES, MMA_K_BYTES, MMA_M, MMA_N, SHARED_LOAD_PASSES, WGMMA_K_BYTES, WGMMA_N
from gpusim.lower.mixed.layout import Layout
from gpusim.spec.resolve import Machine


def product(m: int, n: int, k: int, of: DType, layout: Layout, registers: bool, machine: Machine) -> fx.Matrix:
    """[m, k] x [k, n] of operands `of`. registers: A is there already, and the columns of the result are divided among groups with equal rows."""
    if layout.kind == "wgmma":
        return _wgmma(n, k, of, layout, registers)
    return _mma_sync(m, n, k, of, layout, registers, machine)


def _wgmma(n: int, k: int, of: DType, layout: Layout, registers: bool) -> fx.Matrix:
    """Groups with equal rows multiply them all, in as many pieces of N as there are of them; from registers each takes its own columns."""
    copies, deep = layout.copies, WGMMA_K_BYTES // of.bytes
    whole = max(8, n // copies)
    piece = min(WGMMA_N, whole)
    pieces = -(-whole // piece) * (1 if registers else copies)
    count = layout.groups * layout.blocks * pieces * -(-k // deep)
    return fx.Matrix("wgmma", of.matrix, layout.unit, piece, deep, count, registers=registers)


def _mma_sync(m: int, n: int, k: int, of: DType, layout: Layout, registers: bool, machine: Machine) -> fx.Matrix:
    """Every warp loads all of B, and its rows of A where they are in shared memory."""
    deep = MMA_K_BYTES // of.bytes
    count = layout.copies * -(-m // MMA_M) * -(-n // MMA_N) * -(-k // deep)
    rows = 0 if registers else layout.blocks * MMA_M
    wavefronts = int(layout.warps * (n + rows) * k * of.bytes / machine.shared_rate)
    passes = LDMATRIX_PASSES if machine.mma_sync.ldmatrix else SHARED_LOAD_PASSES
    return fx.Matrix("mma.sync", of.matrix, MMA_M, MMA_N, deep, count, wavefronts, -(-wavefronts // (passes * layout.warps)), registers=registers)
