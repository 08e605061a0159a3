"""Who asks for the same with others of its GPC: counted as CTAs are executed, the same as by classes; GPCs that are dealt to in two parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt import tracing
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.run import simulate_simt
from gpusim.lower.simt.code import Access
from gpusim.parts.merging import Merging
from gpusim.spec.load import load_spec
from tests.laws.specs import changed

SPEC = load_spec("h200")
ALONE = Merging(requests=4, window=50.0, together=1.0, steps=15.0)


class _Walk:
    """A walk that hears of nothing else than its accesses."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def touch(self, access: int, _ctas: Any, _sectors: Any) -> None:
        self.heard.append(access)


@cuda.jit
def columns(x, out, n):
    """Every CTA of a column of the grid reads the same."""
    total = np.float32(0)
    for i in range(n):
        total += x[(cuda.blockIdx.x * n + i) * cuda.blockDim.x + cuda.threadIdx.x]
    out[(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x] = total


def _meeting(sm_of: list[int], gpc_of: list[int]) -> tuple[tracing.Meeting, _Walk]:
    walk, load = _Walk(), Access("load", "global", "x", 4, 0, 1)
    return tracing.Meeting(walk, [load], np.array(sm_of), np.array(gpc_of), len(sm_of)), walk  # type: ignore[arg-type]


def _shares(meeting: tracing.Meeting) -> float:
    return meeting.received(ALONE, 1, 1000.0)[0]


def test_four_sms_of_a_gpc_share_a_request() -> None:
    meeting, walk = _meeting([0, 1, 2, 3], [0, 0, 0, 0])
    meeting.touch(0, np.arange(4)[:, None], np.array([[7, 8]]))
    assert _shares(meeting) == pytest.approx(1 / 4) and walk.heard == [0]


def test_nobody_shares_with_another_gpc_or_with_another_cta_of_its_sm() -> None:
    for sm_of, gpc_of in (([0, 1], [0, 1]), ([0, 0], [0, 0])):
        meeting, _ = _meeting(sm_of, gpc_of)
        meeting.touch(0, np.arange(2)[:, None], np.array([[7]]))
        assert _shares(meeting) == 1.0


def test_lanes_in_a_row_are_counted_by_their_ctas() -> None:
    meeting, _ = _meeting([0, 1], [0, 0])
    meeting.touch(0, np.array([[0, 0, 1, 1]]), np.array([[3, 4, 4, 5]]))
    assert _shares(meeting) == pytest.approx(3 / 4)


@pytest.mark.parametrize("grid", [(8, 8, 1), (16, 16, 1)])
def test_counting_while_executing_gives_what_classes_give(grid: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    n = 8
    args = (ArraySpec((grid[0] * n * 256,), "float32"), ArraySpec((grid[0] * grid[1] * 256,), "float32"), np.int32(n))

    def received() -> int:
        return int(simulate_simt(columns, Geometry(grid, (256, 1, 1)), args, SPEC, values=False).run.counters["l2_read_sectors"])

    by_class = received()
    monkeypatch.setattr("gpusim.launch.simt.timing_only.classed", lambda *_: None)
    assert received() == pytest.approx(by_class, rel=0.03)


def test_requests_merge_in_the_whole_of_a_gpc() -> None:
    """64 CTAs, one an SM: the eight of the first part of GPC 0 read what seven in its other part do."""
    args = (ArraySpec((8 * 8 * 256,), "float32"), ArraySpec((64 * 256,), "float32"), np.int32(8))
    made = [
        simulate_simt(columns, Geometry((8, 8, 1), (256, 1, 1)), args, spec, values=False).run.counters.get("merged_sectors", 0)
        for spec in (SPEC, changed(SPEC, chip__gpc_number=()))
    ]
    asked = 64 * 8 * 32
    assert made[0] - made[1] == pytest.approx(asked * 7 / 64 * SPEC.chip.merge_together, rel=0.01)


def test_a_list_of_another_length_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nbase: h200-sxm\nchip: {gpc_number: [0, 1]}\n")
    with pytest.raises(GpusimError, match="gpc_number"):
        load_spec(str(path))
