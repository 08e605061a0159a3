"""Programs of tiles as programs of threads: layouts, values, instructions against listings."""

from __future__ import annotations

import numpy as np
import pytest

import gpusim as gs
from gpusim.errors import GpusimError
from gpusim.interp.tile import compute, error_against, random_inputs
from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.kernels.elementwise import FUNCTIONS
from gpusim.kernels.reference import REFERENCES
from gpusim.launch.blocked import arguments
from gpusim.launch.simt.run import simulate_simt
from gpusim.lower.blocked.layout import Blocked, blocked
from gpusim.lower.blocked.threads import is_of_threads, threads
from gpusim.spec.load import load_spec


@pytest.mark.parametrize(
    ("shape", "per", "warps", "expected"),
    [
        ((1024,), 4, 4, Blocked((4,), (32,), (4,))),
        ((4096,), 8, 8, Blocked((8,), (32,), (8,))),
        ((128,), 4, 4, Blocked((1,), (32,), (4,))),
        ((1, 1024), 4, 4, Blocked((1, 4), (1, 32), (1, 4))),
        ((64, 16), 4, 4, Blocked((1, 4), (8, 4), (4, 1))),
        ((16,), 1, 4, Blocked((1,), (32,), (4,))),
    ],
)
def test_the_fastest_axis_takes_lanes_and_warps_first(shape: tuple[int, ...], per: int, warps: int, expected: Blocked) -> None:
    assert blocked(shape, per, warps) == expected


@pytest.mark.parametrize("shape", [(64,), (1024,), (4, 128), (3, 1, 32)])
def test_threads_cover_a_tile_and_copies_only_where_they_reach_beyond_it(shape: tuple[int, ...]) -> None:
    layout = blocked(shape, 4, 4)
    held = {
        tuple(
            (o + (w * lanes + lane) * per) % extent for o, w, lane, lanes, per, extent in zip(at, warp, lanes_at, layout.lanes, layout.per, shape, strict=True)
        )
        for at in layout.offsets(shape)
        for warp in np.ndindex(*layout.warps)
        for lanes_at in np.ndindex(*layout.lanes)
    }
    assert held == set(np.ndindex(*shape))


def values(program: Program) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """(what the threads write, what the tiles write), for random inputs."""
    made = threads(program)
    inputs = random_inputs(program)
    tiles = compute(program, dict(inputs))
    arrays = {**{name: a.copy() for name, a in inputs.items()}, **{name: np.zeros_like(a) for name, a in tiles.items() if name not in inputs}}
    simulate_simt(made.program, made.geometry, [a if isinstance(a, int) else arrays[a[0]].reshape(-1).view(a[1]) for a in made.arguments], load_spec("h200"))
    return {name: arrays[name] for name in tiles}, tiles


def centred(rows: int, cols: int, height: int, warps: int, dtype: str) -> Program:
    """Rows less their mean times a weight, several rows to a block."""
    b = Builder("centred", (-(-rows // height),), warps)
    x, y = b.tensor("x", dtype, (rows, cols)), b.tensor("y", dtype, (rows, cols), role="out")
    w, mean = b.tensor("w", "fp32", (cols,)), b.tensor("mean", "fp32", (rows,), role="out")
    row = b.program_id(0) * height
    v = b.load(x, (row, 0), (height, cols), True)
    v = v if dtype == "fp32" else b.cast(v, "fp32")
    mu = b.map("div", b.reduce("sum", v, 1, keep=False), b.full((), "fp32", cols))
    b.store(mean, (row,), mu, (height,), True)
    out = b.map("mul", b.map("sub", v, b.reshape(mu, (height, 1))), b.reshape(b.load(w, (0,), (cols,)), (1, cols)))
    b.store(y, (row, 0), out if dtype == "fp32" else b.cast(out, dtype), (height, cols), True)
    return b.finish()


PROGRAMS = [
    gs.kernels.softmax(3, 1000, warps=4),
    gs.kernels.softmax(2, 32, dtype="fp16", warps=4),
    gs.kernels.softmax(2, 4096, dtype="bf16"),
    gs.kernels.softmax(2, 1000, variant="online", block=256),
    gs.kernels.softmax(2, 512, variant="three-pass", block=256, dtype="bf16"),
    gs.kernels.layernorm(2, 1000),
    gs.kernels.layernorm(2, 512, dtype="fp32"),
    gs.kernels.rmsnorm(3, 256),
    centred(5, 128, 4, 4, "fp32"),
    centred(13, 1024, 4, 4, "bf16"),
    centred(64, 16, 64, 4, "fp32"),
    *(gs.kernels.elementwise(2500, fn=fn) for fn in FUNCTIONS),
    gs.kernels.elementwise(5003, fn="relu", dtype="bf16"),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: "-".join(str(v) for v in (p.name, *p.params.values())))
def test_threads_compute_what_tiles_compute(program: Program) -> None:
    found, tiles = values(program)
    for name, right in tiles.items():
        np.testing.assert_allclose(found[name].astype(np.float64), right.astype(np.float64), rtol=1e-5 if right.dtype == np.float32 else 1e-2, atol=1e-6)
    if program.name in REFERENCES:
        errors = error_against(found, REFERENCES[program.name](program, random_inputs(program)))
        assert all(e["relative_error"] < (1e-2 if program.params["dtype"] != "fp32" else 1e-5) for e in errors.values())


@pytest.mark.parametrize(
    ("program", "expected"),
    [  # counters.json: warp instructions executed, per warp
        (gs.kernels.softmax(4096, 1024), 185),
        (gs.kernels.softmax(4096, 4096), 296),
        (gs.kernels.softmax(4096, 4096, dtype="bf16"), 309),
        (gs.kernels.softmax(4096, 16384), 525),
        (gs.kernels.rmsnorm(4096, 1024), 131),
        (gs.kernels.softmax(4096, 4096, variant="online"), 1024),
        (gs.kernels.elementwise(1 << 26, fn="sigmoid3_backward_saved"), 132),
        (gs.kernels.elementwise(1 << 26, fn="relu", dtype="bf16"), 49),
        (gs.kernels.elementwise(1 << 26, fn="sin"), 242),
        (gs.kernels.layernorm(4096, 4096), 273),
        (gs.kernels.rmsnorm(4096, 8192), 194),
    ],
    ids=lambda v: v.name if isinstance(v, Program) else str(v),
)
def test_instructions_are_about_those_of_the_measured_kernels(program: Program, expected: int) -> None:
    made = threads(program)
    from gpusim.launch.simt.run import begin

    begun = begin(made.program, made.geometry, arguments(made), load_spec("h200"))
    begun.execute(values=False)
    assert begun.passed is not None
    run = begun.result().run
    assert run.counters["instructions"] / run.ctas / program.warps == pytest.approx(expected, rel=0.08)


def test_sine_and_cosine_of_one_element_share_the_reduction() -> None:
    runs = [gs.run(gs.kernels.elementwise(4096, fn=fn), gpu="h200").run for fn in ("sin", "sin2cos2")]
    assert runs[0].counters["xu_instructions"] == runs[1].counters["xu_instructions"] == 4096 // 32


def test_registers_are_about_those_of_the_compiled_kernels() -> None:
    """compiled/*.json and counters.json; what counts is how many CTAs an SM holds."""
    cases = [
        (gs.kernels.layernorm(4096, 4096), 34, 6),
        (gs.kernels.layernorm(4096, 8192), 40, 3),
        (gs.kernels.elementwise(1 << 26, fn="sigmoid3_backward_saved"), 32, 16),
    ]
    for program, registers, ctas in cases:
        held = gs.run(program, gpu="h200").run.occupancy
        assert held.ctas_per_sm == ctas and held.registers_per_thread == pytest.approx(registers, rel=0.2)


def test_what_threads_cannot_do_is_refused_with_the_op() -> None:
    b = Builder("swapped", (1,), 4)
    x, y = b.tensor("x", "fp32", (64, 32)), b.tensor("y", "fp32", (32, 64), role="out")
    tile = b.load(x, (0, 0), (64, 32))
    b.store(y, (0, 0), b.transpose(tile, (1, 0)), (32, 64))
    assert is_of_threads(b.finish())
    with pytest.raises(GpusimError, match="no timing for Transpose"):
        threads(b.finish())
    assert not is_of_threads(gs.kernels.gemm(256, 256, 256))


def test_traffic_is_each_tensor_once() -> None:
    n = 1 << 22
    report = gs.run(gs.kernels.elementwise(n, fn="sigmoid3_backward_saved"), gpu="h200")
    assert report.traffic["l1_load_sectors"] * 32 == 4 * 4 * n and report.traffic["l1_store_sectors"] * 32 == 4 * n
    assert report.traffic["dram_read_bytes"] == 4 * 4 * n


def test_recomputing_activations_moves_five_accesses_instead_of_nine() -> None:
    n = 1 << 20
    saved = [gs.run(gs.kernels.elementwise(n, fn=fn), gpu="h200") for fn in ("sigmoid3_saved", "sigmoid3_backward_saved")]
    again = [gs.run(gs.kernels.elementwise(n, fn=fn), gpu="h200") for fn in ("sigmoid3", "sigmoid3_backward_recompute")]
    moved = [sum(r.traffic["l1_load_sectors"] + r.traffic["l1_store_sectors"] for r in runs) for runs in (saved, again)]
    assert moved[0] * 5 == moved[1] * 9


def test_kernels_of_a_program_find_in_l2_what_the_one_before_has_written() -> None:
    chain = [gs.kernels.elementwise(1 << 20, fn=fn) for fn in ("copy", "relu")]
    report = gs.program(chain, gpu="h200")
    first, second = report.launches
    assert second.traffic["dram_read_bytes"] == 0 < first.traffic["dram_read_bytes"]
    assert not report.notes and "elementwise" in str(report)


def test_steps_of_a_chain_are_kernels_of_their_own_that_share_their_tensors() -> None:
    n = 1 << 18
    report = gs.program(gs.kernels.unfused(n), gpu="h200")
    assert [r.params["fn"] for r in report.launches] == ["sin", "cos", "square", "square", "add"]
    assert report.traffic["dram_read_bytes"] == 4 * n, "x once; what lies between is found in L2"
    fused = gs.run(gs.kernels.elementwise(n, fn="sin2cos2"), gpu="h200")
    moved = [sum(r.traffic[f"l1_{way}_sectors"] for r in runs for way in ("load", "store")) for runs in (report.launches, (fused,))]
    assert moved[0] == 11 / 2 * moved[1]


def test_a_naive_softmax_is_five_kernels_with_the_same_result() -> None:
    steps = gs.kernels.softmax(3, 500, variant="naive")
    arrays = random_inputs(steps[0])
    for step in steps:
        found, tiles = values(step)
        for name in tiles:
            np.testing.assert_allclose(found[name], tiles[name], rtol=1e-6)
        arrays |= compute(step, {t.name: arrays[t.name] for t in step.tensors if t.role == "in"})
    right = REFERENCES["softmax"](steps[0], {"x": arrays["x"]})["y"]
    np.testing.assert_allclose(arrays["y"], right, rtol=1e-5)
    report = gs.program(steps, gpu="h200")
    assert len(report.launches) == 5 and "softmax_exp" in str(report)
