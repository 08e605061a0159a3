"""What each op of the tile IR costs a core: a table from kinds of ops to their work, in passes and vector registers.

Counts follow from shapes and layout alone. The vector unit computes in 32 bits on every generation here. Costs of functions are assumptions about
what a compiler makes of them, from the operations that the unit has: one for a sum or a product (there is no fused multiply-add), a
transcendental and a few to prepare and clean up. Nobody publishes these; docs/tpu.md says what rests on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil, log2, prod
from typing import Any

from gpusim.effects import Lanes, Passes
from gpusim.errors import GpusimError
from gpusim.ir.infer import TileType
from gpusim.lower.tpu.layout import padded, registers, tile_bytes
from gpusim.spec.resolve_tpu import TpuMachine

Tiles = Mapping[str, TileType]
Work = Passes | Lanes

#: function of a Map -> (arithmetic operations, transcendental ones) for a register
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("exp", "exp2", "log", "log2", "tanh", "rsqrt"), (2, 1)),
    **dict.fromkeys(("sqrt", "sigmoid", "pow", "erf", "exp10", "expm1", "log10", "log1p", "sinh", "cosh"), (4, 2)),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "cbrt", "fmod"), (20, 0)),
    "div": (3, 1),
    "fma": (2, 0),
    "quotient": (8, 1),
    "remainder": (10, 1),
    **{f"philox{n}": (100, 0) for n in range(4)},
}
PLAIN = (1, 0)

#: ops that need a data-dependent address or an order of elements that lanes do not have, and what to do instead
REFUSED = {
    **dict.fromkeys(("Gather", "Scatter"), "accesses that are no boxes"),
    "Atomic": "atomics",
    **dict.fromkeys(("Read", "While"), "scalars and loops that depend on loaded data"),
    **dict.fromkeys(("Sort", "Histogram", "Take", "Fold"), "an order of elements that depends on data"),
}


def work(op: Any, tiles: Tiles, m: TpuMachine, where: str) -> Work | None:
    """What `op` asks of a core; None for what costs nothing or is a copy. GpusimError for what a core cannot do."""
    name = type(op).__name__
    if name in REFUSED:
        line = f", line {op.line}" if op.line else ""
        hint = "Rewrite it with tiles that are boxes of the arrays, or run it on a GPU."
        raise GpusimError(f"{name}: {REFUSED[name]} are nothing that {m.name} can do.", where=f"{where}{line}", hint=hint)
    return COSTS[name](op, tiles, m) if name in COSTS else None


def array_format(matrix: str) -> str:
    """The key of `rows_per_cycle` for a matrix format: the arrays take all 8-bit floating formats alike."""
    return "fp8" if matrix.startswith("fp8") else matrix


def _dot(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
    a, b, acc = tiles[op.a], tiles[op.b], tiles[op.acc]
    rows = padded(a.shape, a.dtype, m)[-2]
    k, n = a.shape[-1], b.shape[-1]
    down, across = ceil(k / m.dim), ceil(n / m.dim)
    sums = registers(acc.shape, acc.dtype, m) * down
    streamed = rows * down * m.dim * across * a.dtype.bits / 8
    return Passes(rows, k, n, array_format(a.dtype.matrix), streamed + tile_bytes(b.shape, b.dtype, m) + 2 * 4096 * sums, sums)


def _map(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
    of = tiles[op.dst]
    alu, transcendental = FUNCTIONS.get(op.fn, PLAIN)
    r = registers(of.shape, of.dtype, m)
    return Lanes(alu * r, transcendental * r, 0.0, 0.0)


def _reduce(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
    """Registers are folded into one another first; then the lanes, or the sublanes, of those that are left."""
    src = tiles[op.src]
    axis = op.axis % len(src.shape)
    r = registers(src.shape, src.dtype, m)
    kept = [n for i, n in enumerate(src.shape) if i != axis]
    along_lanes, along_sublanes = axis == len(src.shape) - 1, axis == len(src.shape) - 2
    left = r / max(1, ceil(src.shape[axis] / (m.lanes if along_lanes else m.sublanes))) if along_lanes or along_sublanes else float(prod(kept)) / 1024
    return Lanes(r - left + (log2(m.sublanes) * left if along_sublanes else 0.0), 0.0, left if along_lanes or along_sublanes else 0.0, 0.0)


def _scan(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
    r = registers(tiles[op.dst].shape, tiles[op.dst].dtype, m)
    return Lanes(log2(m.lanes) * r, 0.0, log2(m.lanes) * r, 0.0)


def _each(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
    """One operation for each register of the result: constants, conversions, counting."""
    return Lanes(alu=registers(tiles[op.dst].shape, tiles[op.dst].dtype, m))


def _across(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
    """Every register through the unit that moves data across lanes: transposes and changes of shape."""
    return Lanes(cross_lane=registers(tiles[op.src].shape, tiles[op.src].dtype, m))


def _touch(tile: str) -> Callable[[Any, Tiles, TpuMachine], Work]:
    """A block between vector memory and registers."""

    def cost(op: Any, tiles: Tiles, m: TpuMachine) -> Work:
        of = tiles[getattr(op, tile)]
        return Lanes(moved=tile_bytes(of.shape, of.dtype, m))

    return cost


#: kind of op -> its cost. Operands of a Dot are read by the arrays themselves (`lower` leaves the Loads of those out).
COSTS: dict[str, Callable[[Any, Tiles, TpuMachine], Work]] = {
    "Dot": _dot,
    "Map": _map,
    "Reduce": _reduce,
    "Scan": _scan,
    "Cast": _each,
    "Full": _each,
    "Index": _each,
    "Broadcast": _each,
    "Transpose": _across,
    "Reshape": _across,
    "Join": lambda op, tiles, m: Lanes(cross_lane=registers(tiles[op.dst].shape, tiles[op.dst].dtype, m)),
    "Part": _across,
    "Load": _touch("dst"),
    "Store": _touch("src"),
}
