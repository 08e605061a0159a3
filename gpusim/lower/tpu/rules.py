"""What a compiler does for a TPU beyond translating ops, as rules that a reader can see and switch off."""

from __future__ import annotations

from gpusim.ir.ops import Dot, Load, Store
from gpusim.ir.program import Program, walk
from gpusim.spec.resolve_tpu import TpuMachine

#: grid steps that a core keeps at least, so that copies have something to hide behind
LEAST_STEPS = 16
#: share of the vector memory that blocks which are put together may fill
FILLED = 0.5


def blocks_together(program: Program, vmem_bytes: int, m: TpuMachine) -> int:
    """How many consecutive blocks share their steps: 1, unless every block is a single row or a stretch of a vector, as kernels have it that are
    written for warps. One row fills an eighth of a register, and a step costs the same for one row as for many.

    A power of two, at most `grid.together` of the specification (1 switches this off); as many as leave half of the vector memory and enough steps.
    """
    ops = list(walk(program.body))
    boxes = [op.box for op in ops if isinstance(op, Load | Store)]
    if any(isinstance(op, Dot) for op in ops) or any(len(box.shape) > 1 and box.shape[-2] != 1 for box in boxes):
        return 1
    room = FILLED * m.vmem_bytes / max(1, vmem_bytes)
    most = min(m.together, room, program.ctas / (m.cores * LEAST_STEPS))
    return 1 << max(0, int(most).bit_length() - 1)
