"""Which pipe an element of a tile op needs: one row a function. Instructions per element and lane.

Evidence: SASS listings of the measured attention kernels (`compiled/flash_*.sassops`, 12 listings): FMUL, FFMA, FADD for products and sums, FMNMX for
maxima, MUFU.EX2 for exp2, F2FP for two casts, FSEL for where.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pipes:
    """Instructions per element on the FMA pipe, the ALU, the special-function unit, 64-bit multiply-adds, and ALU instructions that write
    predicates."""

    fma: float = 0.0
    alu: float = 0.0
    xu: float = 0.0
    wide: float = 0.0
    tests: float = 0.0


_FMA, _ALU = Pipes(fma=1), Pipes(alu=1)
#: a reciprocal or square root with the multiply, compare and select around it
_ROOT = Pipes(fma=2, alu=2, xu=1)

MAPS: dict[str, Pipes] = {
    **dict.fromkeys(("add", "sub", "mul", "fma", "neg"), _FMA),
    **dict.fromkeys(("maximum", "minimum", "where", "abs", "relu"), _ALU),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne"), Pipes(tests=1)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not"), Pipes(alu=0.5)),
    **dict.fromkeys(("bit_and", "bit_or", "bit_xor", "bit_not", "shl", "shr"), _ALU),
    **dict.fromkeys(("sqrt", "rsqrt", "sin", "cos"), _ROOT),
    "exp2": Pipes(xu=1),
    "exp": Pipes(fma=1, xu=1),
    "log2": Pipes(fma=1, alu=2, xu=1),
    "log": Pipes(fma=2, alu=2, xu=1),
    "tanh": Pipes(xu=1),
    "sigmoid": Pipes(fma=2, xu=2),
    # FMUL by the reciprocal of the row, with a compare and selects for tiny and huge divisors (listings: 6 for each element of the output)
    "div": Pipes(fma=2, alu=4),
    # ten rounds of two 32 x 32 -> 64 bit products and four xors give four words
    **dict.fromkeys((f"philox{i}" for i in range(4)), Pipes(wide=20, alu=40)),
    "uniform": Pipes(fma=1, alu=1),
}

#: a comparison of places in the sequence. The loop's counter is 64 bits wide where addresses are made of it, and a 64-bit comparison takes two
#: instructions; half a one for making the place (listings, causal against full: 114 more for 32 scores, 64 of them selects and sums)
COMPARE_PLACES = Pipes(alu=0.5, tests=2)
#: F2FP packs two results into a register
CAST = Pipes(alu=0.5)
REDUCES = {"max": _ALU, "min": _ALU, "sum": _FMA}
