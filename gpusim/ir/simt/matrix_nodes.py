"""Statements of the matrix unit; `matrix.py` has the shapes."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.simt.values import Buffer, Reg, Value


@dataclass(frozen=True, slots=True)
class LdMatrix:
    """ldmatrix.xN (N = len(dst) = 1, 2, 4): lane l gives the element index of row l % 8 of 8x8 matrix l // 8; dst i holds, packed in a
    uint32, two 16-bit elements of matrix i (of its transpose with `trans`): row l // 4, columns 2 * (l % 4) and the next."""

    dst: tuple[Reg, ...]
    buffer: Buffer
    index: Value
    trans: bool
    line: int = 0


@dataclass(frozen=True, slots=True)
class Mma:
    """mma.sync: dst = a * b + c with the register layout of PTX; `matrix.py` lists shapes and formats. shape "m16n8k16"; fmt "bf16": that of a and b;
    sums: that of c and dst."""

    dst: tuple[Reg, ...]
    shape: str
    fmt: str
    a: tuple[Value, ...]
    b: tuple[Value, ...]
    c: tuple[Value, ...]
    line: int = 0
    sums: str = "fp32"


@dataclass(frozen=True, slots=True)
class Wgmma:
    """wgmma.mma_async of a warpgroup, m64 x n x 32 bytes: dst = a * b + c, n // 2 registers each with the layout of PTX.

    b, and a if `left` is not None: rows of 128 bytes in shared memory from element `at` (`start`) on, both K-major with the 128-byte swizzle: bits 4 to 6
    of a byte's address are those of its place in the tile xor bits 7 to 9. Else `a` are 4 uint32 registers.
    """

    dst: tuple[Reg, ...]
    n: int
    fmt: str
    a: tuple[Value, ...]
    left: Buffer | None
    start: Value | None
    buffer: Buffer
    at: Value
    c: tuple[Value, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Warpgroup:
    """kind "fence": registers and shared memory are ready for wgmma; "commit": close a group; "wait": until at most `pending` groups are open."""

    kind: str
    pending: int = 0
    line: int = 0
