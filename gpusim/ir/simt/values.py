"""What the statements of a SIMT program name: registers, constants, arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Reg:
    """One value per lane. `name` is the user's variable, "" for an intermediate result."""

    id: int
    dtype: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Imm:
    """A constant."""

    value: int | float | bool
    dtype: str


Value = Reg | Imm


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array. `space`: "global" (argument number `arg`), "shared" (one per CTA), "local" (one per lane), "const".

    Space "cluster": the same array of any CTA of the cluster, with the id of the shared one; an index holds the rank of the CTA in its upper
    bits (see `rank_step`).

    `shape` is known for shared, local and constant arrays; None for global ones and for shared memory sized at launch (dynamic,
    which begins behind the static arrays). `offset`: bytes from the begin of the CTA's shared memory (or of the lane's local
    memory). `data`: the elements of a constant array. Indices are flat, in elements, row-major.
    """

    id: int
    name: str
    space: str
    dtype: str
    shape: tuple[int, ...] | None = None
    arg: int | None = None
    offset: int = 0
    data: tuple[Any, ...] = ()
    line: int = 0


#: shared memory of the CTAs of a cluster is one range of addresses: so many bytes from one rank to the next
CLUSTER_WINDOW = 1 << 24


def rank_step(itemsize: int) -> int:
    """Elements of so many bytes from an array to the same array of the next rank."""
    return CLUSTER_WINDOW // itemsize
