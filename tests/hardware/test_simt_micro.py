"""One SM against microbenchmarks, in both ways: small machine programs by hand, so that only the SM's own model is tested, and the probes of the
library, through front end and instruction selection.

Protocol of the records: cycles between n and 2 n passes of a loop; `latency_hiding` is the time of one step of a pointer chase.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from gpusim.devices.simt.sm import run_sm
from gpusim.lower.simt.code import Instr
from gpusim.spec.load import load_spec
from gpusim.trace.simt import Touch
from gpusim.validate import cases
from gpusim.validate.cases import Case
from gpusim.validate.mapping import DEFAULT_GPU
from gpusim.validate.simt.micro import plan_of
from tests.unit.simt_code import ALL, chain, code, cta, machine, warp

#: a record's name -> the instructions of one step
STEPS = {
    "fadd": ("FADD",),
    "ffma": ("FFMA",),
    "fmnmx": ("FMNMX",),
    "iadd3": ("IADD3",),
    "imad": ("IMAD",),
    "imad_hi": ("IMAD.HI",),
    "imad_wide": ("IMAD.WIDE",),
    "lop3": ("LOP3",),
    "popc": ("POPC",),
    "f2i": ("F2I",),
    "i2f": ("I2FP",),
    "mufu_ex2": ("MUFU.EX2",),
    "mufu_rcp_then_fadd": ("MUFU.RCP", "FADD"),
    "sin_approx_fmul_mufu": ("FMUL", "MUFU.SIN"),
    "dadd": ("DADD",),
    "dfma": ("DFMA",),
    "shfl_bfly": ("SHFL",),
    "vote_ballot_with_setp": ("ISETP", "VOTE"),
    "redux_add_with_mov": ("REDUX", "IMAD.MOV"),
    "match_any": ("MATCH",),
}


@cache
def every_record() -> tuple[Case, ...]:
    return cases._parse("micro.json", cases.shipped_bytes(DEFAULT_GPU, "micro.json"))


@cache
def records(name: str) -> tuple[Case, ...]:
    return tuple(c for c in every_record() if c.family == name and c.group in ("alu", "divergence", "scheduling", "smem"))


def measured(name: str, **params: Any) -> float:
    (case,) = (c for c in records(name) if all(c.params.get(k) == v for k, v in params.items()))
    value = case.number("value")
    assert value is not None
    return value


def slope(cycles: Callable[[int], float], n: int) -> float:
    return (cycles(2 * n) - cycles(n)) / n


@pytest.mark.parametrize("name", STEPS)
def test_latency_and_throughput_of_an_instruction(name: str) -> None:
    def cycles(n: int, warps: int, ilp: int) -> float:
        instrs = [Instr(op, (i % ilp,), (i % ilp,), 1) for i in range(n) for op in STEPS[name]]
        return run_sm(code(instrs), [cta(*[warp(0)] * warps)], 1, machine()).cycles

    latency = slope(lambda n: cycles(n, 1, 1), 32)
    assert latency == pytest.approx(measured(name, kind="latency"), rel=0.05)
    step = slope(lambda n: cycles(n, 32, 4), 32)
    assert 1024 / step == pytest.approx(measured(name, kind="throughput"), rel=0.05)


@pytest.mark.parametrize("warps", [4, 16, 32])
@pytest.mark.parametrize("ilp", [1, 2, 4, 8])
def test_issue_of_multiply_adds(warps: int, ilp: int) -> None:
    first = [Instr("MOV", (100,), (), 1), Instr("MOV", (101,), (), 1)]
    step = slope(lambda n: run_sm(code([*first, *chain("FFMA", n, ilp, (100, 101))]), [cta(*[warp(0)] * warps)], 1, machine()).cycles, 128)
    assert 32 * warps / step == pytest.approx(measured("ffma_issue", warps=warps, ilp=ilp), rel=0.06)


@pytest.mark.parametrize("warps", [1, 4, 16, 32])
def test_barriers(warps: int) -> None:
    (case,) = (c for c in records("barrier") if (c.params["kind"], c.params["warps"]) == ("__syncthreads", warps))
    plan = plan_of(case)
    assert plan.simulate(load_spec(DEFAULT_GPU)).value == pytest.approx(plan.measured, rel=0.05)


@pytest.mark.parametrize("waves", [1, 2, 8, 16])
def test_bank_conflicts(waves: int) -> None:
    touch = (Touch(0, 32, (), waves),)
    load = code([Instr("LDS", (0,), (0,), 1, 0)], [Instr("EXIT", (), (), 1)])
    step = slope(lambda n: run_sm(load, [cta(warp(*[(0, ALL, touch)] * n, 1))], 1, machine()).cycles, 8)
    assert step == pytest.approx(measured("bank_conflict_load", kind="dependent", access_bytes=4, stride_words=waves), rel=0.02)


@pytest.mark.parametrize("footprint", [16777216, 4294967300.0], ids=["L2", "DRAM"])
@pytest.mark.parametrize("lanes", ["1 address per warp", "32 addresses per warp"])
def test_more_warps_hide_latency(footprint: float, lanes: str) -> None:
    """Up to eight warps where lanes differ: with more, nodes are met again, and how long the L2 keeps them is not modelled."""
    found = [c for c in records("latency_hiding") if (c.params["footprint"], c.params["lanes"]) == (footprint, lanes)]
    errors = []
    for case in (c for c in found if c.params["warps_per_sm"] in ((1, 8, 64) if lanes[0] == "1" else (1, 8))):
        plan = plan_of(case)
        errors.append(plan.simulate(load_spec(DEFAULT_GPU)).value / plan.measured - 1)
    assert len(errors) >= 2 and max(abs(e) for e in errors) < 0.07, errors


def through_the_front_end(name: str, **params: Any) -> float:
    (case,) = (c for c in records(name) if all(c.params.get(k) == v for k, v in params.items()))
    plan = plan_of(case)
    return plan.simulate(load_spec(DEFAULT_GPU)).value / plan.measured - 1


PROBES: list[tuple[str, dict[str, Any], float]] = [
    ("lane_trip_count", {"trips": "lane+1", "warps": 1}, 0.05),
    ("lane_trip_count", {"trips": "random 1..32", "warps": 4}, 0.05),
    ("lane_trip_count", {"trips": "all 16", "warps": 16}, 0.05),
    ("relu_compute", {"form": "fmaxf", "positive_lanes": 1, "warps": 1}, 0.05),
    ("relu_compute", {"form": "select leaky", "positive_lanes": 32, "warps": 1}, 0.05),
    ("relu_compute", {"form": "both bodies + select", "positive_lanes": 1, "warps": 16}, 0.1),
    ("relu_compute", {"form": "if/else 32 FFMA each", "positive_lanes": 1, "warps": 1}, 0.1),
    ("relu_compute", {"form": "if/else 32 FFMA each", "positive_lanes": 32, "warps": 16}, 0.1),
    ("nested_if", {"depth": 1, "ffma_per_level": 64, "divergent": 1, "warps": 1}, 0.1),
    ("nested_if", {"depth": 2, "ffma_per_level": 64, "divergent": 1, "warps": 16}, 0.1),
    ("barrier", {"kind": "__syncthreads", "warps": 8}, 0.05),
    ("barrier", {"kind": "__syncwarp", "warps": 16}, 0.05),
    ("shfl_bfly", {"kind": "latency"}, 0.05),
    ("shfl_idx", {"kind": "latency"}, 0.05),
    *(("ffma_issue", {"ilp": ilp, "warps": warps}, 0.05) for ilp in (1, 2, 4, 8) for warps in (1, 4, 16, 32)),
    *((name, {"kind": kind}, 0.05) for name in ("iadd3", "imad", "lop3", "shf", "fadd", "dfma") for kind in ("latency", "throughput")),
]


@pytest.mark.parametrize(("name", "params", "tolerance"), PROBES, ids=[f"{n}-{'-'.join(str(v) for v in p.values())}" for n, p, _ in PROBES])
def test_probes_of_the_library(name: str, params: dict[str, Any], tolerance: float) -> None:
    assert abs(through_the_front_end(name, **params)) <= tolerance
