"""Cycles of matrix instructions on the tensor cores of one SM. Pure."""

from __future__ import annotations

from gpusim.spec.resolve import Machine


def wgmma_cycles(machine: Machine, fmt: str, m: int, n: int, k: int, registers: bool = False) -> float:
    """One warpgroup instruction: its multiply-adds, or reading its operands from shared memory, A from registers if it says so."""
    unit = machine.wgmma
    assert unit is not None
    operands = unit.operand_per_n * n + (0.0 if registers else unit.operand_base)
    return max(product_cycles(machine, fmt, m, n, k), operands, unit.register_least if registers else 0.0)


def product_cycles(machine: Machine, fmt: str, m: int, n: int, k: int) -> float:
    """The multiply-adds of one warpgroup instruction alone."""
    assert machine.wgmma is not None
    return m * n * k / machine.wgmma.fma_per_cycle[fmt]


def mma_sync_cycles(machine: Machine, fmt: str, m: int, n: int, k: int) -> float:
    """One warp instruction, as its share of the four tensor cores of the SM."""
    return m * n * k / machine.mma_sync.fma_per_cycle[fmt]
