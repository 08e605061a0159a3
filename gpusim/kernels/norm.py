"""Layer norm and RMS norm of rows, one block a row, the row in registers: `layernorm_kernel` of the measured sources."""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.ir.types import dtype as dtype_of
from gpusim.kernels.elementwise import check_block, check_sizes
from gpusim.kernels.softmax import row_warps

EPSILON = 1e-5


def layernorm(rows: int = 4096, cols: int = 4096, *, dtype: str = "bf16", warps: int | None = None, block: int | None = None) -> Program:
    """y = (x - mean) / sqrt(variance + 1e-5) * w + b for each row; w and b are fp32 of a row's length.

    The row stays in registers: mean, then the mean of squared differences. warps: of a block (4 to 16 by the length of a row). block: a power of two
    that holds a row. Raises GpusimError for what makes no sense.
    """
    return _norm("layernorm", rows, cols, dtype, warps, block)


def rmsnorm(rows: int = 4096, cols: int = 4096, *, dtype: str = "bf16", warps: int | None = None, block: int | None = None) -> Program:
    """y = x / sqrt(mean of squares + 1e-5) * w for each row; w is fp32 of a row's length. One reduction where a layer norm has two.

    warps, block: as in `layernorm`. Raises GpusimError for what makes no sense.
    """
    return _norm("rmsnorm", rows, cols, dtype, warps, block)


def _norm(name: str, rows: int, cols: int, dtype: str, warps: int | None, block: int | None) -> Program:
    check_sizes(name, rows=rows, cols=cols)
    whole = 1 << max(0, cols - 1).bit_length()
    block = block or whole
    warps = warps or row_warps(block)
    check_block(name, block, warps)
    if block < cols:
        raise GpusimError(f"block = {block} does not hold a row of {cols}.", where=name, hint=f"Give {whole}.")
    of = dtype_of(dtype)
    b = Builder(name, (rows,), warps)
    x, y, w = b.tensor("x", of, (rows, cols)), b.tensor("y", of, (rows, cols), role="out"), b.tensor("w", "fp32", (cols,))
    row, box = (b.program_id(0), 0), (1, block)
    v = b.load(x, row, box, True, axes=(1,))
    v = v if of.name == "fp32" else b.cast(v, "fp32")
    z = _scaled(b, v, cols) if name == "rmsnorm" else _centred(b, v, cols, block)
    z = b.map("mul", z, b.load(w, (0,), (block,), True))
    if name == "layernorm":
        z = b.map("add", z, b.load(b.tensor("b", "fp32", (cols,)), (0,), (block,), True))
    b.store(y, row, z if of.name == "fp32" else b.cast(z, of), box, True, axes=(1,))
    return b.finish({"rows": rows, "cols": cols, "dtype": of.name, "warps": warps, "block": block}, flops=(8 if name == "layernorm" else 4) * rows * cols)


def _mean(b: Builder, tile: str, cols: int) -> str:
    return b.map("div", b.reduce("sum", tile, 0, keep=False), b.full((), "fp32", cols))


def _scaled(b: Builder, v: str, cols: int) -> str:
    """v / sqrt(mean of its squares + epsilon)."""
    root = b.map("sqrt", b.map("add", _mean(b, b.map("mul", v, v), cols), b.full((), "fp32", EPSILON)))
    return b.map("mul", v, b.map("div", b.full((), "fp32", 1.0), root))


def _centred(b: Builder, v: str, cols: int, block: int) -> str:
    """The same of v less its mean, and 0 beyond the row."""
    inside = b.map("lt", b.index((block,), 0, (1,)), b.full((), "int32", cols))
    centred = b.map("where", inside, b.map("sub", v, _mean(b, v, cols)), b.full((), "fp32", 0.0))
    return _scaled(b, centred, cols)
