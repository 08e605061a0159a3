"""Where scalar parameters are loaded from the constant bank, and into which kind of register.

An instruction takes one operand from a uniform register or as a constant. So a parameter is read through a uniform register (ULDC) where that
place is free, else through a register (LDC), which takes far longer: as the first operand of a compare, beside a constant or beside a
counter that is uniform itself.

A load is cheap to repeat and a register is dear, so compilers repeat it. It stands in the first block that needs it, in front of an
innermost loop, but inside a loop that holds loops. Blocks behind it use it again; a uniform register is not kept past another loop. What a
predicated access in a loop needs is loaded beside it, under its predicate; uniform instructions have none, so it is LDC.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.ir.simt.nodes import Imm, Reg, Value
from gpusim.lower.simt.writer import Writer


def in_registers(w: Writer, operands: Sequence[Value], *, compares: bool, uniform: bool, room_for_constant: bool) -> frozenset[int]:
    """Parameters among the operands that an instruction reads from registers. compares: it is a compare. uniform: the uniform pipe computes it.
    room_for_constant: constants beside a parameter are put into registers instead."""
    operands = [v for v in operands if v.dtype != "bool"]
    params = [v for v in operands if isinstance(v, Reg) and v.id in w.params]
    if not params or uniform:
        return frozenset()
    others = [v for v in operands if v not in params]
    taken = any(isinstance(v, Reg) and w.uniform(v.id) for v in others) or not room_for_constant and any(isinstance(v, Imm) and v.value for v in others)
    if compares:
        taken = taken or all(isinstance(v, Imm) for v in others)
        return frozenset(p.id for p in (params if taken else params[:-1]))
    return frozenset(p.id for p in (params if taken else params[1:]))
