"""Which matrix instruction computes a Dot, and how the tile is cut into such instructions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusim.effects import Effect, Issue, Matrix, Shared
from gpusim.errors import GpusimError
from gpusim.ir.types import DType
from gpusim.spec.resolve import Machine

WARPGROUP = 4
#: rows of a warpgroup instruction, its largest N, and bytes of K it takes
WGMMA_M, WGMMA_N, WGMMA_K_BYTES = 64, 256, 32
#: warp instruction m16n8, K bytes
MMA_M, MMA_N, MMA_K_BYTES = 16, 8, 32
#: shared-memory passes of one ldmatrix.x4, and of one 64-bit load of a warp
LDMATRIX_PASSES, SHARED_LOAD_PASSES = 4, 2


@dataclass(frozen=True, slots=True)
class Tile:
    """A Dot of [m, k] x [k, n] by `warps` warps, operands of `dtype`."""

    m: int
    n: int
    k: int
    warps: int
    dtype: DType

    @property
    def accumulators(self) -> int:
        """fp32 accumulators per thread."""
        return max(1, self.m * self.n // (32 * self.warps))


def choose(tile: Tile, machine: Machine) -> str:
    """One of "wgmma", "mma.sync", "simt" (fp32 on the FMA pipe). GpusimError if the device multiplies no such format."""
    fmt = tile.dtype.matrix
    if machine.wgmma and fmt in machine.wgmma.fma_per_cycle and _takes_warpgroups(tile):
        return "wgmma"
    if fmt in machine.mma_sync.fma_per_cycle:
        return "mma.sync"
    if fmt == "fp32":
        return "simt"
    known = sorted({"fp32", *machine.mma_sync.fma_per_cycle, *(machine.wgmma.fma_per_cycle if machine.wgmma else ())})
    raise GpusimError(f"no unit of this GPU multiplies {tile.dtype}.", where=machine.name, hint=f"It has: {', '.join(known)}.")


def _takes_warpgroups(tile: Tile) -> bool:
    """Whole warpgroups, 64 rows, and at least the narrowest N for each warpgroup that shares a row block."""
    return tile.m >= WGMMA_M and tile.warps % WARPGROUP == 0 and _wgmma_n(tile) >= MMA_N


def _wgmma_n(tile: Tile) -> int:
    """Columns of one instruction: warpgroups share the 64-row blocks, and split N where there are more of them than row blocks."""
    rows, groups = max(1, tile.m // WGMMA_M), max(1, tile.warps // WARPGROUP)
    return min(WGMMA_N, tile.n // max(1, groups // rows))


def emit(tile: Tile, kind: str, machine: Machine, among: float = 0.0) -> tuple[Effect, ...]:
    """The effects of one Dot; `among` ordinary instructions per warp stand between its matrix instructions."""
    if kind == "wgmma":
        return (replace(_wgmma_op(tile), among=among),)
    made = _mma_sync(tile, machine) if kind == "mma.sync" else _simt(tile, machine)
    return (*made, Issue(among)) if among else made


def mmas_per_warpgroup(tile: Tile, kind: str) -> int:
    """Matrix instructions that each warpgroup issues for one Dot (0 where they are not warpgroup instructions)."""
    if kind != "wgmma":
        return 0
    op = _wgmma_op(tile)
    return max(1, op.count * WARPGROUP // tile.warps)


def _wgmma_op(tile: Tile) -> Matrix:
    n, k = _wgmma_n(tile), WGMMA_K_BYTES // tile.dtype.bytes
    return Matrix("wgmma", tile.dtype.matrix, WGMMA_M, n, k, max(1, tile.m // WGMMA_M) * (tile.n // n) * max(1, tile.k // k))


def _mma_sync(tile: Tile, machine: Machine) -> tuple[Effect, ...]:
    """Warps tile the output as squarely as they can; each loads its rows of A and columns of B from shared memory."""
    down, across = warp_grid(tile)
    k = MMA_K_BYTES // tile.dtype.bytes
    count = -(-tile.m // MMA_M) * -(-tile.n // MMA_N) * -(-tile.k // k)
    loaded = tile.warps * (tile.m // down + tile.n // across) * tile.k * tile.dtype.bytes
    wavefronts = int(loaded / machine.shared_rate)
    passes = LDMATRIX_PASSES if machine.mma_sync.ldmatrix else SHARED_LOAD_PASSES
    loads = -(-wavefronts // (passes * tile.warps))
    return (Matrix("mma.sync", tile.dtype.matrix, MMA_M, MMA_N, k, count, wavefronts, loads),)


def warp_grid(tile: Tile) -> tuple[int, int]:
    """(down, across): the arrangement of warps whose warp tiles have the shortest border."""
    shapes = [(d, tile.warps // d) for d in (1, 2, 4, 8, 16, 32) if d <= tile.warps and tile.m // d >= MMA_M and tile.n // (tile.warps // d) >= MMA_N]
    return min(shapes or [(tile.warps, 1)], key=lambda s: tile.m / s[0] + tile.n / s[1])


def _simt(tile: Tile, machine: Machine) -> tuple[Effect, ...]:
    """Every thread owns a square of the output and reads its rows and columns from shared memory, 16 bytes a load."""
    fma = tile.m * tile.n * tile.k / (32 * tile.warps)
    side = tile.accumulators**0.5
    wide_loads = tile.k * 2 * side / 4
    return (Shared(wide_loads * tile.warps, wide_loads), Issue(fma, slots=machine.fma_slots, chain=0.0))
