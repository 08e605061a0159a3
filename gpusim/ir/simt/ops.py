"""The pure operations of SIMT programs: name -> how many arguments, and what the result's type follows from.

Results: "same" as the (equal) argument types; "bool"; "dst" (a conversion: the destination register says). Integers wrap.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    arity: int
    result: str
    text: str


def _rows(arity: int, result: str, names: str) -> dict[str, Rule]:
    return {name: Rule(arity, result, "") for name in names.split()}


OPS: dict[str, Rule] = {
    # coordinates; uniform or per lane
    **_rows(0, "dst", "tid.x tid.y tid.z ntid.x ntid.y ntid.z ctaid.x ctaid.y ctaid.z nctaid.x nctaid.y nctaid.z laneid warpid clock globaltimer smid"),
    **_rows(0, "dst", "clusterrank clustersize"),
    **_rows(1, "same", "mov neg abs not sqrt rsqrt rcp floor ceil trunc round"),
    **_rows(1, "same", "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc gamma lgamma"),
    # one instruction of the special function unit, ftz, about 2 ulp; computed here like the exact function and rounded
    **_rows(1, "same", "approx.ex2 approx.lg2 approx.rcp approx.rsqrt approx.sqrt approx.sin approx.cos approx.tanh"),
    **_rows(1, "same", "popc clz ffs brev bfind"),
    # div.full of PTX: right for every divisor, about 2 ulp (fdividef: 0 for a divisor above 2**126)
    **_rows(2, "same", "approx.div"),
    # with results below 2**-126: the same instruction between a test and two multiplications that run where it fails
    **_rows(1, "same", "fast.ex2"),
    # C semantics for integers: div and rem truncate; floordiv and mod are Python's
    **_rows(2, "same", "add sub mul div rem floordiv mod min max and or xor shl shr pow atan2 hypot fmod copysign mulhi fdividef"),
    **_rows(3, "same", "fma prmt"),
    **_rows(2, "bool", "eq ne lt le gt ge"),
    **_rows(1, "bool", "isnan isinf isfinite"),
    **_rows(3, "same", "select"),  # (condition: bool, if true, if false)
    # (index, extent): index + extent where index < 0, as Python wraps an inner dimension. Takes no instruction: CUDA C++ has none
    **_rows(2, "same", "wrap"),
    # (byte offset, bytes of an element): the index of the element there, as through a pointer. No multiple: an index that no array has
    **_rows(2, "same", "index.at"),
    **_rows(1, "dst", "cvt bitcast"),  # value conversion; the same bits
    **_rows(2, "dst", "pack"),  # two 16-bit (or two float32 -> bfloat16x2 in a uint32): low, high
    **_rows(2, "dst", "mul.wide"),  # 32 x 32 -> 64 bits
    **_rows(1, "dst", "unpack.lo unpack.hi"),  # half of a 32-bit register as bfloat16/float16
}
