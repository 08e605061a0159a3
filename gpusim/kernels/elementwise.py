"""y = f(x) element by element: each block takes `block` neighbours, each tensor is read or written once.

The kernels are those of `ew_kernel` and `sig_*_kernel` in the measured sources: what a chain of operations costs when it is one kernel, and what a
backward pass costs that reads saved activations or computes them again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.ir.types import DType
from gpusim.ir.types import dtype as dtype_of

#: a chain: the builder, the tiles that were read -> the tiles that are written
Chain = Callable[[Builder, tuple[str, ...]], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """What a function reads and writes, in this order; operations: of one element, as FLOPs are counted."""

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    chain: Chain
    operations: int


def _unary(*names: str) -> Chain:
    """Functions one after the other."""

    def chain(b: Builder, tiles: tuple[str, ...]) -> tuple[str, ...]:
        value = tiles[0]
        for name in names:
            value = b.map(name, value)
        return (value,)

    return chain


def _square(b: Builder, tiles: tuple[str, ...]) -> tuple[str, ...]:
    return (b.map("mul", tiles[0], tiles[0]),)


def _sin2cos2(b: Builder, tiles: tuple[str, ...]) -> tuple[str, ...]:
    s, c = b.map("sin", tiles[0]), b.map("cos", tiles[0])
    return (b.map("add", b.map("mul", s, s), b.map("mul", c, c)),)


def _sigmoid(b: Builder, x: str) -> str:
    """1 / (1 + exp(-x)), spelled out."""
    one = b.full((1,), "fp32", 1.0)
    return b.map("div", one, b.map("add", one, b.map("exp", b.map("neg", x))))


def _sigmoids(b: Builder, tiles: tuple[str, ...]) -> tuple[str, ...]:
    first = _sigmoid(b, tiles[0])
    second = _sigmoid(b, first)
    return first, second, _sigmoid(b, second)


def _slope(b: Builder, tiles: tuple[str, ...]) -> tuple[str, ...]:
    """g times the derivatives s (1 - s) of three sigmoids, the last one first."""
    *saved, value = tiles
    one = b.full((1,), "fp32", 1.0)
    for s in reversed(saved):
        value = b.map("mul", b.map("mul", value, s), b.map("sub", one, s))
    return (value,)


def _slope_again(b: Builder, tiles: tuple[str, ...]) -> tuple[str, ...]:
    return _slope(b, (*_sigmoids(b, tiles[:1]), tiles[1]))


_ONE = (("x",), ("y",))
FUNCTIONS: dict[str, Row] = {
    "copy": Row(*_ONE, _unary(), 0),
    "relu": Row(*_ONE, _unary("relu"), 1),
    "sin": Row(*_ONE, _unary("sin"), 1),
    "cos": Row(*_ONE, _unary("cos"), 1),
    "exp": Row(*_ONE, _unary("exp"), 1),
    "sigmoid": Row(*_ONE, lambda b, tiles: (_sigmoid(b, tiles[0]),), 1),
    "square": Row(*_ONE, _square, 1),
    "sin2cos2": Row(*_ONE, _sin2cos2, 5),
    "sigmoid3": Row(*_ONE, lambda b, tiles: _sigmoids(b, tiles)[2:], 3),
    "add": Row(("x", "z"), ("y",), lambda b, tiles: (b.map("add", *tiles),), 1),
    "mul": Row(("x", "z"), ("y",), lambda b, tiles: (b.map("mul", *tiles),), 1),
    "sigmoid3_saved": Row(("x",), ("s1", "s2", "s3"), _sigmoids, 3),
    "sigmoid3_backward_saved": Row(("s1", "s2", "s3", "g"), ("dx",), _slope, 9),
    "sigmoid3_backward_recompute": Row(("x", "g"), ("dx",), _slope_again, 12),
}


def elementwise(n: int = 1 << 24, *, fn: str = "copy", dtype: str = "fp32", block: int = 1024, warps: int = 4) -> Program:
    """y = fn(x) of n elements; some functions read or write several tensors.

    fn: a key of `FUNCTIONS`, such as copy, relu, sin2cos2 (one kernel for what is five in eager code), sigmoid3, add; the sigmoid chain with its
    backward pass: sigmoid3_saved and sigmoid3_backward_saved (1 read and 3 writes, 4 reads and 1 write: 9 accesses), sigmoid3 and
    sigmoid3_backward_recompute (2 and 3: 5 accesses). block: elements of a block. Raises GpusimError for what makes no sense.
    """
    _known(fn)
    of = dtype_of(dtype)
    check_sizes("elementwise", n=n)
    check_block("elementwise", block, warps)
    return _program(fn, n, of, block, warps, {})


#: a function -> the same in separate kernels, as eager code runs it: (function, its tensors by other names)
STEPS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "sin2cos2": (
        ("sin", {"y": "s"}),
        ("cos", {"y": "c"}),
        ("square", {"x": "s", "y": "s2"}),
        ("square", {"x": "c", "y": "c2"}),
        ("add", {"x": "s2", "z": "c2"}),
    ),
    "sigmoid3": (("sigmoid", {"y": "s1"}), ("sigmoid", {"x": "s1", "y": "s2"}), ("sigmoid", {"x": "s2"})),
}


def unfused(n: int = 1 << 24, *, fn: str = "sin2cos2", dtype: str = "fp32", block: int = 1024, warps: int = 4) -> tuple[Program, ...]:
    """The kernels of `elementwise(fn=...)` where every operation is one of its own, for `gs.program`: what lies between goes through memory.

    fn: a key of `STEPS`. Tensors of one name are one array. Raises GpusimError as `elementwise` does.
    """
    if fn not in STEPS:
        raise GpusimError(f"fn = '{fn}' has no steps.", where="unfused", hint=f"Give one of: {', '.join(STEPS)}.")
    whole = elementwise(n, fn=fn, dtype=dtype, block=block, warps=warps)
    return tuple(_program(step, n, whole.tensors[0].dtype, block, warps, names) for step, names in STEPS[fn])


def _program(fn: str, n: int, of: DType, block: int, warps: int, names: dict[str, str]) -> Program:
    row = FUNCTIONS[fn]
    b = Builder(f"elementwise_{fn}" if names else "elementwise", (-(-n // block),), warps)
    reads = [b.tensor(names.get(name, name), of, (n,)) for name in row.reads]
    writes = [b.tensor(names.get(name, name), of, (n,), role="out") for name in row.writes]
    at = (b.program_id(0) * block,)
    tiles = tuple(b.load(t, at, (block,), True) for t in reads)
    for t, tile in zip(writes, row.chain(b, tiles), strict=True):
        b.store(t, at, tile, (block,), True)
    return b.finish({"n": n, "fn": fn, "dtype": of.name, "block": block, "warps": warps}, flops=n * row.operations)


def _known(fn: str) -> None:
    if fn not in FUNCTIONS:
        raise GpusimError(f"fn = '{fn}' is unknown.", where="elementwise", hint=f"Give one of: {', '.join(FUNCTIONS)}.")


def check_sizes(where: str, **sizes: int) -> None:
    """GpusimError unless all are positive."""
    for what, value in sizes.items():
        if value < 1:
            raise GpusimError(f"{what} = {value} is not a size.", where=where, hint="Give a positive integer.")


def check_block(where: str, block: int, warps: int) -> None:
    """GpusimError unless a tile of `block` elements exists, and a CTA of `warps` warps."""
    if block < 1 or block & (block - 1):
        raise GpusimError(f"block = {block} is no power of two.", where=where, hint="Tiles have powers of two of elements: give 1024, for example.")
    if warps not in (1, 2, 4, 8, 16, 32):
        raise GpusimError(f"warps = {warps} is not possible.", where=where, hint="Give 1, 2, 4, 8, 16 or 32.")
