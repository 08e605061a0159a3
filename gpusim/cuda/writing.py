"""What a program does that its launch must know: which arguments it writes, whether it waits for the whole grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpusim.cuda.arguments import Bound
from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Atomic, Barrier, For, If, SimtProgram, Stmt, Store, While

if TYPE_CHECKING:
    from gpusim.launch.simt.prepare import Ready


@dataclass(frozen=True, slots=True)
class Effects:
    """written: argument number -> the line of the first statement that writes it. grid_barrier: the line of the first barrier of the whole
    grid; None if there is none."""

    written: dict[int, int]
    grid_barrier: int | None


def effects(ready: Ready) -> Effects:
    """Of the code of a launch; remembered for the next one."""
    if "effects" not in ready.memo:
        ready.memo["effects"] = _effects(ready.code.program)
    found: Effects = ready.memo["effects"]
    return found


def _effects(program: SimtProgram) -> Effects:
    written: dict[int, int] = {}
    for stmt in _all(program.body):
        if isinstance(stmt, Store | Atomic) and stmt.buffer.arg is not None:
            written.setdefault(stmt.buffer.arg, stmt.line)
    return Effects(written, next((s.line for s in _all(program.body) if isinstance(s, Barrier) and s.kind == "grid"), None))


def check_writes(ready: Ready, bound: Sequence[Bound], where: str) -> None:
    """GpusimError if the kernel writes to an argument that must not be written."""
    for number, line in effects(ready).written.items():
        if reason := bound[number].refuse:
            what = f"the kernel writes to argument '{bound[number].name}' ({ready.code.program.file}:{line}), but {reason}."
            raise GpusimError(what, where=where, hint="Pass a NumPy array that can be written.")


def finish(ready: Ready, bound: Sequence[Bound]) -> None:
    """Brings results back to where they cannot be written in place."""
    for number in effects(ready).written:
        after = bound[number].after
        if after is not None:
            after()


def marks(bound: Sequence[Bound]) -> dict[int, np.ndarray]:
    """Argument number -> which elements have been written, for those of which that is known."""
    return {i: b.written for i, b in enumerate(bound) if b.written is not None}


def _all(body: Iterable[Stmt]) -> Iterator[Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, If):
            yield from _all(stmt.then)
            yield from _all(stmt.orelse)
        elif isinstance(stmt, For):
            yield from _all(stmt.body)
        elif isinstance(stmt, While):
            yield from _all(stmt.head)
            yield from _all(stmt.body)
