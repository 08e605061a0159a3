"""Cycles of matrix instructions on the tensor cores of one SM. Pure."""

from __future__ import annotations

from gpusim.spec.device import MmaSync, Wgmma


def wgmma_cycles(unit: Wgmma, fmt: str, m: int, n: int, k: int) -> float:
    """One warpgroup instruction with both operands in shared memory: its multiply-adds, or reading its operands."""
    return max(m * n * k / unit.fma_per_cycle[fmt], unit.operand_base + unit.operand_per_n * n)


def mma_sync_cycles(unit: MmaSync, fmt: str, m: int, n: int, k: int) -> float:
    """One warp instruction, as its share of the four tensor cores of the SM."""
    return m * n * k / unit.fma_per_cycle[fmt]
