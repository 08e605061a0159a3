"""Traffic of thread kernels against a profiler's counters, launch by launch, to the bars: requests and sectors at L1 exact, L2 within 4 %, fabric
within 12 %, DRAM within 5 % where more than 10 MB move, hit rate within 2 points. What each launch is there for stands beside its id."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from gpusim import validate
from gpusim.spec.load import load_spec
from gpusim.trace.nsight import HIT_RATE, METRICS, TEX
from gpusim.validate.cases import Case, read
from gpusim.validate.evaluate import evaluate
from gpusim.validate.mapping import DEFAULT_GPU
from gpusim.validate.metrics import LEAST, MetricError, compare_metrics
from gpusim.validate.profiled import profiled
from gpusim.validate.protocol import MEASURES

#: id -> why it is here
LAUNCHES = {
    "vector_add_1_16777216": "two streams read, one written",
    "copy_offset0_16777216": "one stream read, one written",
    "copy_stride8_16777216": "a sector for each lane",
    "copy_stride16_16777216": "one sector of each 64-byte atom: two misses a request, and the atom crosses the fabric whole",
    "copy_stride32_16777216": "one atom of each line: nothing fills the line",
    "transpose_naive_write_4096": "sectors that come back to L1",
    "transpose_naive_read_1024": "eight stores to each sector: every one of them crosses",
    "hist_global_skewed_16777216": "atomics: always at home, half of them far",
    "reduce7_grid_stride_f4_16777216": "hardly any store",
}
FABRIC, READ, WRITTEN = "lts__t_sectors_srcunit_ltcfabric.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"
#: metric -> tolerance, relative or (hit rate) in points of 1
BARS = {
    **{f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum": 0.0 for what in ("requests", "sectors") for op in ("ld", "st")},
    **{f"{TEX}.sum": 0.04, f"{TEX}_op_read.sum": 0.04, f"{TEX}_op_write.sum": 0.04, HIT_RATE: 0.02, FABRIC: 0.12, READ: 0.05, WRITTEN: 0.05},
}


@cache
def _cases() -> dict[str, Case]:
    file = Path(validate.__file__).parent / "data" / DEFAULT_GPU / "counters.json.xz"
    return {case.id: case for case in read(str(file)) if case.id in LAUNCHES}


@cache
def _errors(name: str) -> dict[str, MetricError]:
    case = _cases()[name]
    found = profiled(case)
    assert found is not None
    return compare_metrics([evaluate(case, load_spec(DEFAULT_GPU), MEASURES["cycles"], 0.0)], {name: found})


def test_bars_are_of_metrics_that_we_have() -> None:
    assert set(BARS) <= set(METRICS) and set(LEAST) <= set(METRICS)


@pytest.mark.parametrize("name", LAUNCHES)
def test_traffic_is_that_of_the_hardware(name: str) -> None:
    counted = {metric: e.counted for metric, e in _errors(name).items() if metric in BARS and e.counted.cases}
    assert len(counted) >= len(BARS) - 5, "only what moves little, and stores where there are none, may be missing"
    wrong = {metric: s.worst for metric, s in counted.items() if s.worst is None or abs(s.worst) > BARS[metric]}
    assert not wrong
