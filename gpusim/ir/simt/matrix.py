"""Shapes and formats of matrix instructions: how many registers of a thread hold an operand. PTX ISA, "Matrix multiply-accumulate".

A register of 32 bits holds one, two or four neighbours of a row of A or of a column of B; float64 has registers of its own. With
g = lane // 4 and t = lane % 4: register i of A holds row g + 8 (i % (m / 8)), and from column width * (i // (m / 8)) + p t on its p elements, where
width = 4 p; register i of B the rows of K from 4 p i + p t on, in column g. Of C and D each lane holds columns 2 t and 2 t + 1 of rows g and g + 8.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """Operands: `bytes` of an element, `register`: the type that holds them. `sums`: the formats of accumulators, the usual one first.
    `shapes`: (m, n, k) of mma.sync, the usual one first."""

    bytes: int
    register: str
    sums: tuple[str, ...]
    shapes: tuple[tuple[int, int, int], ...]

    @property
    def per_register(self) -> int:
        return max(1, 4 // self.bytes)


_HALF = ((16, 8, 16), (16, 8, 8))
FORMATS: dict[str, Format] = {
    "bf16": Format(2, "uint32", ("fp32",), _HALF),
    "fp16": Format(2, "uint32", ("fp32", "fp16"), _HALF),
    "tf32": Format(4, "uint32", ("fp32",), ((16, 8, 8), (16, 8, 4))),
    "fp8": Format(1, "uint32", ("fp32",), ((16, 8, 32),)),
    "int8": Format(1, "uint32", ("int32",), ((16, 8, 32), (16, 8, 16))),
    "fp64": Format(8, "float64", ("fp64",), ((8, 8, 4),)),
}
#: format of an accumulator -> (type of the register, accumulators in one)
SUMS: dict[str, tuple[str, int]] = {"fp32": ("float32", 1), "fp16": ("uint32", 2), "int32": ("int32", 1), "fp64": ("float64", 1)}

LANES = 32


def named(shape: tuple[int, int, int]) -> str:
    """(16, 8, 16) -> "m16n8k16"."""
    return f"m{shape[0]}n{shape[1]}k{shape[2]}"


def size(shape: str) -> tuple[int, int, int]:
    """The reverse of `named`."""
    m, rest = shape.removeprefix("m").split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def registers(shape: str, fmt: str, sums: str) -> tuple[int, int, int]:
    """Registers of a thread for A, B, and C (or D)."""
    m, n, k = size(shape)
    held = FORMATS[fmt].per_register
    return m * k // LANES // held, n * k // LANES // held, m * n // LANES // SUMS[sums][1]


#: formats of wgmma; a step of it takes WGMMA_BYTES along K from each row
WGMMA = ("bf16", "fp16", "tf32", "fp8", "int8")
WGMMA_M, WGMMA_BYTES = 64, 32
WGMMA_N = range(8, 257, 8)
#: warps of a warpgroup
WARPGROUP = 4


def step(fmt: str) -> int:
    """Elements along K of one wgmma."""
    return WGMMA_BYTES // FORMATS[fmt].bytes
