"""What a rule of the checker is, and what is known where an op stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpusim.ir.infer import TileType
from gpusim.ir.program import Tensor


@dataclass(frozen=True)
class Scope:
    """What is known where an op stands. `taken` holds every name ever given and is shared by all scopes; the rest is visible here."""

    tensors: dict[str, Tensor]
    taken: set[str]
    scalars: set[str]
    tiles: dict[str, TileType] = field(default_factory=dict)
    accumulators: set[str] = field(default_factory=set)

    def inner(self) -> Scope:
        """A copy for a nested body: what that defines is not visible behind it, because it may not have run."""
        return Scope(self.tensors, self.taken, set(self.scalars), dict(self.tiles), set(self.accumulators))

    def shapes(self, *tiles: str) -> list[tuple[int, ...]]:
        return [self.tiles[t].shape for t in tiles]


@dataclass(frozen=True)
class Rule:
    """`holds(op, scope)` for every op of the kinds `on`; else GpusimError with `message(op, scope)` and `hint`."""

    name: str
    on: tuple[type, ...]
    holds: Callable[[Any, Scope], bool]
    message: Callable[[Any, Scope], str]
    hint: str = ""


@dataclass(frozen=True)
class ProgramRule:
    """The same for a program as a whole, or for each of its tensors."""

    name: str
    holds: Callable[[Any], bool]
    message: Callable[[Any], str]


def positive(extents: tuple[int, ...]) -> bool:
    return len(extents) > 0 and all(e >= 1 for e in extents)
