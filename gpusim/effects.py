"""The narrow waist: what a lowered program asks of a machine. Values never cross it, and no time is known above it.

An agent here is one CTA whose warps all run the same code between barriers, so that one stream stands for all of them; counts
are per warp unless said otherwise. Boxes stay symbolic (`ir.ops.Box`): the block and the loop step instantiate them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.expr import Expr
from gpusim.ir.ops import Box, Let

#: share of dependent instructions in address arithmetic and packing: a warp then issues every 2.3 cycles at a latency of 4
#: (counters of the measured GEMMs: 1 selected + 1.05 wait + 0.2 dispatch per instruction)
CHAIN = 0.43


@dataclass(frozen=True, slots=True)
class Issue:
    """`count` ordinary instructions, of which `wide` are 64-bit multiply-adds; `slots` is the issue slots that each takes
    on its sub-core (an fp32 FMA counts one, a special function as many as its pipe needs); `chain` the share that needs
    the result of the instruction before it."""

    count: float
    wide: float = 0.0
    slots: float = 1.0
    chain: float = CHAIN


@dataclass(frozen=True, slots=True)
class Vector:
    """Instructions of one warp between two waits, by the pipe that they need: `fma`, `alu` (16 lanes), `xu` (special functions), `wide` 64-bit
    multiply-adds, `tests` on the ALU that write predicates, `uniform` ones that read no vector registers. `changes`: how often another pipe follows
    the FMA pipe; `dense`: FMA instructions that stand together. `latency`: cycles of dependent instructions that nothing else of the warp hides."""

    fma: float = 0.0
    alu: float = 0.0
    xu: float = 0.0
    wide: float = 0.0
    tests: float = 0.0
    uniform: float = 0.0
    changes: float = 0.0
    dense: float = 0.0
    latency: float = 0.0

    @property
    def count(self) -> float:
        return self.fma + self.alu + self.xu + self.wide + self.tests + self.uniform


@dataclass(frozen=True, slots=True)
class Matrix:
    """`count` matrix instructions of the CTA, m x n x k each, of operand format `fmt`; one group for `WaitMatrix`.

    kind "wgmma": asynchronous, operands from shared memory, `among` instructions per warp between the first and the last.
    `registers`: A comes from registers instead.
    kind "mma.sync": operands come by `loads` shared-memory loads per warp, `wavefronts` passes in all.
    """

    kind: str
    fmt: str
    m: int
    n: int
    k: int
    count: int
    wavefronts: int = 0
    loads: int = 0
    among: float = 0.0
    registers: bool = False


@dataclass(frozen=True, slots=True)
class WaitMatrix:
    """Until at most `pending` Matrix effects of this CTA are unfinished."""

    pending: int


@dataclass(frozen=True, slots=True)
class Copy:
    """Global to shared memory, asynchronous (cp.async): `box` at loop step + `ahead`, in pieces of `piece` bytes a lane.
    `among`: the ordinary instructions between the copies. `engine`: a copy engine makes it for a warp that does nothing else; `multicast`: CTAs of a
    cluster that share the box, each of which asks for its part."""

    box: Box
    piece: int
    ahead: int = 0
    among: Issue = Issue(0.0)
    engine: bool = False
    multicast: int = 1


#: a tile is cut into at most this many parts that are looked up apart
MOST_PARTS = 64


@dataclass(frozen=True, slots=True)
class Load:
    """Global memory to registers: part `part` of `parts` (at most MOST_PARTS) equal ones of `box`, `piece` bytes a lane. `WaitLoads` waits for it."""

    box: Box
    piece: int
    part: int = 0
    parts: int = 1


@dataclass(frozen=True, slots=True)
class WaitLoads:
    """Until all loads to registers have landed."""


@dataclass(frozen=True, slots=True)
class Store:
    """Registers to global memory, `piece` bytes a lane; the CTA goes on when the stores have left the SM, but for the last `behind` of them (a share)."""

    box: Box
    piece: int
    behind: float = 0.0


@dataclass(frozen=True, slots=True)
class Shared:
    """`wavefronts` passes of the CTA through the shared-memory port, by `count` instructions per warp; waited for. arriving: they store what loads
    to registers bring, each as soon as it is there, so that only the last ones come behind the last load."""

    wavefronts: float
    count: float
    arriving: bool = False


@dataclass(frozen=True, slots=True)
class Local:
    """Spilled registers: `loads` and `stores` per warp (128 bytes each); `footprint` bytes of the CTA that they cycle through."""

    loads: float
    stores: float
    footprint: int


@dataclass(frozen=True, slots=True)
class Commit:
    """Closes the group of copies that `WaitCopies` counts."""


@dataclass(frozen=True, slots=True)
class WaitCopies:
    """Until at most `pending` committed groups have not landed."""

    pending: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """All warps of the CTA meet."""


@dataclass(frozen=True, slots=True)
class Fence:
    """Shared-memory stores become visible to the tensor core."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """body for var in range(count)."""

    var: str
    count: Expr
    body: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Passes:
    """[m, k] @ [k, n] of operand format `fmt` through the systolic arrays of a core; `moved` bytes of vector memory go with it, and `adds`
    registers of partial sums are added up."""

    m: int
    k: int
    n: int
    fmt: str
    moved: float
    adds: float


@dataclass(frozen=True, slots=True)
class Lanes:
    """Work of a core's vector unit, in whole registers: arithmetic, transcendental functions, moves across lanes; `moved` bytes of vector memory."""

    alu: float = 0.0
    transcendental: float = 0.0
    cross_lane: float = 0.0
    moved: float = 0.0


Effect = Issue | Vector | Matrix | WaitMatrix | Copy | Load | WaitLoads | Store | Shared | Local | Commit | WaitCopies | Barrier | Fence | Repeat | Let
