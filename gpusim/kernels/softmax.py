"""Softmax of the rows of a matrix, one block a row: in registers, or in pieces with a running maximum and sum.

The kernels are `softmax_kernel` and `softmax_online_kernel` of the measured sources.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.expr import ExprLike
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DType
from gpusim.ir.types import dtype as dtype_of
from gpusim.kernels.elementwise import check_block, check_sizes

#: columns of a piece of a row that does not stay in registers
PIECE = 1024
LOWEST = float("-inf")


def softmax(rows: int = 4096, cols: int = 4096, *, variant: str = "fused", dtype: str = "fp32", warps: int | None = None, block: int | None = None) -> Any:
    """y[r, :] = exp(x[r, :] - max) / sum, in fp32 inside.

    variant: "fused" holds a row in registers, so x is read once; "online" reads it twice, in pieces, with a running maximum and sum; "three-pass" reads
    it three times: maximum, sum, result; "naive" is a tuple of five programs, one for each operation, for `gs.program`: what lies between goes
    through memory. warps: of a block (4 to 16 by the length of a row; 4 where it is read in pieces). block: columns of a
    piece, a power of two (the whole row, or 1024). Raises GpusimError for what makes no sense.
    """
    check_sizes("softmax", rows=rows, cols=cols)
    if variant not in (*VARIANTS, "naive"):
        raise GpusimError(f"variant = '{variant}' is unknown.", where="softmax", hint=f"Give one of: {', '.join((*VARIANTS, 'naive'))}.")
    whole = 1 << max(0, cols - 1).bit_length()
    block = block or (whole if variant in ("fused", "naive") else min(whole, PIECE))
    warps = warps or (row_warps(whole) if variant in ("fused", "naive") else 4)
    check_block("softmax", block, warps)
    if variant in ("fused", "naive") and block < cols:
        raise GpusimError(f"block = {block} does not hold a row of {cols}.", where="softmax", hint=f"Give {whole}, or variant='online'.")
    of = dtype_of(dtype)
    if variant == "naive":
        return naive(rows, cols, of, warps, block)
    b = Builder("softmax", (rows,), warps)
    x, y = b.tensor("x", of, (rows, cols)), b.tensor("y", of, (rows, cols), role="out")
    VARIANTS[variant](_Rows(b, x, y, block))
    params = {"rows": rows, "cols": cols, "variant": variant, "dtype": of.name, "warps": warps, "block": block}
    return b.finish(params, flops=5 * rows * cols)


def row_warps(block: int) -> int:
    """Warps for a row of `block` elements in registers, as the measured launches have them."""
    return max(4, min(16, block // 512))


class _Rows:
    """Pieces of the row of a block, as fp32."""

    def __init__(self, b: Builder, x: Tensor, y: Tensor, block: int) -> None:
        self.b, self.x, self.y, self.block = b, x, y, block
        self.pieces = -(-x.shape[1] // block)

    def load(self, piece: ExprLike, other: float) -> str:
        b = self.b
        tile = b.load(self.x, (b.program_id(0), piece * self.block), (1, self.block), True, other, axes=(1,))
        return tile if self.x.dtype.name == "fp32" else b.cast(tile, "fp32")

    def store(self, piece: ExprLike, tile: str) -> None:
        b = self.b
        value = tile if self.y.dtype.name == "fp32" else b.cast(tile, self.y.dtype)
        b.store(self.y, (b.program_id(0), piece * self.block), value, (1, self.block), True, axes=(1,))

    def number(self, value: float) -> str:
        return self.b.full((), "fp32", value)

    def max(self, tile: str) -> str:
        return self.b.reduce("max", tile, 0, keep=False)

    def sum(self, tile: str) -> str:
        return self.b.reduce("sum", tile, 0, keep=False)

    def exp(self, tile: str, top: str) -> str:
        return self.b.map("exp", self.b.map("sub", tile, top))

    def results(self, top: str, total: str) -> None:
        with self.b.loop("last", self.pieces) as piece:
            self.store(piece, self.b.map("div", self.exp(self.load(piece, 0.0), top), total))


def _fused(r: _Rows) -> None:
    v = r.load(0, LOWEST)
    e = r.exp(v, r.max(v))
    r.store(0, r.b.map("div", e, r.sum(e)))


def _online(r: _Rows) -> None:
    b, top, total = r.b, r.number(LOWEST), r.number(0.0)
    with b.loop("piece", r.pieces) as piece:
        v = r.load(piece, LOWEST)
        higher = b.map("maximum", top, r.max(v))
        before = b.map("mul", total, r.exp(top, higher))
        b.update(total, b.map("add", before, r.sum(r.exp(v, higher))))
        b.update(top, higher)
    r.results(top, total)


def _three_pass(r: _Rows) -> None:
    b, top, total = r.b, r.number(LOWEST), r.number(0.0)
    with b.loop("first", r.pieces) as piece:
        b.update(top, b.map("maximum", top, r.max(r.load(piece, LOWEST))))
    with b.loop("second", r.pieces) as piece:
        b.update(total, b.map("add", total, r.sum(r.exp(r.load(piece, LOWEST), top))))
    r.results(top, total)


VARIANTS: dict[str, Callable[[_Rows], None]] = {"fused": _fused, "online": _online, "three-pass": _three_pass}

#: the steps of "naive": name, tensors of a row's length that it reads, tensors of one number a row that it reads, what it writes
STEPS = (
    ("softmax_max", ("x",), (), "m"),
    ("softmax_sub", ("x",), ("m",), "d"),
    ("softmax_exp", ("d",), (), "e"),
    ("softmax_sum", ("e",), (), "l"),
    ("softmax_div", ("e",), ("l",), "y"),
)


def naive(rows: int, cols: int, of: DType, warps: int, block: int) -> tuple[Program, ...]:
    """A kernel for each of the five operations, one block a row."""
    return tuple(_step(name, wide, narrow, to, (rows, cols, of, warps, block)) for name, wide, narrow, to in STEPS)


def _step(name: str, wide: tuple[str, ...], narrow: tuple[str, ...], to: str, size: tuple[int, int, DType, int, int]) -> Program:
    rows, cols, of, warps, block = size
    fn = name.removeprefix("softmax_")
    b = Builder(name, (rows,), warps)
    row = b.program_id(0)
    inputs = [(b.tensor(t, of, (rows, cols)), (row, 0), (1, block), (1,)) for t in wide] + [(b.tensor(t, of, (rows,)), (row,), (1,), (0,)) for t in narrow]
    other = LOWEST if fn == "max" else 0.0
    tiles = [b.load(t, at, box, len(box) > 1, other, axes=axes) for t, at, box, axes in inputs]
    tiles = [t if of.name == "fp32" else b.cast(t, "fp32") for t in tiles]
    made = b.reduce(fn, tiles[0], 0) if fn in ("max", "sum") else b.map(fn, *tiles)
    made = made if of.name == "fp32" else b.cast(made, of)
    if fn in ("max", "sum"):
        b.store(b.tensor(to, of, (rows,), role="out"), (row,), made, (1,))
    else:
        b.store(b.tensor(to, of, (rows, cols), role="out"), (row, 0), made, (1, block), True, axes=(1,))
    params = {"rows": rows, "cols": cols, "variant": "naive", "dtype": of.name, "warps": warps, "block": block}
    return b.finish(params, flops=rows * cols)
