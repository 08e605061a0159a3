"""What one thread does: the nodes of a SIMT program.

A program is a tree of statements over per-lane registers. A register may be assigned any number of times; an assignment changes
only the lanes that are active. Expressions are flat: every intermediate result has a register of its own. Element types go by
their NumPy (or ml_dtypes) names: "bool", "int8" to "int64", "uint8" to "uint64", "float16", "bfloat16", "float32", "float64".
`line` is the line in the user's file (1-based).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.simt.asynchronous import BulkCopy as BulkCopy
from gpusim.ir.simt.asynchronous import Mbarrier as Mbarrier
from gpusim.ir.simt.matrix_nodes import LdMatrix as LdMatrix
from gpusim.ir.simt.matrix_nodes import Mma as Mma
from gpusim.ir.simt.matrix_nodes import Warpgroup as Warpgroup
from gpusim.ir.simt.matrix_nodes import Wgmma as Wgmma
from gpusim.ir.simt.values import Buffer as Buffer
from gpusim.ir.simt.values import Imm as Imm
from gpusim.ir.simt.values import Reg as Reg
from gpusim.ir.simt.values import Value as Value


@dataclass(frozen=True, slots=True)
class Param:
    """A uniform value known at launch. `what`: "value" (scalar argument `arg`), "size" (of array argument `arg`), "shape0", "shape1", ...
    or "stride0", "stride1", ... (in elements)."""

    reg: Reg
    arg: int
    what: str


@dataclass(frozen=True, slots=True)
class Op:
    """dst = op(args): pure, every lane for itself. `ops.OPS` lists the names."""

    dst: Reg
    op: str
    args: tuple[Value, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """dst[j] = buffer[index + j]: one access of len(dst) consecutive elements (len(dst) * itemsize at most 16 bytes, aligned to it).

    `cache`: "" by default, "cg" past L1. An index may be any integer type; -size <= index < 0 wraps to the end, as in Numba.
    """

    dst: tuple[Reg, ...]
    buffer: Buffer
    index: Value
    line: int = 0
    cache: str = ""


@dataclass(frozen=True, slots=True)
class Store:
    """buffer[index + j] = values[j]."""

    buffer: Buffer
    index: Value
    values: tuple[Value, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Atomic:
    """dst = old value of buffer[index]; buffer[index] = op(old, *args). Applied in (CTA, warp, lane) order.

    op: add sub min max nanmin nanmax and or xor exch inc dec cas (args: expected, new). dst None: the old value is not used (RED).
    """

    dst: Reg | None
    op: str
    buffer: Buffer
    index: Value
    args: tuple[Value, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Warp:
    """What lanes of a warp do together. op and args:

    "shfl.idx" | "shfl.up" | "shfl.down" | "shfl.bfly" (mask, value, lane or delta, width) -> (value, or value and predicate)
    "ballot" | "any" | "all" | "eq" (mask, predicate); "match.any" (mask, value); "match.all" (mask, value) -> (mask, predicate)
    "activemask" (); "redux.add" | "redux.min" | "redux.max" | "redux.and" | "redux.or" | "redux.xor" (mask, value)
    """

    dst: tuple[Reg, ...]
    op: str
    args: tuple[Value, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Barrier:
    """kind "cta": all threads of the CTA (syncthreads); with op "count" | "and" | "or" also reduces `value` into dst.
    kind "warp": the lanes in `value` (syncwarp; None: all). kind "grid": all live threads of the grid (cooperative launch)."""

    kind: str
    op: str = ""
    dst: Reg | None = None
    value: Value | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Fence:
    """threadfence: scope "cta", "gpu" or "system"; "async": shared memory as asynchronous units see it (fence.proxy.async)."""

    scope: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """cp.async: `count` elements from source[source_index] to target[target_index] (shared); only the first `valid` elements are
    read (None: all), the rest becomes zero."""

    target: Buffer
    target_index: Value
    source: Buffer
    source_index: Value
    count: int
    valid: Value | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class AsyncCommit:
    line: int = 0


@dataclass(frozen=True, slots=True)
class AsyncWait:
    """Until at most `pending` committed groups of this thread have not landed."""

    pending: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Print:
    """args: registers, constants, or plain strings."""

    args: tuple[Value | str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Assert:
    """A false condition in any active lane is an error with this line."""

    cond: Value
    message: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Sleep:
    nanoseconds: Value
    line: int = 0


@dataclass(frozen=True, slots=True)
class If:
    """`predicated`: a rewrite decided that the machine issues both sides under a predicate, without a branch."""

    cond: Value
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    line: int = 0
    predicated: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """for var in range(start, stop, step). Bounds are evaluated once. `unroll`: copies of the body per iteration (1: not unrolled,
    0: wholly, None: the compiler decides). As in Python, var keeps its last value after the loop."""

    var: Reg
    start: Value
    stop: Value
    step: Value
    body: tuple[Stmt, ...]
    line: int = 0
    unroll: int | None = None


@dataclass(frozen=True, slots=True)
class While:
    """Run `head`, leave if `cond` is false, run `body`, again. `orelse` of Python runs when the loop ends without break."""

    head: tuple[Stmt, ...]
    cond: Value
    body: tuple[Stmt, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Break:
    line: int = 0


@dataclass(frozen=True, slots=True)
class Continue:
    line: int = 0


@dataclass(frozen=True, slots=True)
class Return:
    line: int = 0


Memory = Load | Store | Atomic | AsyncCopy | BulkCopy | Mbarrier | LdMatrix
Simple = Op | Memory | Warp | Barrier | Fence | AsyncCommit | AsyncWait | Mma | Wgmma | Warpgroup | Print | Assert | Sleep
Stmt = Simple | If | For | While | Break | Continue | Return


@dataclass(frozen=True, slots=True)
class Arg:
    """A kernel argument. ndim 0: a scalar. layout: "C" (innermost stride 1), "A" (any strides)."""

    name: str
    dtype: str
    ndim: int = 0
    layout: str = "C"


@dataclass(frozen=True, slots=True)
class SimtProgram:
    """`registers` is one more than the largest register id. `file` and `source`: the user's text, for messages and the source view
    (`source[0]` is line `first_line`). `max_registers`: given by the user (launch bounds), or None. `notes`: rewrites that were applied, as a
    reader of the printed program should know them. `threads`: of a CTA, where the compiler knows them; None: only the launch does."""

    name: str
    args: tuple[Arg, ...]
    params: tuple[Param, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    registers: int
    file: str = ""
    first_line: int = 1
    source: tuple[str, ...] = ()
    max_registers: int | None = None
    notes: tuple[str, ...] = ()
    threads: int | None = None


#: what a launch allows, x y z (CUDA C++ Programming Guide, from compute capability 3.0 on)
MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Of one launch. grid, block and cluster are (x, y, z); shared_bytes: dynamic shared memory; cluster: CTAs that run side by side."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0
    cluster: tuple[int, int, int] = (1, 1, 1)

    @staticmethod
    def text(extents: tuple[int, int, int]) -> str:
        """(64, 2, 1) as 64x2."""
        used = max((i + 1 for i, e in enumerate(extents) if e > 1), default=1)
        return "x".join(str(e) for e in extents[:used])

    @property
    def cluster_ctas(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Per CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps(self) -> int:
        """Per CTA."""
        return -(-self.threads // 32)
