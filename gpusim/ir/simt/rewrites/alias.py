"""Which stores a load may see.

Arguments are taken as not overlapping (as C's restrict) unless the launch says otherwise. Global arrays that the kernel never writes keep
their contents throughout. All other memory may change at every barrier and fence, and at the begin of every iteration of a loop.
"""

from __future__ import annotations

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import AsyncCopy, AsyncWait, Atomic, Barrier, Buffer, BulkCopy, Fence, Mbarrier, SimtProgram, Stmt, Store
from gpusim.ir.simt.walk import memory


def written(program: SimtProgram, facts: LaunchFacts) -> frozenset[int]:
    """Ids of the buffers whose contents may change while the kernel runs."""
    targets = [t for stmt in memory(program.body) if (t := target(stmt)) is not None]
    ids = {b.id for b in targets}
    if any(b.arg in facts.overlapping for b in targets):
        ids |= {b.id for b in program.buffers if b.arg in facts.overlapping}
    return frozenset(ids)


def target(stmt: Stmt) -> Buffer | None:
    """The buffer that a statement writes."""
    if isinstance(stmt, AsyncCopy | BulkCopy):
        return stmt.target
    return stmt.buffer if isinstance(stmt, (Store, Atomic)) else None


class Epochs:
    """A number per buffer that grows whenever its contents may have changed."""

    def __init__(self, program: SimtProgram, facts: LaunchFacts) -> None:
        self.changing = written(program, facts)
        self.overlapping = frozenset(b.id for b in program.buffers if b.arg in facts.overlapping and b.arg is not None)
        self.shared = frozenset(b.id for b in program.buffers if b.space == "shared" and b.shape is None)
        self.now: dict[int, int] = {}

    def of(self, buffer: Buffer) -> int:
        return self.now.get(buffer.id, 0)

    def see(self, stmt: Stmt) -> None:
        """What this statement may change."""
        if isinstance(stmt, (Barrier, Fence, AsyncWait, Mbarrier)):
            self.all()
        elif (buffer := target(stmt)) is not None:
            for group in (self.overlapping, self.shared):
                if buffer.id in group:
                    self.bump(group)
            self.bump((buffer.id,))

    def all(self) -> None:
        self.bump(self.changing)

    def bump(self, ids: frozenset[int] | tuple[int, ...]) -> None:
        for buffer in ids:
            self.now[buffer] = self.now.get(buffer, 0) + 1
