"""How tiles lie in memory: padded to whole pieces of rows x lanes, narrow types with several rows in one. And which blocks that allows.

The last dimension lies along the lanes, the one before along the sublanes. A block may be any multiple of the piece, or the whole dimension. A
single row is possible too (Pallas calls such a dimension squeezed): it is copied alone, but in vector memory it takes a whole piece.
"""

from __future__ import annotations

from math import prod

from gpusim.errors import GpusimError
from gpusim.ir.ops import Box
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DType
from gpusim.spec.resolve_tpu import TpuMachine


def round_up(value: int, unit: int) -> int:
    """The next multiple of `unit`."""
    return -(-value // unit) * unit


def piece(of: DType, m: TpuMachine) -> tuple[int, int]:
    """(rows, lanes) of the smallest piece of a layout. GpusimError for types that have none."""
    if of.bits not in m.tile_rows:
        raise GpusimError(f"{of} has {of.bits} bits, which {m.name} has no layout for.", hint=f"Use a type of {', '.join(map(str, m.tile_rows))} bits.")
    return m.tile_rows[of.bits], m.lanes


def padded(shape: tuple[int, ...], of: DType, m: TpuMachine) -> tuple[int, ...]:
    """`shape` in whole pieces. One dimension alone fills all sublanes of its pieces."""
    rows, lanes = piece(of, m)
    if len(shape) < 2:
        return tuple(round_up(n, lanes * m.sublanes) for n in shape)
    return (*shape[:-2], round_up(shape[-2], rows), round_up(shape[-1], lanes))


def tile_bytes(shape: tuple[int, ...], of: DType, m: TpuMachine) -> int:
    """Bytes of vector memory that a tile takes."""
    return prod(padded(shape, of, m)) * of.bits // 8


def registers(shape: tuple[int, ...], of: DType, m: TpuMachine) -> float:
    """Vector registers of a tile while it is computed on: 32 bits an element."""
    if len(shape) < 2:
        return max(1.0, prod(shape) / (m.sublanes * m.lanes))
    return prod(shape[:-2]) * (round_up(shape[-2], m.sublanes) // m.sublanes) * (round_up(shape[-1], m.lanes) // m.lanes)


def check_box(box: Box, t: Tensor, program: Program, m: TpuMachine) -> None:
    """GpusimError if a block is under the minimum of the layout, with the nearest legal shape."""
    rows, lanes = piece(t.dtype, m)
    units = block_units(box.shape, t.dtype, m)
    legal = tuple(n if n % unit == 0 or n >= size else round_up(n, unit) for n, unit, size in zip(box.shape, units, t.shape, strict=True))
    if legal == tuple(box.shape):
        return
    axis = next(i for i, (n, ok) in enumerate(zip(box.shape, legal, strict=True)) if n != ok)
    where = "lanes, the last dimension" if axis == len(units) - 1 else "sublanes, the dimension before the last"
    raise GpusimError(
        f"a block of {_words(box.shape)} of '{t.name}' ({t.dtype}) does not lie on whole {rows}x{lanes} pieces: {box.shape[axis]} along the {where}, "
        f"is no multiple of {units[axis]}, nor the whole dimension of {t.shape[axis]}.",
        where=f"{program.name} on {m.name}",
        hint=f"The nearest legal block of '{t.name}' is {_words(legal)}{_nearest_tile(program, rows, lanes)}.",
    )


def block_units(shape: tuple[int, ...], of: DType, m: TpuMachine) -> list[int]:
    """What each extent of a block is a multiple of."""
    rows, lanes = piece(of, m)
    if len(shape) < 2:
        return [lanes * 32 // of.bits]
    return [1] * (len(shape) - 2) + [1 if shape[-2] == 1 else rows, lanes]


def _nearest_tile(program: Program, rows: int, lanes: int) -> str:
    """The same for the `tile` of a matrix product."""
    parts = str(program.params.get("tile", "")).split("x")
    if len(parts) != 3 or not all(p.isdecimal() for p in parts):
        return ""
    bm, bn, bk = map(int, parts)
    return f": tile {round_up(bm, max(rows, 8))}x{round_up(bn, lanes)}x{round_up(bk, lanes)}"


def _words(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
