"""Intrinsics of the matrix unit: ldmatrix, mma.sync of a warp, wgmma of a warpgroup."""

from __future__ import annotations

from gpusim.frontend import arrays
from gpusim.frontend.calls import Call, Handler
from gpusim.frontend.memory_calls import NOTHING, place
from gpusim.frontend.operands import Array, Group, Operand, Scalar, Static, described, literal
from gpusim.frontend.typing import BITS, is_float
from gpusim.ir.simt.matrix import FORMATS, SUMS, WGMMA, WGMMA_N, named, registers
from gpusim.ir.simt.nodes import Buffer, Imm, LdMatrix, Load, Mma, Value, Warpgroup, Wgmma


def _ldmatrix(made: Call) -> Operand:
    array, index, n, trans = made.bound("a i n trans", optional=1)
    target, flat = place(made, array, index)
    count, turned = literal(n or NOTHING), literal(trans or NOTHING)
    if count is None or count.value not in (1, 2, 4) or (trans is not None and turned is None):
        made.refuse("ldmatrix takes n = 1, 2 or 4 and a constant trans.")
    if target.buffer.space != "shared" or BITS[target.buffer.dtype] != 16:
        made.refuse(f"ldmatrix reads 16-bit elements from shared memory, not {target.buffer.dtype} from {target.buffer.space}.")
    dst = tuple(made.ctx.temp("uint32") for _ in range(int(count.value)))  # type: ignore[union-attr]
    made.ctx.emit(LdMatrix(dst, target.buffer, flat, bool(turned and turned.value), made.ctx.line))
    return Group(tuple(Scalar(d) for d in dst))


def _mma(made: Call) -> Operand:
    a, b, c, fmt, shape, sums = made.bound("a b c fmt shape sums", optional=3)
    kind = _one_of(made, "fmt", fmt, tuple(FORMATS))
    known = FORMATS[kind]
    return _multiply(made, (a, b, c), kind, _one_of(made, "shape", shape, tuple(map(named, known.shapes))), _one_of(made, "sums", sums, known.sums))


def _mma_m16n8k16(made: Call) -> Operand:
    a, b, c, fmt = made.bound("a b c fmt", optional=1)
    return _multiply(made, (a, b, c), _one_of(made, "fmt", fmt, ("bf16", "fp16")), "m16n8k16", "fp32")


def _one_of(made: Call, name: str, given: Operand | None, known: tuple[str, ...]) -> str:
    """The word that an argument is; the first of `known` where it is left out."""
    if given is None or given == NOTHING:
        return known[0]
    if not isinstance(given, Static) or given.obj not in known:
        what = repr(given.obj) if isinstance(given, Static) else f"a {described(given)}"
        made.refuse(f"{made.text} with {name} = {what}.", f"{name} is {' or '.join(map(repr, known))}.")
    return str(given.obj)  # type: ignore[union-attr]


def _multiply(made: Call, operands: tuple[Operand | None, ...], fmt: str, shape: str, sums: str) -> Operand:
    held, (dtype, _) = FORMATS[fmt].register, SUMS[sums]
    counts = registers(shape, fmt, sums)
    a, b, c = (_fragment(made, o, n, t, fmt) for o, n, t in zip(operands, counts, (held, held, dtype), strict=True))
    dst = tuple(made.ctx.temp(dtype) for _ in c)
    made.ctx.emit(Mma(dst, shape, fmt, a, b, c, made.ctx.line, sums))
    return Group(tuple(Scalar(d) for d in dst)) if len(dst) > 1 else Scalar(dst[0])


def _fragment(made: Call, operand: Operand | None, count: int, dtype: str, fmt: str) -> tuple[Value, ...]:
    """The registers of one operand. A float32 is taken for tf32 as it is; for other packed formats it would lose its bits."""
    items = operand.items if isinstance(operand, Group) else (operand,)
    if len(items) != count:
        wanted = f"a tuple of {count} {dtype}" if count > 1 else f"one {dtype}"
        made.refuse(f"{made.text} of {fmt} takes {wanted} here; given is a {described(operand or NOTHING)}.")
    return tuple(_register(made, item or NOTHING, dtype, fmt) for item in items)


def _register(made: Call, item: Operand, dtype: str, fmt: str) -> Value:
    value = made.ctx.scalar(item, made.node).value
    if dtype == "uint32" and is_float(value.dtype):
        if fmt != "tf32" or value.dtype != "float32":
            made.refuse(f"{made.text} of {fmt} takes packed elements in uint32; given is a {value.dtype}.", "Use ldmatrix, a packing function or cuda.bitcast.")
        return made.ctx.op("bitcast", (value,), dtype)
    return made.ctx.cast(value, dtype)


def _wgmma(made: Call) -> Operand:
    acc, i, a, b, n, fmt = made.bound("acc i a b n fmt", optional=1)
    kind = _one_of(made, "fmt", fmt, WGMMA)
    columns = _columns(made, n)
    target, begin = _accumulators(made, acc, i, kind)
    right, at = _tile(made, b, kind, "b")
    if isinstance(a, Group) and isinstance(a.items[0], Array):
        array, start = _tile(made, a, kind, "a")
        left: tuple[Buffer | None, Value | None] = array.buffer, start
        held: tuple[Value, ...] = ()
    else:
        left, held = (None, None), _fragment(made, a, 4, "uint32", kind)
    places = tuple(_next(made, begin, k) for k in range(columns // 2))
    before, after = (tuple(made.ctx.temp(target.buffer.dtype) for _ in places) for _ in range(2))
    for reg, index in zip(before, places, strict=True):
        made.ctx.emit(Load((reg,), target.buffer, index, made.ctx.line))
    made.ctx.emit(Wgmma(after, columns, kind, held, *left, right.buffer, at, before, made.ctx.line))
    for reg, index in zip(after, places, strict=True):
        arrays.store(made.ctx, made.node, target, index, (reg,))
    return NOTHING


def _columns(made: Call, n: Operand | None) -> int:
    columns = arrays.known_int(n or NOTHING) or 0
    if columns not in WGMMA_N:
        made.refuse(f"wgmma with n = {columns or 'what is not constant'}.", f"n is a multiple of {WGMMA_N.step} from {WGMMA_N.start} to {WGMMA_N[-1]}.")
    return columns


def _accumulators(made: Call, array: Operand | None, index: Operand | None, fmt: str) -> tuple[Array, Value]:
    target, begin = place(made, array, index)
    dtype = SUMS[FORMATS[fmt].sums[0]][0]
    if target.buffer.space != "local" or target.buffer.dtype != dtype:
        made.refuse(
            f"wgmma of {fmt} adds to a local array of {dtype}, not to {target.buffer.dtype} in {target.buffer.space} memory.",
            f"acc = cuda.local.array(n // 2, cuda.{dtype})",
        )
    return target, begin


def _tile(made: Call, operand: Operand | None, fmt: str, name: str) -> tuple[Array, Value]:
    """An operand in shared memory: (array, index)."""
    if not isinstance(operand, Group) or len(operand.items) != 2 or not isinstance(operand.items[0], Array):
        made.refuse(f"{name} of wgmma is a {described(operand or NOTHING)}.", f"Give (array, index) in shared memory{' or 4 uint32' if name == 'a' else ''}.")
    target, index = place(made, operand.items[0], operand.items[1])  # type: ignore[union-attr]
    bits, dtype = 8 * FORMATS[fmt].bytes, target.buffer.dtype
    if target.buffer.space != "shared" or (BITS[dtype] != bits and dtype != "uint32"):
        made.refuse(f"wgmma of {fmt} reads {bits}-bit elements, or packed ones in uint32, from shared memory, not {dtype} from {target.buffer.space} memory.")
    return target, index


def _next(made: Call, begin: Value, k: int) -> Value:
    if isinstance(begin, Imm):
        return Imm(int(begin.value) + k, begin.dtype)
    return made.ctx.op("add", (begin, Imm(k, begin.dtype)), begin.dtype) if k else begin


def _warpgroup(kind: str) -> Handler:
    """wgmma_fence and wgmma_commit."""

    def handle(made: Call) -> Operand:
        made.bound("")
        made.ctx.emit(Warpgroup(kind, 0, made.ctx.line))
        return NOTHING

    return handle


def _wait(made: Call) -> Operand:
    known = arrays.known_int(made.bound("n")[0] or NOTHING)
    if known is None or known < 0:
        made.refuse("The count of wgmma_wait is not constant.", "Write how many groups may stay open.")
    made.ctx.emit(Warpgroup("wait", int(known or 0), made.ctx.line))
    return NOTHING


MATRIX: dict[str, Handler] = {
    "ldmatrix": _ldmatrix,
    "mma": _mma,
    "mma_m16n8k16": _mma_m16n8k16,
    "wgmma": _wgmma,
    "wgmma_fence": _warpgroup("fence"),
    "wgmma_commit": _warpgroup("commit"),
    "wgmma_wait": _wait,
}
