"""Which matrix instruction computes a tile, and that its pieces make up the tile exactly."""

from __future__ import annotations

from itertools import product

import pytest

from gpusim.effects import Issue, Matrix, Shared
from gpusim.errors import GpusimError
from gpusim.ir.types import dtype
from gpusim.lower.matrix import Tile, choose, emit, mmas_per_warpgroup, warp_grid
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, resolve

EDGES = (16, 32, 64, 128, 256)
SHAPES = [(m, n, k) for m, n, k in product(EDGES, EDGES, (16, 32, 64, 128))]


def _machine(name: str) -> Machine:
    spec = load_spec(name)
    return resolve(spec, spec.clocks.boost / 1e6)


HOPPER, AMPERE, VOLTA = (_machine(name) for name in ("h200", "a100", "v100"))


def _tile(m: int, n: int, k: int, warps: int = 4, of: str = "bf16") -> Tile:
    return Tile(m, n, k, warps, dtype(of))


@pytest.mark.parametrize(
    ("machine", "tile", "kind"),
    [
        (HOPPER, _tile(64, 16, 16), "wgmma"),
        (HOPPER, _tile(256, 128, 64, 8, "tf32"), "wgmma"),
        (HOPPER, _tile(32, 128, 64), "mma.sync"),
        (HOPPER, _tile(64, 64, 64, 2), "mma.sync"),
        (HOPPER, _tile(128, 128, 32, 4, "fp32"), "simt"),
        (AMPERE, _tile(128, 128, 64), "mma.sync"),
        (AMPERE, _tile(128, 128, 64, 8, "tf32"), "mma.sync"),
        (AMPERE, _tile(64, 64, 32, 4, "fp64"), "mma.sync"),
        (HOPPER, _tile(64, 64, 32, 4, "fp64"), "mma.sync"),
        (VOLTA, _tile(64, 64, 32, 4, "fp16"), "mma.sync"),
        (VOLTA, _tile(64, 64, 32, 4, "fp32"), "simt"),
    ],
)
def test_the_unit_that_is_chosen(machine: Machine, tile: Tile, kind: str) -> None:
    assert choose(tile, machine) == kind


@pytest.mark.parametrize(("machine", "of", "known"), [(VOLTA, "bf16", "fp16, fp32"), (VOLTA, "tf32", "fp16, fp32"), (VOLTA, "fp64", "fp16, fp32")])
def test_a_format_that_the_gpu_lacks(machine: Machine, of: str, known: str) -> None:
    with pytest.raises(GpusimError) as caught:
        choose(_tile(64, 64, 64, of=of), machine)
    assert caught.value.what == f"no unit of this GPU multiplies {of}."
    assert caught.value.where == machine.name
    assert caught.value.hint == f"It has: {known}."


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("of", ["bf16", "fp16", "tf32"])
def test_warpgroup_instructions_make_up_the_tile(of: str, warps: int) -> None:
    for m, n, k in SHAPES:
        tile = _tile(m, n, k, warps, of)
        if choose(tile, HOPPER) != "wgmma":
            assert m < 64
            continue
        (op,) = emit(tile, "wgmma", HOPPER)
        assert isinstance(op, Matrix)
        assert op.count * op.m * op.n * op.k == m * n * k, (m, n, k)
        assert (op.m, op.k * tile.dtype.bytes, op.fmt) == (64, 32, of)
        assert op.n % 8 == 0 and 8 <= op.n <= 256
        assert mmas_per_warpgroup(tile, "wgmma") * warps // 4 == op.count, "warpgroups share the instructions evenly"


def test_no_warpgroup_instruction_is_narrower_than_the_hardware_has() -> None:
    """Four warpgroups on one block of 64 rows would split 16 columns into pieces of 4; the narrowest instruction has 8."""
    assert choose(_tile(64, 16, 16, 16), HOPPER) == "mma.sync"
    assert choose(_tile(64, 32, 16, 16), HOPPER) == "wgmma"


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("of", ["bf16", "tf32"])
def test_warp_instructions_make_up_the_tile(of: str, warps: int) -> None:
    for m, n, k in SHAPES:
        tile = _tile(m, n, k, warps, of)
        (op,) = emit(tile, "mma.sync", AMPERE)
        assert isinstance(op, Matrix)
        assert (op.m, op.n, op.k * tile.dtype.bytes) == (16, 8, 32)
        assert op.count * op.m * op.n * op.k == m * n * k, (m, n, k)
        assert op.wavefronts >= (m + n) * k * tile.dtype.bytes // 128, "every operand is read from shared memory at least once"
        assert op.loads * warps * 4 >= op.wavefronts, "an ldmatrix takes at most four passes"
        assert mmas_per_warpgroup(tile, "mma.sync") == 0


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
def test_fma_instructions_make_up_the_tile(warps: int) -> None:
    for m, n, k in SHAPES:
        shared, fma = emit(_tile(m, n, k, warps, "fp32"), "simt", HOPPER)
        assert isinstance(shared, Shared) and isinstance(fma, Issue)
        assert fma.count * 32 * warps == m * n * k
        if m == n:
            assert shared.wavefronts * 128 >= (m + n) * k * 4, "every operand is read from shared memory at least once"


def test_an_fma_takes_more_slots_where_there_are_fewer_lanes() -> None:
    slots = {machine.name: next(e.slots for e in emit(_tile(64, 64, 32, 4, "fp32"), "simt", machine) if isinstance(e, Issue)) for machine in (HOPPER, AMPERE)}
    assert slots == {"h200-sxm": 1.0, "a100-sxm-80gb": 2.0}


@pytest.mark.parametrize(
    ("shape", "warps", "grid"),
    [((128, 128), 4, (2, 2)), ((256, 128), 8, (4, 2)), ((128, 256), 8, (2, 4)), ((64, 256), 4, (1, 4)), ((16, 16), 8, (8, 1))],
)
def test_warps_tile_the_output_as_squarely_as_they_can(shape: tuple[int, int], warps: int, grid: tuple[int, int]) -> None:
    assert warp_grid(_tile(*shape, 64, warps)) == grid


def test_accumulators_of_a_thread() -> None:
    assert _tile(256, 128, 64, 8).accumulators == 128
    assert _tile(128, 128, 64, 4).accumulators == 128
    assert _tile(16, 16, 64, 32).accumulators == 1
