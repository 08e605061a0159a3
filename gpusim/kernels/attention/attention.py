"""The one entry: sizes, masks and tile to the program of a variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.ir.types import dtype as dtype_of
from gpusim.kernels.attention.backward import backward
from gpusim.kernels.attention.forward import forward, specialised
from gpusim.kernels.attention.naive import naive
from gpusim.kernels.attention.outer import outer
from gpusim.kernels.attention.shape import WHERE, Shape, checked
from gpusim.kernels.attention.split import split

#: queries and keys of a tile where nobody says more
BLOCK = (128, 64)

Maker = Callable[[Shape, str], Program | tuple[Program, ...]]
#: (variant, direction) -> what makes its program, or its programs in their order
VARIANTS: dict[tuple[str, str], Maker] = {
    ("naive", "forward"): naive,
    ("fa1", "forward"): outer,
    ("fa2", "forward"): forward,
    ("fa3", "forward"): specialised,
    ("split-kv", "forward"): split,
    ("fa2", "backward"): backward,
}


def attention(
    batch: int = 1,
    heads: int = 32,
    seq: int = 4096,
    head_dim: int = 64,
    *,
    kv_heads: int | None = None,
    queries: int | None = None,
    causal: bool = False,
    window: int = 0,
    dropout: float = 0.0,
    seed: int = 0,
    variant: str = "fa2",
    direction: str = "forward",
    block: tuple[int, int] | str | None = None,
    warps: int = 4,
    stages: int | None = None,
    dtype: str = "bf16",
    statistics: bool = False,
) -> Program | tuple[Program, ...]:
    """O = softmax(Q K^T / sqrt(head_dim)) V for every batch and head, with fp32 accumulation.

    seq: keys and values of a head, and queries unless `queries` says otherwise (the last ones of the sequence then). kv_heads: heads of keys and values;
    fewer than heads share them (grouped queries). causal: a query sees the keys up to its own; window: of these the last ones. dropout: share of the
    weights that are dropped, chosen by `seed` and place. variant: one of VARIANTS.
    block: (queries, keys) of a tile, or "128x64"; None: 128x64 on GPUs, and a TPU takes what suits it. stages of the pipeline of keys and values: the
    most up to 4 that fit the device. statistics: the forward kernel also writes what the backward pass needs.
    Raises GpusimError for what makes no sense.
    """
    rows, cols = parse_block(BLOCK if block is None else block)
    shape = Shape(
        batch, heads, kv_heads or heads, queries or seq, seq, head_dim, dtype_of(dtype), causal, window, dropout, seed, rows, cols, warps, stages,
        statistics,
    )  # fmt: skip
    checked(shape)
    if (variant, direction) not in VARIANTS:
        known = ", ".join(f"{v} {d}" for v, d in VARIANTS)
        raise GpusimError(f"variant '{variant}', direction '{direction}' is unknown.", where=WHERE, hint=f"Known: {known}.")
    made = VARIANTS[variant, direction](shape, variant)
    if block is not None or not isinstance(made, Program):
        return made
    return replace(made, retile=partial(_retiled, shape, variant, direction))


def _retiled(shape: Shape, variant: str, direction: str, block: str) -> Program:
    """The same attention with another block."""
    rows, cols = parse_block(block)
    made = VARIANTS[variant, direction](checked(replace(shape, rows=rows, cols=cols)), variant)
    assert isinstance(made, Program)
    return made


def parse_block(block: tuple[int, int] | str) -> tuple[int, int]:
    """(queries, keys) of a tile from a tuple or from "128x64"."""
    try:
        parts = [int(p) for p in block.lower().split("x")] if isinstance(block, str) else [int(p) for p in block]
    except ValueError:
        parts = []
    if len(parts) != 2:
        raise GpusimError(f"block '{block}' is not BrxBc.", where=WHERE, hint="Give queries and keys of a tile, such as 128x64.")
    return parts[0], parts[1]
