"""index_at: an element by its byte offset. Values are those of the index; the access takes no arithmetic for its address."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import cuda
from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.run import SimtResult, simulate_simt
from tests.unit.made_simt import SPEC

TABLE = np.arange(100, 164, dtype=np.uint32)


@cuda.jit
def follow(ring, out, offset):
    p = cuda.uint64(offset)
    for _ in cuda.range(4, unroll=0):
        p = ring[cuda.index_at(ring, p)]
    out[0] = p


@cuda.jit
def spaces(out, offset):
    s, t, c = cuda.shared.array(32, cuda.uint32), cuda.local.array(32, cuda.uint32), cuda.const.array_like(TABLE)
    for i in cuda.range(32, unroll=1):
        s[i] = i
        t[i] = 2 * i
    out[0] = s[cuda.index_at(s, offset)]
    out[1] = t[cuda.index_at(t, offset)]
    out[2] = c[cuda.index_at(c, offset)]
    out[3] = cuda.load2(s, cuda.index_at(s, offset))[1]


def run(kernel: object, *args: object) -> SimtResult:
    from gpusim.spec.load import load_spec

    return simulate_simt(kernel, Geometry((1, 1, 1), (1, 1, 1)), args, load_spec(SPEC))


def test_a_chase_ends_where_pointers_lead_and_is_loads_alone() -> None:
    ring, out = np.zeros(64, np.uint64), np.zeros(1, np.uint64)
    ring[[3, 40, 7, 63]] = [320, 56, 504, 24]
    made = run(follow, ring, out, np.uint64(24))
    assert out[0] == 24
    ops = [i.op for block in made.code.blocks for i in block.instrs]
    assert ops.count("LDG") == 4 and not {"IMAD.WIDE", "LEA", "SHF"} & set(ops[: ops.index("STG")])


def test_all_spaces_and_wide_loads() -> None:
    out = np.zeros(4, np.uint32)
    run(spaces, out, np.uint32(40))
    assert out.tolist() == [10, 20, 110, 11]


@pytest.mark.parametrize("offset", [12, 512, 1 << 40])
def test_an_offset_between_elements_or_behind_them_is_out_of_bounds(offset: int) -> None:
    with pytest.raises(GpusimError, match="out of bounds"):
        run(follow, np.zeros(64, np.uint64), np.zeros(1, np.uint64), np.uint64(offset))


def test_a_two_dimensional_array_has_no_offsets() -> None:
    with pytest.raises(GpusimError, match="one-dimensional"):
        run(follow, np.zeros((8, 8), np.uint64), np.zeros(1, np.uint64), np.uint64(0))
