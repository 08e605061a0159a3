"""Where scalar parameters are loaded from the constant bank, and into which kind of register.

An instruction takes one operand from a uniform register or as a constant. So a parameter is read through a uniform register (ULDC) where that
place is free, else through a register (LDC), which takes far longer: as the first operand of a compare, beside a constant or beside a
counter that is uniform itself.

A load is cheap to repeat and a register is dear, so compilers repeat it. It stands in the first block that needs it, in front of an
innermost loop, but inside a loop that holds loops. Blocks behind it use it again; a uniform register is not kept past another loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.ir.simt.nodes import Imm, Op, Reg, Value
from gpusim.lower.simt.writer import Writer

COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def in_registers(w: Writer, op: Op, operands: Sequence[Value], uniform: bool, room_for_constant: bool) -> frozenset[int]:
    """Parameters among the operands that `op` reads from registers. uniform: the uniform pipe computes it. room_for_constant: constants beside a
    parameter are put into registers instead."""
    params = [v for v in operands if isinstance(v, Reg) and v.id in w.params]
    if not params or uniform:
        return frozenset()
    others = [v for v in operands if not (isinstance(v, Reg) and v.id in w.params)]
    taken = any(isinstance(v, Reg) and w.uniform(v.id) for v in others) or not room_for_constant and any(isinstance(v, Imm) and v.value for v in others)
    if op.op in COMPARES:
        taken = taken or all(isinstance(v, Imm) for v in others)
        return frozenset(p.id for p in (params if taken else params[:-1]))
    return frozenset(p.id for p in (params if taken else params[1:]))
