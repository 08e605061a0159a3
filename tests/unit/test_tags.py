"""Cycles of a load in the L1: banks of tags and of data, and lines on their way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.devices.simt.sm import run_sm
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.memory import Footprint
from gpusim.launch.simt.run import begin
from gpusim.launch.simt.uneven import supposed_shared
from gpusim.launch.simt.walk import DRAM
from gpusim.lower.simt.code import Instr
from gpusim.parts.tags import tag_cycles
from gpusim.spec.load import load_spec
from gpusim.trace.simt import CtaPath, Touch
from tests.unit.made_simt import SPEC
from tests.unit.simt_code import code, cta, machine, warp

#: lines, spacing, cycles: measured (tests/hardware/data/l1-tags.md), the mean over 16 first lines
MEASURED = (
    (2, 1, 1.06), (3, 1, 1.13), (4, 1, 1.44), (5, 1, 2.0), (8, 1, 2.63), (16, 1, 4.75), (32, 1, 8.5), (2, 3, 1.31), (4, 3, 2.25), (8, 3, 3.94),
    (4, 16, 1.0), (32, 16, 8.0), (8, 24, 4.0), (32, 24, 12.5),
)  # fmt: skip


@pytest.mark.parametrize(("lines", "spacing", "cycles"), MEASURED)
def test_four_banks_of_tags_look_up_a_line_a_cycle_each(lines: int, spacing: int, cycles: float) -> None:
    found = [tag_cycles(first + spacing * i for i in range(lines)) for first in range(16)]
    assert sum(found) / 16 == pytest.approx(cycles, abs=0.011)


@cuda.jit
def reader(x: Any, y: Any, stride: int, off: int) -> None:
    i = cuda.threadIdx.x
    y[i] = x[i * stride + off]


@pytest.mark.parametrize(("stride", "off", "passes"), [(1, 0, 1), (1, 5, 1), (2, 0, 2), (3, 1, 1), (8, 0, 8), (32, 7, 32), (33, 0, 1), (0, 3, 1)])
def test_a_load_takes_as_many_cycles_as_the_worst_bank_has_words(stride: int, off: int, passes: int) -> None:
    x, y = np.zeros(2048, np.float32), np.zeros(32, np.float32)
    begun = begin(reader, Geometry((1, 1, 1), (32, 1, 1)), (x, y, np.int32(stride), np.int32(off)), load_spec(SPEC))
    begun.execute()
    assert begun.passed is not None
    loads = [t for touches in begun.passed.paths[0].warps[0].touches for t in touches if begun.ready.code.accesses[t.access].kind == "load"]
    assert [t.wavefronts for t in loads] == [passes]


def reading(number: int, sectors: range) -> CtaPath:
    return cta(warp((0, 0xFFFFFFFF, (Touch(0, 32, tuple(sectors)),))), number=number)


def test_of_what_all_ctas_read_one_finds_it_in_dram() -> None:
    program = code([Instr("LDG", (1,), (0,), 1, access=0)])
    alike = [reading(n, range(0, 4000, 4)) for n in range(4)]
    apart = [reading(n, range(10_000 * n, 10_000 * n + 4000, 4)) for n in range(4)]
    for paths, read, share in ((alike, 1000, 1 / 50), (apart, 50_000, 1.0)):
        levels = supposed_shared(program, paths, {"x": Footprint(read, 0, read)}, 50)
        first = [queue[0] >= DRAM for found in levels.values() for queue in found.values()]
        assert sum(first) / len(first) == pytest.approx(share, abs=0.02)


def test_a_load_of_a_line_on_its_way_takes_its_cycles_twice() -> None:
    program = code([Instr("LDG", (i,), (40,), 1, access=i) for i in range(4)])
    path = [cta(*[warp((0, 0xFFFFFFFF, tuple(Touch(i, 32, tuple(range(8 * w, 8 * w + 4))) for i in range(4)))) for w in range(32)])]
    run = run_sm(program, path, 1, machine())
    assert run.wavefronts == 32 + 2 * 3 * 32, "the first load of each line brings it"
