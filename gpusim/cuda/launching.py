"""One launch from a script: grid and block checked, values computed at once, time when the report is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.cuda.arguments import Bound
from gpusim.cuda.devices import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK, current_spec
from gpusim.cuda.streams import TIMELINE
from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry

if TYPE_CHECKING:
    from gpusim.ir.simt.nodes import SimtProgram
    from gpusim.spec.device import GpuSpec


def caller() -> str:
    """file:line of the nearest frame that is not ours."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gpusim":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def geometry(grid: Any, block: Any, shared: Any = 0, where: str = "") -> Geometry:
    """grid and block: an integer, or up to three (x, y, z); shared: bytes of dynamic shared memory. GpusimError with what a launch allows."""
    g, b = _extents(grid, "grid", MAX_GRID, where), _extents(block, "block", MAX_BLOCK, where)
    threads = b[0] * b[1] * b[2]
    if threads > MAX_THREADS_PER_BLOCK:
        raise GpusimError(
            f"a block of {_by(b)} has {threads} threads; a block holds at most {MAX_THREADS_PER_BLOCK}.",
            where=where,
            hint="Make the block smaller and the grid larger.",
        )
    if isinstance(shared, bool) or not isinstance(shared, int | np.integer) or shared < 0:
        raise GpusimError(f"{shared!r} bytes of dynamic shared memory.", where=where, hint="Give a whole number of 0 or more.")
    return Geometry(g, b, int(shared))


def _extents(given: Any, what: str, most: Sequence[int], where: str) -> tuple[int, int, int]:
    if given is None:
        raise GpusimError(f"no {what} was given.", where=where, hint=f"Give {what} as an integer or as (x, y, z).")
    parts = tuple(given) if isinstance(given, tuple | list | np.ndarray) else (given,)
    whole = all(isinstance(p, int | np.integer) and not isinstance(p, bool) for p in parts)
    if not whole or not 1 <= len(parts) <= 3:
        hint = "Give an integer or up to three of them; round a quotient up with (n + threads - 1) // threads."
        raise GpusimError(f"{what} = {given!r} is not made of one to three integers.", where=where, hint=hint)
    x, y, z = (*map(int, parts), 1, 1)[:3]
    for extent, high, axis in zip((x, y, z), most, "xyz", strict=True):
        if not 1 <= extent <= high:
            raise GpusimError(f"{what} = {_by((x, y, z))}: {axis} is {extent}, it can be 1 to {high}.", where=where, hint=f"Choose another {what}.")
    return x, y, z


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


class Launch:
    """A launch whose values are there. `report` simulates its time when it is first read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._report: Any = None

    @property
    def report(self) -> Any:
        if self._make is not None:
            self._report, self._make = self._make(), None
        return self._report


def launch(kernel: Any, bound: Sequence[Bound], where_to: Geometry, gpu: GpuSpec | None, where: str) -> Launch:
    """Runs `kernel` (a Dispatcher) on `bound`; results stand in the caller's arrays afterwards."""
    from gpusim.launch.simt.run import begin

    spec = gpu or current_spec()
    values = [b.value for b in bound]
    begun = begin(kernel, where_to, values, spec)
    check_writes(begun.program, bound, where)
    begun.execute()
    finish(begun.program, bound)
    return Launch(begun.report)
