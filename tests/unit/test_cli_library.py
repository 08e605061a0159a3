"""`gpusim run KERNEL` of the library makes only the arguments that the report needs."""

from __future__ import annotations

import numpy as np
import pytest

import gpusim as gs
from gpusim.cli.library import _arguments
from gpusim.kernels.simt import LIBRARY
from gpusim.kernels.simt.entry import materialise


@pytest.mark.parametrize("name", ["saxpy", "sgemm_tile32", "hist_shared", "spmv_scalar", "collatz"])
def test_time_does_not_depend_on_what_is_left_out(name: str) -> None:
    if name not in LIBRARY:
        pytest.skip(f"the library has no {name}")
    entry = LIBRARY[name]
    shape = entry.launch(entry.params)
    cycles = []
    for made in (materialise(entry.args(entry.params), np.random.default_rng(0)), _arguments(entry, entry.params, False)):
        report = gs.run(entry.build(entry.params), "h200", grid=shape.grid, block=shape.block, shared=shape.shared, args=list(made.values()), values=False)
        cycles.append(report.cycles)
    assert cycles[0] == cycles[1]


def test_arrays_are_filled_where_values_are_wanted_or_ways_depend_on_them() -> None:
    entry = LIBRARY["saxpy"]
    assert not _arguments(entry, entry.params, False)["x"].any() and _arguments(entry, entry.params, True)["x"].any()
    some = next(e for e in LIBRARY.values() if e.data)
    assert all(_arguments(some, some.params, False)[name].any() for name in some.data)
