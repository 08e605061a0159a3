"""What a kernel names as `cuda.X`. The objects are only identified: the front end translates them, nothing here computes.

Calling one outside a kernel is an error that says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A function of the machine. `name`: as written behind `cuda.`, which identifies it."""

    name: str
    doc: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GpusimError(f"cuda.{self.name} was called outside a kernel.", hint="It works only in a function decorated with @cuda.jit that is launched.")


@dataclass(frozen=True, slots=True)
class Special:
    """A value of the machine that a kernel reads without a call. `op`: the IR's operation, or "" for a constant."""

    name: str
    doc: str
    op: str = ""
    value: int = 0


class Namespace:
    """Intrinsics behind a dot."""

    __slots__ = ("name", "members")

    def __init__(self, name: str, **members: Intrinsic | Special) -> None:
        self.name, self.members = name, members

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self.members:
            raise AttributeError(f"cuda.{self.name} has no attribute {name!r}; it has {', '.join(sorted(self.members))}")
        return self.members[name]

    def __dir__(self) -> list[str]:
        return sorted(self.members)

    def __repr__(self) -> str:
        return f"cuda.{self.name}"


def _space(name: str, **docs: str) -> Namespace:
    return Namespace(name, **{k: Intrinsic(f"{name}.{k}", doc) for k, doc in docs.items()})


def _dims(name: str, op: str, doc: str) -> Namespace:
    return Namespace(name, **{d: Special(f"{name}.{d}", doc, f"{op}.{d}") for d in "xyz"})


# --- where a thread stands
threadIdx = _dims("threadIdx", "tid", "Index of the thread in its block.")
blockIdx = _dims("blockIdx", "ctaid", "Index of the block in the grid.")
blockDim = _dims("blockDim", "ntid", "Threads of a block.")
gridDim = _dims("gridDim", "nctaid", "Blocks of the grid.")
laneid = Special("laneid", "Lane of the thread in its warp, 0 to 31.", "laneid")
warpsize = Special("warpsize", "Threads of a warp: 32.", "", 32)
warpid = Special("warpid", "Warp of the thread in its block.", "warpid")
smid = Special("smid", "The SM that runs the block.", "smid")
grid = Intrinsic("grid", "grid(n): absolute position in the grid, as an integer (n = 1) or a tuple of n.")
gridsize = Intrinsic("gridsize", "gridsize(n): threads of the whole grid, as an integer (n = 1) or a tuple of n.")

# --- memory
shared = _space("shared", array="shared.array(shape, dtype): an array that the block shares; shape 0: sized at launch.")
local = _space("local", array="local.array(shape, dtype): an array of the thread.")
const = _space("const", array_like="const.array_like(a): a constant copy of the array a of the module.")
load2 = Intrinsic("load2", "load2(a, i): the tuple (a[i], a[i + 1]) in one access.")
load4 = Intrinsic("load4", "load4(a, i): the tuple of the four elements from a[i] in one access.")
load8 = Intrinsic("load8", "load8(a, i): the tuple of the eight elements from a[i] in one access.")
store2 = Intrinsic("store2", "store2(a, i, values): two elements from a[i] in one access.")
store4 = Intrinsic("store4", "store4(a, i, values): four elements from a[i] in one access.")
store8 = Intrinsic("store8", "store8(a, i, values): eight elements from a[i] in one access.")
ldg = Intrinsic("ldg", "ldg(a, i): a[i], which nothing writes during the kernel.")
ldcg = Intrinsic("ldcg", "ldcg(a, i): a[i] past the L1.")
index_at = Intrinsic(
    "index_at",
    "index_at(a, offset): the index of the element that begins `offset` bytes behind the first one. As with a pointer, the access multiplies nothing.",
)
cp_async = Intrinsic("cp_async", "cp_async(dst, i, src, j, count, valid=None): copy src[j:j + count] to shared dst[i:], asynchronously.")
cp_async_commit = Intrinsic("cp_async_commit", "cp_async_commit(): close a group of asynchronous copies.")
cp_async_wait = Intrinsic("cp_async_wait", "cp_async_wait(n): until at most n groups of this thread are open.")

bulk_copy = Intrinsic(
    "bulk_copy", "bulk_copy(dst, i, src, j, count, bars, k): the copy engine copies src[j:j + count] to shared dst[i:]; its bytes count at mbarrier bars[k]."
)
mbarrier = _space(
    "mbarrier",
    init="mbarrier.init(bars, i, arrivals): bars[i] of a shared uint64 array becomes a barrier of so many arrivals a phase.",
    arrive="mbarrier.arrive(bars, i): this thread arrives.",
    arrive_expect_tx="mbarrier.arrive_expect_tx(bars, i, bytes): arrive, and the phase waits for so many more bytes of bulk copies.",
    expect_tx="mbarrier.expect_tx(bars, i, bytes): the phase waits for so many more bytes of bulk copies.",
    wait="mbarrier.wait(bars, i, parity): until the phase of that parity (0, 1, 0, ...) is complete.",
)
cluster = _space(
    "cluster",
    sync="cluster.sync(): wait for all threads of the cluster.",
    arrive="cluster.arrive(): arrive at the barrier of the cluster, with all writes so far.",
    arrive_relaxed="cluster.arrive_relaxed(): arrive, without a word on earlier writes.",
    wait="cluster.wait(): until all threads of the cluster have arrived.",
    block_rank="cluster.block_rank(): number of the block in its cluster.",
    num_blocks="cluster.num_blocks(): blocks of the cluster.",
    map_shared="cluster.map_shared(array, rank): the same shared array of the block with that rank.",
)

# --- together
syncthreads = Intrinsic("syncthreads", "syncthreads(): wait for all threads of the block.")
syncthreads_count = Intrinsic("syncthreads_count", "syncthreads_count(p): barrier; how many threads have a true p.")
syncthreads_and = Intrinsic("syncthreads_and", "syncthreads_and(p): barrier; 1 if p is true in all threads, else 0.")
syncthreads_or = Intrinsic("syncthreads_or", "syncthreads_or(p): barrier; 1 if p is true in any thread, else 0.")
syncwarp = Intrinsic("syncwarp", "syncwarp(mask=0xffffffff): wait for the lanes of the mask.")
threadfence = Intrinsic("threadfence", "threadfence(): order memory accesses as the device sees them.")
threadfence_block = Intrinsic("threadfence_block", "threadfence_block(): order memory accesses as the block sees them.")
threadfence_system = Intrinsic("threadfence_system", "threadfence_system(): order memory accesses as the system sees them.")
shfl_sync = Intrinsic("shfl_sync", "shfl_sync(mask, value, lane): the value of that lane.")
shfl_up_sync = Intrinsic("shfl_up_sync", "shfl_up_sync(mask, value, delta): the value of the lane delta below.")
shfl_down_sync = Intrinsic("shfl_down_sync", "shfl_down_sync(mask, value, delta): the value of the lane delta above.")
shfl_xor_sync = Intrinsic("shfl_xor_sync", "shfl_xor_sync(mask, value, lanemask): the value of the lane with these bits flipped.")
ballot_sync = Intrinsic("ballot_sync", "ballot_sync(mask, p): one bit per lane whose p is true.")
any_sync = Intrinsic("any_sync", "any_sync(mask, p): true if p is true in any lane.")
all_sync = Intrinsic("all_sync", "all_sync(mask, p): true if p is true in all lanes.")
eq_sync = Intrinsic("eq_sync", "eq_sync(mask, p): true if p is the same in all lanes.")
match_any_sync = Intrinsic("match_any_sync", "match_any_sync(mask, value): the lanes that hold the same value.")
match_all_sync = Intrinsic("match_all_sync", "match_all_sync(mask, value): (the mask and True) if all lanes hold the same value, else (0, False).")
activemask = Intrinsic("activemask", "activemask(): the lanes that run together now.")
lanemask_lt = Intrinsic("lanemask_lt", "lanemask_lt(): a bit for each lane below this one.")
redux_add_sync = Intrinsic("redux_add_sync", "redux_add_sync(mask, value): the sum over the lanes.")
redux_min_sync = Intrinsic("redux_min_sync", "redux_min_sync(mask, value): the least value of the lanes.")
redux_max_sync = Intrinsic("redux_max_sync", "redux_max_sync(mask, value): the greatest value of the lanes.")
redux_and_sync = Intrinsic("redux_and_sync", "redux_and_sync(mask, value): bitwise and over the lanes.")
redux_or_sync = Intrinsic("redux_or_sync", "redux_or_sync(mask, value): bitwise or over the lanes.")
redux_xor_sync = Intrinsic("redux_xor_sync", "redux_xor_sync(mask, value): bitwise exclusive or over the lanes.")
atomic = _space(
    "atomic",
    add="atomic.add(a, i, v): a[i] += v; the old value.",
    sub="atomic.sub(a, i, v): a[i] -= v; the old value.",
    min="atomic.min(a, i, v): a[i] = min(a[i], v); the old value.",
    max="atomic.max(a, i, v): a[i] = max(a[i], v); the old value.",
    nanmin="atomic.nanmin(a, i, v): min that ignores NaN; the old value.",
    nanmax="atomic.nanmax(a, i, v): max that ignores NaN; the old value.",
    and_="atomic.and_(a, i, v): a[i] &= v; the old value.",
    or_="atomic.or_(a, i, v): a[i] |= v; the old value.",
    xor="atomic.xor(a, i, v): a[i] ^= v; the old value.",
    exch="atomic.exch(a, i, v): a[i] = v; the old value.",
    inc="atomic.inc(a, i, v): a[i] = 0 if a[i] >= v else a[i] + 1; the old value.",
    dec="atomic.dec(a, i, v): a[i] = v if a[i] == 0 or a[i] > v else a[i] - 1; the old value.",
    cas="atomic.cas(a, i, expected, new): a[i] = new if a[i] == expected; the old value.",
    compare_and_swap="atomic.compare_and_swap(a, expected, new): cas of a[0]; the old value.",
)

cg = _space("cg", this_grid="cg.this_grid(): the group of all threads of the grid; its sync() waits for all of them.")
grid_group = _space("grid_group", sync="sync(): wait for all threads of the grid.")

# --- arithmetic
popc = Intrinsic("popc", "popc(x): how many bits are set.")
brev = Intrinsic("brev", "brev(x): the bits in reverse order.")
clz = Intrinsic("clz", "clz(x): how many leading bits are zero.")
ffs = Intrinsic("ffs", "ffs(x): position of the lowest set bit, from 1; 0 if none.")
bfind = Intrinsic("bfind", "bfind(x): position of the highest set bit, from 0; -1 if none.")
fma = Intrinsic("fma", "fma(a, b, c): a * b + c with one rounding.")
cbrt = Intrinsic("cbrt", "cbrt(x): the cube root.")
selp = Intrinsic("selp", "selp(p, a, b): a if p else b, without a branch.")
mulhi = Intrinsic("mulhi", "mulhi(a, b): the upper half of the product.")
prmt = Intrinsic("prmt", "prmt(a, b, selector): four bytes picked from the eight of a and b.")
bitcast = Intrinsic("bitcast", "bitcast(x, type): the same bits as another type of that size.")
pack_bf16 = Intrinsic("pack_bf16", "pack_bf16(lo, hi): two numbers rounded to bfloat16 in a uint32.")
pack_fp16 = Intrinsic("pack_fp16", "pack_fp16(lo, hi): two numbers rounded to float16 in a uint32.")
unpack_bf16 = Intrinsic("unpack_bf16", "unpack_bf16(x): the two bfloat16 of a uint32 as float32: (lo, hi).")
unpack_fp16 = Intrinsic("unpack_fp16", "unpack_fp16(x): the two float16 of a uint32 as float32: (lo, hi).")
approx_div = Intrinsic("approx_div", "approx_div(x, y): x / y without the exact rounding, about 2 ulp (float32); div.full of PTX.")
approx_exp2 = Intrinsic("approx_exp2", "approx_exp2(x): 2**x in one instruction, about 2 ulp (float32).")
approx_log2 = Intrinsic("approx_log2", "approx_log2(x): log2(x) in one instruction, about 2 ulp (float32).")
approx_rcp = Intrinsic("approx_rcp", "approx_rcp(x): 1 / x in one instruction, about 1 ulp (float32).")
approx_rsqrt = Intrinsic("approx_rsqrt", "approx_rsqrt(x): 1 / sqrt(x) in one instruction, about 2 ulp (float32).")
approx_sin = Intrinsic("approx_sin", "approx_sin(x): sin(x) in one instruction (float32).")
approx_cos = Intrinsic("approx_cos", "approx_cos(x): cos(x) in one instruction (float32).")
approx_tanh = Intrinsic("approx_tanh", "approx_tanh(x): tanh(x) in one instruction (float32).")
rsqrt = Intrinsic("rsqrt", "rsqrt(x): 1 / sqrt(x).")
rcp = Intrinsic("rcp", "rcp(x): 1 / x, rounded to nearest.")

# --- the matrix unit
ldmatrix = Intrinsic("ldmatrix", "ldmatrix(a, i, n, trans=False): n (1, 2, 4) 8x8 matrices of 16-bit elements from shared memory, as a tuple of uint32.")
mma = Intrinsic(
    "mma",
    "mma(a, b, c, fmt='bf16', shape=None, sums=None): a * b + c of a warp, as tuples of registers; fmt bf16, fp16, tf32, fp8, int8 or fp64, shape 'm16n8k16'"
    " and its like, sums 'fp16' for accumulators of that type.",
)
mma_m16n8k16 = Intrinsic("mma_m16n8k16", "mma_m16n8k16(a, b, c, fmt='bf16'): a * b + c; tuples of 4 and 2 uint32, and 4 float32.")

wgmma = Intrinsic(
    "wgmma",
    "wgmma(acc, i, a, b, n, fmt='bf16'): n // 2 accumulators of the local array acc from i on += a * b of a warpgroup: 64 rows, n columns, 32 bytes along K,"
    " asynchronously. b, and a if it is not 4 uint32: (shared array, index) of rows of 128 bytes in which 16-byte chunk c of row r lies at c ^ (r % 8).",
)
wgmma_fence = Intrinsic("wgmma_fence", "wgmma_fence(): the warpgroup's registers and shared memory are ready for wgmma.")
wgmma_commit = Intrinsic("wgmma_commit", "wgmma_commit(): close a group of wgmma.")
wgmma_wait = Intrinsic("wgmma_wait", "wgmma_wait(n): until at most n groups of wgmma are open.")
fence_async = Intrinsic("fence_async", "fence_async(): shared memory that was written is seen by asynchronous units, wgmma among them.")

# --- the rest
nanosleep = Intrinsic("nanosleep", "nanosleep(ns): the thread pauses about so long.")
clock64 = Intrinsic("clock64", "clock64(): cycles of the SM.")
clock = Intrinsic("clock", "clock(): cycles of the SM, the lower 32 bits.")
globaltimer = Intrinsic("globaltimer", "globaltimer(): nanoseconds of the device.")
range = Intrinsic("range", "range(..., unroll=n): as Python's range; n copies of the body per iteration (0: unrolled wholly, 1: not).")
static_range = Intrinsic("static_range", "static_range(...): a range that is unrolled wholly.")

_HALF = {
    **dict.fromkeys("hadd hsub hmul hdiv".split(), "of two float16"),
    **dict.fromkeys("heq hne hlt hle hgt hge".split(), "comparison of two float16"),
    **dict.fromkeys("hmin hmax".split(), "of two float16"),
    **dict.fromkeys("hneg habs".split(), "of a float16"),
    **dict.fromkeys("hsin hcos hlog hlog2 hlog10 hexp hexp2 hexp10 hsqrt hrsqrt hrcp hfloor hceil htrunc hrint".split(), "of a float16"),
    "hfma": "a * b + c of float16, with one rounding",
}
fp16 = _space("fp16", **{name: f"{name}: {doc}." for name, doc in _HALF.items()})

_FAST = "fast_expf fast_exp10f fast_logf fast_log2f fast_log10f fast_sinf fast_cosf fast_tanf fast_fdividef fast_powf"
_EXACT1 = (
    "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt cbrt "
    "floor ceil trunc round rint nearbyint fabs erf erfc tgamma lgamma"
)
_EXACT2 = "pow atan2 hypot fmod copysign fdim fmin fmax"
_INTEGER = "popc popcll clz clzll ffs ffsll brev brevll mulhi umulhi mul64hi umul64hi abs llabs min max umin umax llmin llmax"
_BITS = "float_as_int int_as_float float_as_uint uint_as_float double_as_longlong longlong_as_double"
_ROUNDED = "fadd_rn fsub_rn fmul_rn fdiv_rn frcp_rn fsqrt_rn fmaf_rn dadd_rn dsub_rn dmul_rn ddiv_rn drcp_rn dsqrt_rn fma_rn"


def _libdevice() -> Namespace:
    both = [n + s for n in f"{_EXACT1} {_EXACT2} fma".split() for s in ("", "f") if not (n == "fabs" and s == "f")]
    names = [*both, "fabsf", "saturatef", *f"{_FAST} {_INTEGER} {_BITS} {_ROUNDED}".split()]
    return _space("libdevice", **{n: f"libdevice's {n}." for n in names})


libdevice = _libdevice()


def names() -> dict[str, Any]:
    """Everything this module offers, by the name behind `cuda.`."""
    return {n: v for n, v in globals().items() if isinstance(v, Intrinsic | Special | Namespace) and n != "grid_group"}


__all__ = sorted(names())
