"""What the pipelined and the serial form of a matrix loop share: its numbers, the scalars before it, the epilogue after it."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim import effects as fx
from gpusim.ir.ops import Let, Load, Loop, Store
from gpusim.ir.program import Program
from gpusim.lower import matrix, rules
from gpusim.lower.vector import piece_bytes


@dataclass(frozen=True, slots=True)
class Step:
    """What the loop does in one step, in numbers the rules need."""

    loop: Loop
    loads: tuple[Load, ...]
    pieces: tuple[int, ...]
    tile: matrix.Tile
    kind: str
    bytes: int
    masked: bool

    def per_thread(self, i: int, width: int) -> int:
        """Accesses of `width` bytes per thread that load i takes."""
        box, of = self.loads[i].box, self.tile.dtype
        return max(1, box.shape[0] * box.shape[1] * of.bytes // (width * 32 * self.tile.warps))


def lets(program: Program) -> tuple[Let, ...]:
    return tuple(op for op in program.body if isinstance(op, Let))


def epilogue(program: Program, step: Step) -> tuple[fx.Effect, ...]:
    """Wait for the last matrix instruction, pack, regroup rows through shared memory, store."""
    acc = step.tile.accumulators
    stores = [op for op in program.body if isinstance(op, Store)]
    out: list[fx.Effect] = [fx.WaitMatrix(0), fx.Issue(rules.epilogue(acc))]
    for st in stores:
        t = program.tensor(st.box.tensor)
        staged = st.box.shape[0] * st.box.shape[1] * t.dtype.bytes
        out += [fx.Shared(2 * staged / 128, acc / 4)]
        out += [fx.Barrier()] * rules.epilogue_barriers(acc, step.tile.warps)
        out += [fx.Store(st.box, piece_bytes(st.box, t))]
    return tuple(out)
