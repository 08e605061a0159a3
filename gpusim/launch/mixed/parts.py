"""A lowered program cut at its loop: what stands before it, one step, what stands behind it, and how often all that is done."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim import effects as fx
from gpusim.ir.expr import Const, Expr
from gpusim.lower.lowered import Lowered


@dataclass(frozen=True, slots=True)
class Parts:
    """`times` passes through before, `repeat`, after; `var` counts them ("" where there is one)."""

    before: tuple[fx.Effect, ...]
    repeat: fx.Repeat
    after: tuple[fx.Effect, ...]
    times: Expr = Const(1)
    var: str = ""


def parts(lowered: Lowered) -> Parts:
    body, times, var = lowered.body, Const(1), ""
    at, repeat = _loop(body)
    before, after = body[:at], body[at + 1 :]
    if any(isinstance(e, fx.Repeat) for e in repeat.body):
        k, inner = _loop(repeat.body)
        return Parts((*before, *repeat.body[:k]), inner, (*repeat.body[k + 1 :], *after), repeat.count, repeat.var)
    return Parts(before, repeat, after, times, var)


def _loop(effects: tuple[fx.Effect, ...]) -> tuple[int, fx.Repeat]:
    return next((i, e) for i, e in enumerate(effects) if isinstance(e, fx.Repeat))
