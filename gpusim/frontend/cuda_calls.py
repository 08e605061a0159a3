"""Intrinsics of `cuda`: position, bits, and one-instruction functions."""

from __future__ import annotations

from gpusim.frontend import arrays
from gpusim.frontend.arithmetic import apply
from gpusim.frontend.builtin_calls import ranged
from gpusim.frontend.calls import Call, Handler
from gpusim.frontend.cluster_calls import CLUSTER
from gpusim.frontend.logic import truth
from gpusim.frontend.math_calls import cube_root
from gpusim.frontend.matrix_calls import MATRIX
from gpusim.frontend.memory_calls import MEMORY, NOTHING
from gpusim.frontend.operands import Group, Operand, Scalar, literal
from gpusim.frontend.together_calls import TOGETHER
from gpusim.frontend.typing import BITS, UNSIGNED, integer_result, is_float, mixed_float, real, unify
from gpusim.ir.simt.nodes import Imm, Sleep, Value


def _position(made: Call, dim: str) -> Value:
    ctx = made.ctx
    ctaid, ntid, tid = (ctx.cast(ctx.op(f"{what}.{dim}", (), "int32"), "int64") for what in ("ctaid", "ntid", "tid"))
    return ctx.op("add", (ctx.op("mul", (ctaid, ntid), "int64"), tid), "int64")


def _extent(made: Call, dim: str) -> Value:
    ctx = made.ctx
    nctaid, ntid = (ctx.cast(ctx.op(f"{what}.{dim}", (), "int32"), "int64") for what in ("nctaid", "ntid"))
    return ctx.op("mul", (nctaid, ntid), "int64")


def _per_dimension(made: Call, one: object) -> Operand:
    count = literal(made.bound("ndim")[0] or NOTHING)
    if count is None or count.value not in (1, 2, 3):
        made.refuse(f"{made.text} takes 1, 2 or 3.")
    get = _position if one == "grid" else _extent
    values = [Scalar(get(made, d), None, True) for d in "xyz"[: int(count.value)]]  # type: ignore[union-attr]
    return values[0] if len(values) == 1 else Group(tuple(values))


def bits(op: str) -> Handler:
    """popc and its like, on 32 or 64 bits."""

    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        if is_float(a.dtype):
            made.refuse(f"{made.text} of {a.dtype}.", "Convert it with int32(), or keep the bits with cuda.bitcast.")
        width = 64 if BITS[a.dtype] == 64 else 32
        dtype = f"uint{width}" if a.dtype in UNSIGNED else f"int{width}"
        value = made.ctx.op(op, (made.ctx.cast(a.value, dtype),), dtype)
        result = dtype if op == "brev" else "int32"
        return Scalar(made.ctx.cast(value, result), None, op != "bfind" and result == "int32")

    return handle


def _fma(made: Call) -> Operand:
    a, b, c = made.numbers("a b c")
    dtype = real(mixed_float(mixed_float(a.dtype, b.dtype), c.dtype)) if any(is_float(v.dtype) for v in (a, b, c)) else "float64"
    return Scalar(made.ctx.op("fma", tuple(made.ctx.cast(v.value, dtype) for v in (a, b, c)), dtype))


def _selp(made: Call) -> Operand:
    p, a, b = made.numbers("p a b")
    dtype = unify(a.dtype, b.dtype)
    cond = truth(made.ctx, p, made.node)
    return Scalar(made.ctx.op("select", (cond, made.ctx.cast(a.value, dtype), made.ctx.cast(b.value, dtype)), dtype))


def _mulhi(made: Call) -> Operand:
    a, b = made.numbers("a b")
    if is_float(a.dtype) or is_float(b.dtype):
        made.refuse(f"{made.text} of {a.dtype} and {b.dtype}.", "It multiplies integers.")
    dtype = a.dtype if a.dtype == b.dtype and BITS[a.dtype] >= 32 else integer_result(a.dtype, b.dtype)
    return apply(made.ctx, "mulhi", a, b, dtype)


def _prmt(made: Call) -> Operand:
    args = tuple(made.ctx.cast(v.value, "uint32") for v in made.numbers("a b selector"))
    return Scalar(made.ctx.op("prmt", args, "uint32"))


def _bitcast(made: Call) -> Operand:
    value, kind = made.bound("x type")
    number = made.ctx.scalar(value or NOTHING, made.node)
    dtype = arrays.element_type(made.ctx, kind or NOTHING, made.node)
    if BITS[dtype] != BITS[number.dtype]:
        made.refuse(f"bitcast of {number.dtype} to {dtype}, which has another size.", "Convert it first: float32(x), uint32(x).")
    return Scalar(number.value) if dtype == number.dtype else Scalar(made.ctx.op("bitcast", (number.value,), dtype))


def pack(half: str) -> Handler:
    """Two numbers rounded to 16 bits each, in a uint32."""

    def handle(made: Call) -> Operand:
        args = tuple(made.ctx.cast(v.value, half) for v in made.numbers("lo hi"))
        return Scalar(made.ctx.op("pack", args, "uint32"))

    return handle


def unpack(half: str) -> Handler:
    def handle(made: Call) -> Operand:
        (value,) = made.numbers("x")
        word = made.ctx.cast(value.value, "uint32")
        halves = (made.ctx.op(op, (word,), half) for op in ("unpack.lo", "unpack.hi"))
        return Group(tuple(Scalar(made.ctx.cast(h, "float32")) for h in halves))

    return handle


def float_op(op: str, dtype: str) -> Handler:
    """A function of numbers that is computed in one given type."""

    def handle(made: Call) -> Operand:
        values = [made.ctx.scalar(a, made.node, f"The argument of {made.text}") for a in made.args]
        from gpusim.ir.simt.ops import OPS

        if len(values) != OPS[op].arity or made.keywords:
            made.refuse(f"{made.text} takes {OPS[op].arity} numbers; {len(values)} given.")
        return Scalar(made.ctx.op(op, tuple(made.ctx.cast(v.value, dtype) for v in values), "bool" if OPS[op].result == "bool" else dtype))

    return handle


def _reciprocal(op: str) -> Handler:
    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        dtype = real(a.dtype)
        return Scalar(made.ctx.op(op, (made.ctx.cast(a.value, dtype),), dtype))

    return handle


def _cbrt(made: Call) -> Operand:
    (a,) = made.numbers("x")
    return Scalar(cube_root(made.ctx, made.ctx.cast(a.value, real(a.dtype))))


def _nanosleep(made: Call) -> Operand:
    (ns,) = made.numbers("ns")
    made.ctx.emit(Sleep(made.ctx.cast(ns.value, "uint32"), made.ctx.line))
    return NOTHING


def reads(op: str, dtype: str) -> Handler:
    def handle(made: Call) -> Operand:
        made.bound("")
        return Scalar(made.ctx.op(op, (), dtype))

    return handle


_APPROX = {"div": "div", "exp2": "ex2", "log2": "lg2", "rcp": "rcp", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tanh": "tanh"}
_HALF1 = {
    "hneg": "neg",
    "habs": "abs",
    "hrcp": "rcp",
    "hrint": "round",
    **{f"h{n}": n for n in "sin cos log log2 log10 exp exp2 sqrt rsqrt floor ceil trunc".split()},
}
_HALF2 = {f"h{n}": n for n in "add sub mul div min max eq ne lt le gt ge".split()}


def _hexp10(made: Call) -> Operand:
    (a,) = made.numbers("x")
    return Scalar(made.ctx.op("pow", (Imm(10.0, "float16"), made.ctx.cast(a.value, "float16")), "float16"))


CUDA: dict[str, Handler] = {
    **MEMORY,
    **MATRIX,
    "grid": lambda made: _per_dimension(made, "grid"),
    "gridsize": lambda made: _per_dimension(made, "gridsize"),
    **TOGETHER,
    **CLUSTER,
    **{op: bits(op) for op in ("popc", "brev", "clz", "ffs", "bfind")},
    "fma": _fma,
    "cbrt": _cbrt,
    "selp": _selp,
    "mulhi": _mulhi,
    "prmt": _prmt,
    "bitcast": _bitcast,
    "pack_bf16": pack("bfloat16"),
    "pack_fp16": pack("float16"),
    "unpack_bf16": unpack("bfloat16"),
    "unpack_fp16": unpack("float16"),
    **{f"approx_{name}": float_op(f"approx.{op}", "float32") for name, op in _APPROX.items()},
    "rsqrt": _reciprocal("rsqrt"),
    "rcp": _reciprocal("rcp"),
    "nanosleep": _nanosleep,
    "clock64": reads("clock", "int64"),
    "clock": reads("clock", "int32"),
    "globaltimer": reads("globaltimer", "int64"),
    "range": ranged(),
    "static_range": ranged(0),
    **{f"fp16.{name}": float_op(op, "float16") for name, op in {**_HALF1, **_HALF2, "hfma": "fma"}.items()},
    "fp16.hexp10": _hexp10,
}
