"""Intrinsics that threads do together: barriers, fences, shuffles, votes, matches and reductions of a warp."""

from __future__ import annotations

from gpusim.cuda.intrinsics import grid_group
from gpusim.frontend.calls import Call, Handler
from gpusim.frontend.logic import truth
from gpusim.frontend.memory_calls import NOTHING
from gpusim.frontend.operands import Group, Operand, Scalar, Static, literal
from gpusim.frontend.typing import is_integer
from gpusim.ir.simt.nodes import Barrier, Fence, Imm, Value, Warp

_FULL = Imm(0xFFFFFFFF, "uint32")


def barrier(op: str) -> Handler:
    """syncthreads, or with a count, and, or of a predicate."""

    def handle(made: Call) -> Operand:
        ctx = made.ctx
        if not op:
            made.bound("")
            ctx.emit(Barrier("cta", line=ctx.line))
            return NOTHING
        (predicate,) = made.bound("predicate")
        dst = ctx.temp("int32")
        ctx.emit(Barrier("cta", op, dst, truth(ctx, predicate or NOTHING, made.node), ctx.line))
        return Scalar(dst, None, True)

    return handle


def _syncwarp(made: Call) -> Operand:
    (mask,) = made.bound("mask", optional=1)
    value = None if mask is None else made.ctx.cast(made.ctx.scalar(mask, made.node).value, "uint32")
    made.ctx.emit(Barrier("warp", value=None if value == _FULL else value, line=made.ctx.line))
    return NOTHING


def fence(scope: str) -> Handler:
    def handle(made: Call) -> Operand:
        made.bound("")
        made.ctx.emit(Fence(scope, made.ctx.line))
        return NOTHING

    return handle


def _this_grid(made: Call) -> Operand:
    made.bound("")
    return Static(grid_group)


def _grid_sync(made: Call) -> Operand:
    made.bound("")
    made.ctx.emit(Barrier("grid", line=made.ctx.line))
    return Scalar(Imm(1, "int32"))


def shuffle(op: str, third: str) -> Handler:
    def handle(made: Call) -> Operand:
        ctx = made.ctx
        mask, value, lane, width = made.bound(f"mask value {third} width", optional=1)
        number = ctx.scalar(value or NOTHING, made.node, "The value")
        known = literal(width or Scalar(Imm(32, "int32")))
        if known is None or known.value not in (1, 2, 4, 8, 16, 32):
            made.refuse("The width of a shuffle is a constant: 1, 2, 4, 8, 16 or 32.")
        dst = ctx.temp(number.dtype)
        where = ctx.cast(ctx.scalar(lane or NOTHING, made.node, f"The {third}").value, "int32")
        ctx.emit(Warp((dst,), op, (_mask(made, mask), number.value, where, Imm(int(known.value), "int32")), ctx.line))  # type: ignore[union-attr]
        return Scalar(dst)

    return handle


def _mask(made: Call, mask: Operand | None) -> Value:
    return made.ctx.cast(made.ctx.scalar(mask or NOTHING, made.node, "The mask").value, "uint32")


def vote(op: str, result: str) -> Handler:
    def handle(made: Call) -> Operand:
        mask, predicate = made.bound("mask predicate")
        dst = made.ctx.temp(result)
        made.ctx.emit(Warp((dst,), op, (_mask(made, mask), truth(made.ctx, predicate or NOTHING, made.node)), made.ctx.line))
        return Scalar(dst)

    return handle


def across(op: str, results: int = 1, keeps: bool = False) -> Handler:
    """match and redux: the mask and one value; redux gives the value's type."""

    def handle(made: Call) -> Operand:
        mask, value = made.bound("mask value")
        number = made.ctx.scalar(value or NOTHING, made.node, "The value").value
        if keeps and number.dtype not in ("int32", "uint32"):
            if not is_integer(number.dtype):
                made.refuse(f"{made.text} of {number.dtype}.", "It works on int32 and uint32.")
            number = made.ctx.cast(number, "int32")
        first = made.ctx.temp(number.dtype if keeps else "uint32")
        dst = (first,) if results == 1 else (first, made.ctx.temp("bool"))
        made.ctx.emit(Warp(dst, op, (_mask(made, mask), number), made.ctx.line))
        return Scalar(first) if results == 1 else Group(tuple(Scalar(d) for d in dst))

    return handle


def _activemask(made: Call) -> Operand:
    made.bound("")
    dst = made.ctx.temp("uint32")
    made.ctx.emit(Warp((dst,), "activemask", (), made.ctx.line))
    return Scalar(dst)


def _lanemask_lt(made: Call) -> Operand:
    """(1 << lane) - 1"""
    made.bound("")
    ctx = made.ctx
    lane = ctx.cast(ctx.op("laneid", (), "int32"), "uint32")
    bit = ctx.op("shl", (Imm(1, "uint32"), lane), "uint32")
    return Scalar(ctx.op("sub", (bit, Imm(1, "uint32")), "uint32"))


TOGETHER: dict[str, Handler] = {
    "syncthreads": barrier(""),
    **{f"syncthreads_{op}": barrier(op) for op in ("count", "and", "or")},
    "syncwarp": _syncwarp,
    "cg.this_grid": _this_grid,
    "grid_group.sync": _grid_sync,
    "threadfence": fence("gpu"),
    "threadfence_block": fence("cta"),
    "threadfence_system": fence("system"),
    "fence_async": fence("async"),
    "shfl_sync": shuffle("shfl.idx", "src_lane"),
    "shfl_up_sync": shuffle("shfl.up", "delta"),
    "shfl_down_sync": shuffle("shfl.down", "delta"),
    "shfl_xor_sync": shuffle("shfl.bfly", "lane_mask"),
    "ballot_sync": vote("ballot", "uint32"),
    **{f"{op}_sync": vote(op, "bool") for op in ("any", "all", "eq")},
    "match_any_sync": across("match.any"),
    "match_all_sync": across("match.all", 2),
    **{f"redux_{op}_sync": across(f"redux.{op}", keeps=True) for op in "add min max and or xor".split()},
    "activemask": _activemask,
    "lanemask_lt": _lanemask_lt,
}
