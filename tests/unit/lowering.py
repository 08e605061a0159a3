"""Programs lowered for tests, and the effects in them by kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from gpusim import effects as fx
from gpusim.ir.ops import Load
from gpusim.ir.program import Program, walk
from gpusim.kernels.gemm import gemm
from gpusim.launch.occupancy import register_limit
from gpusim.lower.gpu_tile import lower
from gpusim.lower.lowered import Lowered
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve

Kind = TypeVar("Kind")


def lowered(gpu: str | GpuSpec, *sizes: int, **options: Any) -> Lowered:
    """A GEMM for a GPU, within the limits of its CTAs."""
    spec = load_spec(gpu) if isinstance(gpu, str) else gpu
    program = gemm(*sizes, **options)
    return lower(program, resolve(spec, spec.clocks.tensor / 1e6), spec.sm.shared_max_per_cta, lambda warps: register_limit(warps, spec))


def parts(made: Lowered) -> tuple[tuple[fx.Effect, ...], fx.Repeat, tuple[fx.Effect, ...]]:
    """What stands before the loop, the loop, and what stands behind it."""
    at = next(i for i, e in enumerate(made.body) if isinstance(e, fx.Repeat))
    loop = made.body[at]
    assert isinstance(loop, fx.Repeat)
    return made.body[:at], loop, made.body[at + 1 :]


def of(kind: type[Kind], effects: Iterable[Any]) -> list[Kind]:
    return [e for e in effects if isinstance(e, kind)]


def loads_of(program: Program) -> list[Load]:
    return [op for op in walk(program.body) if isinstance(op, Load)]
