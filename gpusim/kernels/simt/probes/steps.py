# mypy: allow-untyped-defs
"""One step of a dependent chain for each arithmetic instruction: device functions (x, a, b, c, d) -> x.

Where one step could be folded with itself there are two, which alternate.
"""

from __future__ import annotations

from gpusim import cuda
from gpusim.cuda import float32, int32, uint32, uint64

FULL = 0xFFFFFFFF


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
    return uint32(x << (a & 31))


@cuda.jit(device=True)
def shift_right(x, a, b, c, d):
    return uint32(x >> (c & 31))


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
    return cuda.approx_div(a, x)


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
