"""Element types and memory spaces of the IR."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import GpusimError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: `name` as the user writes it, `bits` of storage, `numpy` the name NumPy (or ml_dtypes) knows it by.

    `matrix` is the format in which a tensor core multiplies it (tf32 is stored as 32 bits and multiplied as 19).
    """

    name: str
    bits: int
    numpy: str
    matrix: str

    @property
    def bytes(self) -> int:
        return self.bits // 8

    def __str__(self) -> str:
        return self.name


DTYPES = {
    d.name: d
    for d in (
        DType("fp32", 32, "float32", "fp32"),
        DType("tf32", 32, "float32", "tf32"),
        DType("fp16", 16, "float16", "fp16"),
        DType("bf16", 16, "bfloat16", "bf16"),
        DType("fp64", 64, "float64", "fp64"),
        DType("fp8e4m3", 8, "float8_e4m3fn", "fp8"),
        DType("fp8e5m2", 8, "float8_e5m2", "fp8"),
        *(DType(f"{sign}{bits}", bits, f"{sign}{bits}", f"{sign}{bits}") for bits in (8, 16, 32, 64) for sign in ("int", "uint")),
        DType("bool", 8, "bool", "bool"),
    )
}


def dtype(name: str | DType) -> DType:
    """The DType called `name`; GpusimError with the known names otherwise."""
    if isinstance(name, DType):
        return name
    if name not in DTYPES:
        raise GpusimError(f"unknown dtype '{name}'.", hint=f"Known: {', '.join(DTYPES)}.")
    return DTYPES[name]
