# mypy: allow-untyped-defs
"""One step of a dependent chain for each arithmetic instruction: device functions (x, a, b, c, d) -> x.

Two of them alternate where one alone could be folded with itself. `OPERATIONS` names them as the measurements do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim import cuda
from gpusim.cuda import float16, float32, float64, int32, uint32, uint64

FULL = 0xFFFFFFFF
HALF, SCALE = float32(0.5), float32(2.0**-17)


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of chain. start: random bits (uint32) -> a first value. bits: a value -> uint32, so that the chain is used."""

    dtype: Any
    start: Any
    bits: Any


@dataclass(frozen=True, slots=True)
class Operation:
    kind: Kind
    even: Any
    odd: Any


@cuda.jit(device=True)
def start_f32(h):
    return HALF + float32(h & 0xFFFF) * SCALE


@cuda.jit(device=True)
def start_f64(h):
    return 0.5 + float64(h & 0xFFFF) * 2.0**-17


@cuda.jit(device=True)
def start_f16(h):
    return float16(HALF + float32(h & 0xFFFF) * SCALE)


@cuda.jit(device=True)
def start_u32(h):
    return uint32(h | 1)


@cuda.jit(device=True)
def start_i32(h):
    return int32(h | 1)


@cuda.jit(device=True)
def start_u64(h):
    return uint64(h) * uint64(0x9E3779B97F4A7C15)


@cuda.jit(device=True)
def bits_f32(x):
    return cuda.bitcast(x, uint32)


@cuda.jit(device=True)
def bits_u32(x):
    return uint32(x)


@cuda.jit(device=True)
def bits_wide(x):
    return uint32(cuda.bitcast(x, uint64) >> uint64(32))


@cuda.jit(device=True)
def bits_f16(x):
    return cuda.bitcast(float32(x), uint32)


F32 = Kind(float32, start_f32, bits_f32)
F64 = Kind(float64, start_f64, bits_wide)
F16 = Kind(float16, start_f16, bits_f16)
U32 = Kind(uint32, start_u32, bits_u32)
I32 = Kind(int32, start_i32, bits_u32)
U64 = Kind(uint64, start_u64, bits_wide)


@cuda.jit(device=True)
def add(x, a, b, c, d):
    return x + a


@cuda.jit(device=True)
def add_b(x, a, b, c, d):
    return x + b


@cuda.jit(device=True)
def multiply(x, a, b, c, d):
    return x * a


@cuda.jit(device=True)
def fma(x, a, b, c, d):
    return cuda.fma(x, a, b)


@cuda.jit(device=True)
def least(x, a, b, c, d):
    return min(x, a)


@cuda.jit(device=True)
def greatest(x, a, b, c, d):
    return max(x, b)


@cuda.jit(device=True)
def compare_select(x, a, b, c, d):
    return cuda.selp(x > a, b, c)


@cuda.jit(device=True)
def compare_select_b(x, a, b, c, d):
    return cuda.selp(x > b, c, d)


@cuda.jit(device=True)
def select(x, a, b, c, d):
    return cuda.selp(d > b, b, x)


@cuda.jit(device=True)
def select_b(x, a, b, c, d):
    return cuda.selp(c > d, x, a)


@cuda.jit(device=True)
def iadd3(x, a, b, c, d):
    return uint32(x + a + b)


@cuda.jit(device=True)
def iadd3_b(x, a, b, c, d):
    return uint32(x + c + d)


@cuda.jit(device=True)
def imad(x, a, b, c, d):
    return uint32(x * a + b)


@cuda.jit(device=True)
def imad_b(x, a, b, c, d):
    return uint32(x * c + d)


@cuda.jit(device=True)
def imad_hi(x, a, b, c, d):
    return cuda.mulhi(x, a)


@cuda.jit(device=True)
def imad_hi_b(x, a, b, c, d):
    return cuda.mulhi(x, c)


@cuda.jit(device=True)
def imad_wide(x, a, b, c, d):
    return uint64(uint32(x)) * uint64(uint32(x >> uint64(32)))


@cuda.jit(device=True)
def lop3(x, a, b, c, d):
    return uint32((x & a) ^ b)


@cuda.jit(device=True)
def lop3_b(x, a, b, c, d):
    return uint32((x | c) & d)


@cuda.jit(device=True)
def shift_left(x, a, b, c, d):
    return uint32(x << a)


@cuda.jit(device=True)
def shift_right(x, a, b, c, d):
    return uint32(x >> c)


@cuda.jit(device=True)
def prmt(x, a, b, c, d):
    return cuda.prmt(x, a, b)


@cuda.jit(device=True)
def prmt_b(x, a, b, c, d):
    return cuda.prmt(x, c, d)


@cuda.jit(device=True)
def popc(x, a, b, c, d):
    return uint32(cuda.popc(x))


@cuda.jit(device=True)
def bfind(x, a, b, c, d):
    return uint32(cuda.bfind(x))


@cuda.jit(device=True)
def exp2(x, a, b, c, d):
    return cuda.approx_exp2(x)


@cuda.jit(device=True)
def rcp_add(x, a, b, c, d):
    return cuda.approx_rcp(x) + a


@cuda.jit(device=True)
def rsqrt(x, a, b, c, d):
    return cuda.approx_rsqrt(x)


@cuda.jit(device=True)
def log2(x, a, b, c, d):
    return cuda.approx_log2(x)


@cuda.jit(device=True)
def tanh(x, a, b, c, d):
    return cuda.approx_tanh(x)


@cuda.jit(device=True)
def sin(x, a, b, c, d):
    return cuda.approx_sin(x)


@cuda.jit(device=True)
def fast_exp(x, a, b, c, d):
    return cuda.libdevice.fast_expf(x)


@cuda.jit(device=True)
def divide(x, a, b, c, d):
    return cuda.libdevice.fast_fdividef(a, x)


@cuda.jit(device=True)
def pack_bf16(x, a, b, c, d):
    return cuda.pack_bf16(cuda.bitcast(x, float32), cuda.bitcast(a, float32))


@cuda.jit(device=True)
def pack_bf16_b(x, a, b, c, d):
    return cuda.pack_bf16(cuda.bitcast(x, float32), cuda.bitcast(b, float32))


@cuda.jit(device=True)
def pack_fp16(x, a, b, c, d):
    return cuda.pack_fp16(cuda.bitcast(x, float32), cuda.bitcast(a, float32))


@cuda.jit(device=True)
def pack_fp16_b(x, a, b, c, d):
    return cuda.pack_fp16(cuda.bitcast(x, float32), cuda.bitcast(b, float32))


@cuda.jit(device=True)
def int_to_float(x, a, b, c, d):
    return cuda.bitcast(float32(cuda.bitcast(x, int32)), uint32)


@cuda.jit(device=True)
def float_to_int(x, a, b, c, d):
    return cuda.bitcast(int32(cuda.bitcast(x, float32)), uint32)


@cuda.jit(device=True)
def shuffle_1(x, a, b, c, d):
    return cuda.shfl_xor_sync(FULL, x, 1)


@cuda.jit(device=True)
def shuffle_2(x, a, b, c, d):
    return cuda.shfl_xor_sync(FULL, x, 2)


@cuda.jit(device=True)
def shuffle_idx(x, a, b, c, d):
    return cuda.shfl_sync(FULL, x, x)


@cuda.jit(device=True)
def ballot(x, a, b, c, d):
    return uint32(cuda.ballot_sync(FULL, x > a))


@cuda.jit(device=True)
def ballot_b(x, a, b, c, d):
    return uint32(cuda.ballot_sync(FULL, x > b))


@cuda.jit(device=True)
def redux(x, a, b, c, d):
    return uint32(cuda.redux_add_sync(FULL, x))


@cuda.jit(device=True)
def match_any(x, a, b, c, d):
    return uint32(cuda.match_any_sync(FULL, x))


def _same(kind: Kind, step: Any) -> Operation:
    return Operation(kind, step, step)


#: name in the measurements -> what a step does
OPERATIONS: dict[str, Operation] = {
    "fadd": _same(F32, add),
    "fmul": _same(F32, multiply),
    "ffma": _same(F32, fma),
    "fmnmx": Operation(F32, least, greatest),
    "fsetp_fsel_pair": Operation(F32, compare_select, compare_select_b),
    "iadd3": Operation(U32, iadd3, iadd3_b),
    "imad": Operation(U32, imad, imad_b),
    "imad_hi": Operation(U32, imad_hi, imad_hi_b),
    "imad_wide": _same(U64, imad_wide),
    "lop3": Operation(U32, lop3, lop3_b),
    "shf": Operation(U32, shift_left, shift_right),
    "prmt": Operation(U32, prmt, prmt_b),
    "popc": _same(U32, popc),
    "flo_bfind": _same(U32, bfind),
    "imnmx": Operation(I32, least, greatest),
    "sel": Operation(U32, select, select_b),
    "isetp_sel_pair": Operation(U32, compare_select, compare_select_b),
    "mufu_ex2": _same(F32, exp2),
    "mufu_rcp_then_fadd": _same(F32, rcp_add),
    "mufu_rsq": _same(F32, rsqrt),
    "mufu_lg2": _same(F32, log2),
    "mufu_tanh": _same(F32, tanh),
    "sin_approx_fmul_mufu": _same(F32, sin),
    "__expf": _same(F32, fast_exp),
    "div_full_f32": _same(F32, divide),
    "dfma": _same(F64, fma),
    "dadd": _same(F64, add),
    "hfma2_f16": _same(F16, fma),
    "hfma2_bf16": _same(F16, fma),
    "hadd2_f16": Operation(F16, add, add_b),
    "f2fp_bf16x2": Operation(U32, pack_bf16, pack_bf16_b),
    "f2fp_f16x2": Operation(U32, pack_fp16, pack_fp16_b),
    "i2f": _same(U32, int_to_float),
    "f2i": _same(U32, float_to_int),
    "shfl_bfly": Operation(U32, shuffle_1, shuffle_2),
    "shfl_idx": _same(U32, shuffle_idx),
    "vote_ballot_with_setp": Operation(U32, ballot, ballot_b),
    "redux_add_with_mov": _same(U32, redux),
    "match_any": _same(U32, match_any),
}
