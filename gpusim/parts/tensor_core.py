"""Cycles of matrix instructions on the tensor cores of one SM. Pure."""

from __future__ import annotations

from gpusim.spec.resolve import Machine


def wgmma_cycles(machine: Machine, fmt: str, m: int, n: int, k: int) -> float:
    """One warpgroup instruction with both operands in shared memory: its multiply-adds, or reading its operands."""
    unit = machine.wgmma
    assert unit is not None
    return max(m * n * k / unit.fma_per_cycle[fmt], unit.operand_base + unit.operand_per_n * n)


def mma_sync_cycles(machine: Machine, fmt: str, m: int, n: int, k: int) -> float:
    """One warp instruction, as its share of the four tensor cores of the SM."""
    return m * n * k / machine.mma_sync.fma_per_cycle[fmt]
