"""What an attention is about, checked once: sizes, masks, tile and warps; and the arrays that its kernels share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.expr import ExprLike
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.program import Tensor
from gpusim.ir.types import DType

#: log2(e): exponentials are taken to base 2, which is what the hardware computes
LOG2E = 1.4426950408889634
WHERE = "attention"


@dataclass(frozen=True, slots=True)
class Shape:
    """batch, heads, kv_heads, queries and keys of each head, head_dim in elements; a query sees the keys up to its own place (`causal`), of these the
    last `window` ones (0: all). rows, cols: queries and keys of a tile. statistics: the forward
    kernel also writes lse = log2 of the sum of exp(scores), for the backward pass."""

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    head_dim: int
    dtype: DType
    causal: bool
    window: int
    dropout: float
    seed: int
    rows: int
    cols: int
    warps: int
    stages: int | None
    statistics: bool = False

    @property
    def scale(self) -> float:
        """1 / sqrt(head_dim)."""
        return float(self.head_dim) ** -0.5

    @property
    def blocks(self) -> int:
        """Tiles of queries of a head."""
        return -(-self.queries // self.rows)

    @property
    def even(self) -> bool:
        """Whether no tile reaches beyond its head."""
        return self.queries % self.rows == 0 and self.keys % self.cols == 0

    @property
    def pairs(self) -> int:
        """Pairs of a query and a key that it sees, of one head."""
        if not self.causal:
            return self.queries * self.keys
        first = self.keys - self.queries
        seen = (first + i + 1 for i in range(self.queries))
        return sum(min(s, self.window) if self.window else s for s in seen)

    @property
    def products(self) -> int:
        """Floating-point operations of one product over all pairs: two for each pair and element of the head."""
        return 2 * self.batch * self.heads * self.pairs * self.head_dim


def checked(shape: Shape) -> Shape:
    """`shape`, or GpusimError naming the first number that makes no sense."""
    for what in ("batch", "heads", "kv_heads", "queries", "keys", "head_dim"):
        if getattr(shape, what) < 1:
            _refuse(f"{what} = {getattr(shape, what)} is not a size.", "Give a positive integer.")
    if shape.heads % shape.kv_heads:
        _refuse(f"{shape.heads} heads cannot share {shape.kv_heads} heads of keys and values.", "Give a kv_heads that divides heads.")
    if shape.head_dim % 16 or shape.head_dim > 256:
        _refuse(f"head_dim = {shape.head_dim} has no kernel.", "Give a multiple of 16 up to 256.")
    for what, size in (("rows", shape.rows), ("columns", shape.cols)):
        if size < 16 or (size & (size - 1) and size % 64):
            _refuse(f"a tile of {size} {what} is not possible.", "Give block=(Br, Bc) with powers of two from 16 up or multiples of 64, such as (128, 64).")
    if shape.warps not in (1, 2, 4, 8, 12, 16):
        _refuse(f"warps = {shape.warps} is not possible.", "Give 1, 2, 4, 8, 12 or 16.")
    if shape.stages is not None and shape.stages < 1:
        _refuse(f"stages = {shape.stages} is no pipeline depth.", "Give 1 (no pipeline) or more.")
    if not 0.0 <= shape.dropout < 1.0:
        _refuse(f"dropout = {shape.dropout} is no probability.", "Give 0 (none) up to less than 1.")
    if shape.causal and shape.keys < shape.queries:
        _refuse(f"{shape.queries} queries and {shape.keys} keys: with causal=True some queries see nothing.", "Give as many keys as queries, or more.")
    if shape.window < 0 or (shape.window and not shape.causal):
        _refuse(f"window = {shape.window} needs causal=True and a positive size.", "Give causal=True with it, or window=0.")
    if shape.dtype.name not in ACCUMULATORS or shape.dtype.name == "int8":
        _refuse(f"dtype = {shape.dtype} has no attention.", "Give bf16, fp16, fp32, or a format of fp8.")
    return shape


def _refuse(what: str, hint: str) -> None:
    raise GpusimError(what, where=WHERE, hint=hint)


@dataclass(frozen=True, slots=True)
class Arrays:
    """Q and O are [batch heads queries, head_dim], K and V [batch kv_heads keys, head_dim], all row-major and packed."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor


def arrays(b: Builder, s: Shape) -> Arrays:
    """The arrays of a forward kernel."""
    rows, cols = s.batch * s.heads * s.queries, s.batch * s.kv_heads * s.keys
    q = b.tensor("q", s.dtype, (rows, s.head_dim))
    k = b.tensor("k", s.dtype, (cols, s.head_dim))
    v = b.tensor("v", s.dtype, (cols, s.head_dim))
    return Arrays(q, k, v, b.tensor("o", s.dtype, (rows, s.head_dim), role="out"))


def ends(s: Shape, row: ExprLike) -> tuple[ExprLike | None, ...]:
    """Limits of a box of rows that must not reach into the next head: up to `row`, where tiles are cut at all."""
    return () if s.even else (row, None)


def params(s: Shape, variant: str, direction: str) -> dict[str, Any]:
    """What the report prints of the arguments."""
    said: dict[str, Any] = {"batch": s.batch, "heads": s.heads, "kv_heads": s.kv_heads, "seq": s.keys, "head_dim": s.head_dim, "causal": s.causal}
    said |= {"queries": s.queries} if s.queries != s.keys else {}
    said |= {"window": s.window} if s.window else {}
    said |= {"dropout": s.dropout, "seed": s.seed} if s.dropout else {}
    return said | {"variant": variant, "direction": direction, "block": f"{s.rows}x{s.cols}", "warps": s.warps, "stages": s.stages, "dtype": s.dtype.name}
