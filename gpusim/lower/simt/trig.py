"""Sine and cosine of float32: reduction to a quarter turn, a branch around the exact reduction of large arguments, a polynomial.

Both of one argument share the reduction. The branch is always issued, the exact reduction never: it is for arguments above 105615.

Evidence: `compiled/ew_sin2cos2_f32.sassops`, and the counters of kernels that compute one sine an element: 26 instructions, of which 17.6 on the FMA pipe
(coefficients are made there), 4.5 on the ALU, one conversion, 2 that branch. Sine and cosine of one element have one conversion.
"""

from __future__ import annotations

from gpusim.ir.simt.nodes import Op
from gpusim.lower.simt.writer import Writer

#: behind the reduction: test and branch, coefficients by quadrant, polynomial, sign
_REST = tuple(
    "FSETP BSSY BRA BSYNC LOP3 HFMA2.MMA HFMA2.MMA FMUL FSEL HFMA2.MMA FFMA HFMA2.MMA HFMA2.MMA FFMA HFMA2.MMA FFMA ISETP HFMA2.MMA FFMA FFMA".split()
)


#: the tests of the argument, kept for the second function that needs them: there are few predicates (listing: two P2R an element, LOP3 and ISETP later)
_KEPT = ("P2R", "P2R", "LOP3", "ISETP")


def trig(w: Writer, op: Op) -> None:
    """sin and cos."""
    x = w.operands(op.args)
    again = w.find(("turns", x), w.block) is not None
    turns, left = _reduced(w, x)
    if again:
        tests = w.fresh()
        for name in _KEPT:
            w.emit(name, (w.fresh(0),) if name == "ISETP" else (tests,), turns)
    value: tuple[int, ...] = left
    for name in _REST[:-1]:
        made = () if name in ("BSSY", "BRA", "BSYNC") else (w.fresh(0 if "SETP" in name else 1),)
        w.emit(name, made, (*x, *left) if name == "FSETP" else (*value, *turns) if name in ("LOP3", "FSEL", "ISETP") else value)
        value = made if name in ("FMUL", "FFMA") else value
    w.emit(_REST[-1], (w.define(op.dst),), (*value, *left, *turns))


def _reduced(w: Writer, x: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(number of quarter turns, what is left of x)."""
    found = w.find(("turns", x), w.block), w.find(("left", x), w.block)
    if found[0] is not None and found[1] is not None:
        return (found[0],), (found[1],)
    turns = left = 0
    value = x
    for name in ("FMUL", "F2I", "I2FP", "FFMA", "FFMA", "FFMA"):
        left = w.fresh()
        w.emit(name, (left,), (*value, *(x if name == "FFMA" else ())))
        turns = left if name == "F2I" else turns
        value = (left,)
    w.remember(("turns", x), w.block, turns)
    w.remember(("left", x), w.block, left)
    return (turns,), (left,)
