# mypy: allow-untyped-defs
"""Dependent chains of each arithmetic instruction: their type, how they begin and end, and the one or two steps that alternate in them.

`OPERATIONS` names them as the measurements do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim import cuda
from gpusim.cuda import float16, float32, float64, int32, uint32, uint64
from gpusim.kernels.simt.probes import steps

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
def mixed(x):
    """32 random bits from x."""
    x = uint32((x ^ (x >> 16)) * 0x7FEB352D)
    x = uint32((x ^ (x >> 15)) * 0x846CA68B)
    return x ^ (x >> 16)


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


def _same(kind: Kind, step: Any) -> Operation:
    return Operation(kind, step, step)


#: name in the measurements -> what a step does
OPERATIONS: dict[str, Operation] = {
    "fadd": _same(F32, steps.add),
    "fmul": _same(F32, steps.multiply),
    "ffma": _same(F32, steps.fma),
    "fmnmx": Operation(F32, steps.least, steps.greatest),
    "fsetp_fsel_pair": Operation(F32, steps.compare_select, steps.compare_select_b),
    "iadd3": Operation(U32, steps.iadd3, steps.iadd3_b),
    "imad": Operation(U32, steps.imad, steps.imad_b),
    "imad_hi": Operation(U32, steps.imad_hi, steps.imad_hi_b),
    "imad_wide": _same(U64, steps.imad_wide),
    "lop3": Operation(U32, steps.lop3, steps.lop3_b),
    "shf": Operation(U32, steps.shift_left, steps.shift_right),
    "prmt": Operation(U32, steps.prmt, steps.prmt_b),
    "popc": _same(U32, steps.popc),
    "flo_bfind": _same(U32, steps.bfind),
    "imnmx": Operation(I32, steps.least, steps.greatest),
    "sel": Operation(U32, steps.select, steps.select_b),
    "isetp_sel_pair": Operation(U32, steps.compare_select, steps.compare_select_b),
    "mufu_ex2": _same(F32, steps.exp2),
    "mufu_rcp_then_fadd": _same(F32, steps.rcp_add),
    "mufu_rsq": _same(F32, steps.rsqrt),
    "mufu_lg2": _same(F32, steps.log2),
    "mufu_tanh": _same(F32, steps.tanh),
    "sin_approx_fmul_mufu": _same(F32, steps.sin),
    "__expf": _same(F32, steps.fast_exp),
    "div_full_f32": _same(F32, steps.divide),
    "dfma": _same(F64, steps.fma),
    "dadd": _same(F64, steps.add),
    "hfma2_f16": _same(F16, steps.fma),
    "hfma2_bf16": _same(F16, steps.fma),
    "hadd2_f16": Operation(F16, steps.add, steps.add_b),
    "f2fp_bf16x2": Operation(U32, steps.pack_bf16, steps.pack_bf16_b),
    "f2fp_f16x2": Operation(U32, steps.pack_fp16, steps.pack_fp16_b),
    "i2f": _same(U32, steps.int_to_float),
    "f2i": _same(U32, steps.float_to_int),
    "shfl_bfly": Operation(U32, steps.shuffle_1, steps.shuffle_2),
    "shfl_idx": _same(U32, steps.shuffle_idx),
    "vote_ballot_with_setp": Operation(U32, steps.ballot, steps.ballot_b),
    "redux_add_with_mov": _same(U32, steps.redux),
    "match_any": _same(U32, steps.match_any),
}
