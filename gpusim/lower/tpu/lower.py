"""A program for a TPU: what every op costs, which boxes are copied, what a core's memory must hold. No step is counted here yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpusim.errors import GpusimError
from gpusim.ir.infer import TileType, tile_types
from gpusim.ir.ops import Dot, If, Let, Load, Loop, Op, Store, reads, writes
from gpusim.ir.program import Program, walk
from gpusim.lower.tpu.layout import check_box, tile_bytes
from gpusim.lower.tpu.rules import blocks_together
from gpusim.lower.tpu.work import Work, array_format, work
from gpusim.spec.resolve_tpu import TpuMachine


@dataclass(frozen=True, slots=True)
class TpuLowered:
    """work: id of an op -> what it asks of a core. heads: ids of the ops with which a grid step begins: the first of every innermost loop. buffers:
    of every input block; a copy runs so many steps less one ahead. vmem_bytes: that a core must hold. fmt: operand format of the products, "" if none.
    together: consecutive blocks that share their grid steps."""

    program: Program
    work: dict[int, Work]
    heads: frozenset[int]
    buffers: int
    vmem_bytes: int
    fmt: str
    together: int = 1


def lower_tpu(program: Program, m: TpuMachine) -> TpuLowered:
    """`program` for the TPU `m`. GpusimError for blocks under the layout's minimum, formats the arrays lack, blocks that do not fit, and what a core
    cannot do."""
    tiles = tile_types(program)
    ops = list(walk(program.body))
    fmt = _format(program, tiles, m)
    for op in ops:
        if isinstance(op, Load | Store):
            check_box(op.box, program.tensor(op.box.tensor), program, m)
    fed = {name for op in ops if isinstance(op, Dot) for name in (op.a, op.b)}
    others = {name for op in ops if not isinstance(op, Dot) for name in reads(op)}
    direct = fed - others
    costs = {id(op): work(op, tiles, m, program.name) for op in ops if not (isinstance(op, Load) and op.dst in direct)}
    buffers = _buffers(program, m)
    known = {k: w for k, w in costs.items() if w is not None}
    lowered = TpuLowered(program, known, frozenset(_heads(program.body)), buffers, _vmem(program, tiles, buffers, m), fmt)
    if lowered.vmem_bytes > m.vmem_bytes:
        raise _too_large(lowered, m)
    together = blocks_together(program, lowered.vmem_bytes, m)
    return replace(lowered, together=together, vmem_bytes=together * lowered.vmem_bytes)


def _format(program: Program, tiles: dict[str, TileType], m: TpuMachine) -> str:
    """The operand format of the products; GpusimError where the arrays do not take it."""
    formats = [array_format(tiles[name].dtype.matrix) for op in walk(program.body) if isinstance(op, Dot) for name in (op.a, op.b)]
    for fmt in formats:
        if fmt not in m.rows_per_cycle:
            hint = f"Use one of {', '.join(m.rows_per_cycle)}."
            raise GpusimError(f"the arrays of {m.name} multiply no {fmt}.", where=program.name, hint=hint)
    return formats[0] if formats else ""


def _heads(body: tuple[Op, ...]) -> Iterator[int]:
    """Ids of the first ops on tiles of the innermost loops."""
    for op in body:
        if isinstance(op, Loop):
            inner = list(_heads(op.body))
            yield from inner or ([id(first)] if (first := _first(op.body)) is not None else [])
        elif isinstance(op, If):
            yield from (*_heads(op.then), *_heads(op.orelse))


def _first(body: tuple[Op, ...]) -> Op | None:
    return next((op for op in walk(body) if not isinstance(op, Let | If)), None)


def _buffers(program: Program, m: TpuMachine) -> int:
    """Of every input block: as many as the kernel's loops ask for stages, else what the machine's programmers use."""
    asked = [op.stages for op in walk(program.body) if isinstance(op, Loop) and op.stages is not None]
    return max(asked) if asked else m.buffers


def _vmem(program: Program, tiles: dict[str, TileType], buffers: int, m: TpuMachine) -> int:
    """Input blocks times their buffers, output blocks twice, accumulators, and the largest tile in between."""
    accumulators = {op.acc for op in walk(program.body) if isinstance(op, Dot)}
    size = {name: tile_bytes(t.shape, t.dtype, m) for name, t in tiles.items()}
    total, between = 0, 0
    for op in walk(program.body):
        if isinstance(op, Load):
            total += buffers * size[op.dst]
        elif isinstance(op, Store):
            total += 2 * tile_bytes(tiles[op.src].shape, program.tensor(op.box.tensor).dtype, m)
        elif writes(op) in accumulators:
            total += size[writes(op)]
        else:
            between = max(between, size.get(writes(op), 0))
    return total + between


def _too_large(lowered: TpuLowered, m: TpuMachine) -> GpusimError:
    mib = 2**20
    what = f"its blocks need {lowered.vmem_bytes / mib:.1f} MiB of vector memory ({lowered.buffers} buffers an input); a core has {m.vmem_bytes / mib:.0f} MiB."
    return GpusimError(what, where=f"{lowered.program.name} on {m.name}", hint="Use smaller blocks, or fewer stages.")
