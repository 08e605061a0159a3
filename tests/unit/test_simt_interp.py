"""Values, masks and counts of the batched interpreter, against NumPy and per-lane Python."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel, total


def vector_add() -> Kernel:
    k = Kernel()
    x, y, z, size = k.array("x"), k.array("y"), k.array("z"), k.scalar("n")
    i = k.index()
    with k.when(k.op("lt", i, size)):
        k.store(z, i, k.op("add", k.load(x, i), k.load(y, i)))
    return k


@pytest.mark.parametrize("size,block", [(1, 1), (1000, 256), (100000, 96), (333, 100), (70000, 1024)])
def test_vector_add_equals_numpy_and_counts_sectors(size: int, block: int) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random((2, size), np.float32)
    z = np.zeros(size, np.float32)
    grid = -(-size // block)
    r = vector_add().run(grid, block, x, y, z, size)
    assert np.array_equal(z, x + y)
    assert r.counts.lanes.max() == grid * block
    assert r.counts.warps.max() == grid * -(-block // 32)
    assert r.touched["x"] == -(-size // 8) == r.read["x"] and r.written["x"] == 0
    if block % 32 == 0:
        assert r.counts.sectors.tolist() == [-(-size // 8)] * 3
        assert r.counts.requests.tolist() == [-(-size // 32)] * 3


@pytest.mark.parametrize("ways", [1, 2, 3, 7, 32])
def test_divergent_paths_each_cost_one_pass_and_join_again(ways: int) -> None:
    k = Kernel()
    out = k.array("out", "int32")
    i, lane = k.index(), k.op("laneid")
    path = k.op("rem", lane, ways)
    value = k.op("mov", k.imm(0))
    for w in range(ways):
        with k.when(k.op("eq", path, w)):
            k.op("add", value, k.op("mul", i, w + 3), to=value)
    k.store(out, i, value)
    got = np.zeros(256, np.int32)
    r = k.run(4, 64, got)
    i = np.arange(256)
    assert np.array_equal(got, i * (i % 32 % ways + 3))
    assert r.counts.requests.tolist() == [8]
    bodies = r.counts.lanes[(r.counts.lanes < 256) & (r.counts.lanes > 0)]
    if ways > 1:
        assert total(bodies) == 256 and len(bodies) == ways


def test_loop_with_trip_count_per_lane() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    i, acc, j = k.index(), k.op("mov", k.imm(0)), k.reg()
    with k.loop(j, k.op("rem", i, 17)):
        k.op("add", acc, k.op("mul", j, j), to=acc)
    k.store(out, i, acc)
    got = np.zeros(128, np.int32)
    r = k.run(2, 64, got)
    want = [sum(j * j for j in range(i % 17)) for i in range(128)]
    assert got.tolist() == want
    trips = np.arange(128).reshape(-1, 32) % 17
    assert trips.max(axis=1).sum() in r.counts.warps and trips.sum() in r.counts.lanes


def test_nested_divergence_break_continue_return() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    i, acc, j = k.index(), k.op("mov", k.imm(0)), k.reg()
    with k.when(k.op("gt", i, 200)):
        k.add(n.Return)
    with k.loop(j, 20):
        with k.when(k.op("gt", j, k.op("rem", i, 7))):
            with k.when(k.op("eq", k.op("rem", i, 2), 0)):
                k.add(n.Break)
            k.op("add", acc, 100, to=acc)
            k.add(n.Continue)
        k.op("add", acc, j, to=acc)
    k.store(out, i, acc)
    got = np.full(256, -1, np.int32)
    k.run(1, 256, got)

    def lane(i: int) -> int:
        acc = 0
        if i > 200:
            return -1
        for j in range(20):
            if j > i % 7:
                if i % 2 == 0:
                    break
                acc += 100
                continue
            acc += j
        return acc

    assert got.tolist() == [lane(i) for i in range(256)]


@pytest.mark.parametrize("predicated", [False, True])
def test_predicated_if_gives_the_same_values_in_one_block(predicated: bool) -> None:
    k = Kernel()
    x, out = k.array("x"), k.array("out")
    i = k.index()
    v = k.op("mov", n.Imm(5.0, "float32"))
    with k.when(k.op("eq", k.op("rem", i, 3), 0), predicated):
        t = k.op("mul", k.load(x, i), n.Imm(2.0, "float32"))
        k.op("add", t, v, to=v)
    with k.otherwise():
        k.op("neg", v, to=v)
        with k.when(k.op("eq", k.op("rem", i, 3), 1), predicated):
            k.store(x, i, v)
    k.store(out, i, v)
    a = np.arange(96, dtype=np.float32)
    got, i = np.zeros(96, np.float32), np.arange(96)
    r = k.run(1, 96, a, got)
    assert np.array_equal(got, np.where(i % 3 == 0, i * 2 + 5, -5).astype(np.float32))
    assert np.array_equal(a, np.where(i % 3 == 1, -5, i).astype(np.float32))
    assert (len(r.counts.lanes) == 1) == predicated
    assert r.counts.requests.tolist() == [3, 3, 3]


def test_a_copied_register_is_not_changed_with_its_source() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    i = k.index()
    a = k.op("mov", i)
    with k.when(k.op("lt", i, 5)):
        k.op("add", a, 100, to=a)
    b = k.op("mov", a)
    with k.when(k.op("lt", i, 10)):
        k.op("add", a, 1000, to=a)
    k.store(out, i, k.op("add", k.op("mul", b, 10000), a))
    got = np.zeros(32, np.int32)
    k.run(1, 32, got)
    i = np.arange(32)
    b = i + 100 * (i < 5)
    assert np.array_equal(got, b * 10000 + b + 1000 * (i < 10))


def test_two_dimensional_grid_and_block() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    col = k.op("add", k.op("mul", k.op("ctaid.x"), k.op("ntid.x")), k.op("tid.x"))
    row = k.op("add", k.op("mul", k.op("ctaid.y"), k.op("ntid.y")), k.op("tid.y"))
    width = k.op("mul", k.op("ntid.x"), k.op("nctaid.x"))
    k.store(out, k.op("add", k.op("mul", row, width), col), k.op("add", k.op("mul", row, 1000), col))
    got = np.zeros((12, 35), np.int32)
    k.run((5, 3), (7, 4), got)
    assert np.array_equal(got, np.arange(12)[:, None] * 1000 + np.arange(35))


def test_integer_rules() -> None:
    a = np.array([7, -7, 7, -7, -(2**31), 1, 5, 40], np.int32)
    b = np.array([2, 2, -2, -2, -1, 0, 40, 33], np.int32)
    ops = ("div", "rem", "floordiv", "mod", "shl", "shr", "add", "mul", "mulhi", "min", "clz", "popc", "ffs", "brev", "bfind")
    k = Kernel()
    x, y, out = k.array("x", "int32"), k.array("y", "int32"), k.array("out", "int32")
    i = k.index()
    u, v = k.load(x, i), k.load(y, i)
    for j, op in enumerate(ops):
        k.store(out, k.op("add", k.op("mul", i, len(ops)), j), k.op(op, u) if op in ("clz", "popc", "ffs", "brev", "bfind") else k.op(op, u, v))
    got = np.zeros((8, len(ops)), np.int32)
    r = k.run(1, 8, a, b, got)
    col = {op: got[:, j].tolist() for j, op in enumerate(ops)}
    assert col["div"][:4] == [3, -3, -3, 3] and col["div"][5] == 0
    assert col["rem"][:4] == [1, -1, 1, -1]
    assert col["floordiv"][:4] == [3, -4, -4, 3]
    assert col["mod"][:4] == [1, 1, -1, -1]
    assert col["shl"][6:] == [0, 0] and col["shr"][6:] == [0, 0] and col["shr"][1] == -2
    assert col["mul"][4] == -(2**31) and col["mulhi"][4] == 0
    assert col["clz"][:2] == [29, 0] and col["popc"][5] == 1 and col["ffs"][7] == 4 and col["bfind"][0] == 2
    assert col["brev"][5] == -(2**31) and col["bfind"][1] == 2
    assert any("division by zero" in note for note in r.notes)


def test_conversions_saturate_and_halves_round_after_each_operation() -> None:
    k = Kernel()
    x, out, half = k.array("x"), k.array("out", "int32"), k.array("half", "bfloat16")
    i = k.index()
    v = k.load(x, i)
    k.store(out, i, k.op("cvt", v, dtype="int32"))
    h = k.op("cvt", v, dtype="bfloat16")
    k.store(half, i, k.op("add", k.op("mul", h, h), h))
    a = np.array([1e20, -1e20, np.nan, 2.9, -2.9, 1.01], np.float32)
    got, halves = np.zeros(6, np.int32), np.zeros(6, ml_dtypes.bfloat16)
    k.run(1, 6, a, got, halves)
    assert got.tolist() == [2**31 - 1, -(2**31), 0, 2, -2, 1]
    h = a.astype(ml_dtypes.bfloat16)
    assert np.array_equal(halves[3:], h[3:] * h[3:] + h[3:])


def test_vector_access_and_strided_view() -> None:
    k = Kernel()
    x, out = k.array("x"), k.array("out")
    i = k.op("mul", k.index(), 4)
    k.store(out, i, *reversed(k.load(x, i, 4)))
    a, got = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    r = k.run(1, 128, a, got)
    assert np.array_equal(got.reshape(-1, 4), a.reshape(-1, 4)[:, ::-1])
    assert r.counts.sectors.tolist() == [64, 64] and r.counts.lines.tolist() == [16, 16]

    k = Kernel()
    x, out = k.array("x"), k.array("out")
    i = k.index()
    k.store(out, i, k.load(x, k.op("mul", i, 3)))
    a, got = np.arange(96, dtype=np.float32), np.zeros(32, np.float32)
    r = k.run(1, 32, a[::3], got)
    assert np.array_equal(got, a[::3]) and r.counts.sectors[0] == 12


def test_negative_index_wraps_with_a_note() -> None:
    k = Kernel()
    x, out = k.array("x"), k.array("out")
    i = k.index()
    k.store(out, i, k.load(x, k.op("sub", i, 3)))
    a, got = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    r = k.run(1, 8, a, got)
    assert np.array_equal(got, np.roll(a, 3)) and any("wrapped" in note for note in r.notes)


def test_constant_and_local_arrays() -> None:
    k = Kernel()
    out = k.array("out")
    table, mine = k.const("table", range(10, 20)), k.local("mine", 4)
    i, j = k.index(), k.reg()
    with k.loop(j, 4):
        k.store(mine, j, k.load(table, k.op("rem", k.op("add", i, j), 10)))
    k.store(out, i, k.op("sub", k.load(mine, k.op("rem", i, 4)), k.load(mine, 0)))
    got, i = np.zeros(64, np.float32), np.arange(64)
    r = k.run(1, 64, got)
    assert np.array_equal(got, (i + i % 4) % 10 - i % 10)
    local = [c for c, a in zip(r.counts.sectors, k.code().accesses, strict=True) if a.space == "local"]
    assert local[0] == 4 * 2 * 4 and local[2] == 8


def test_a_subset_of_ctas_and_paths() -> None:
    size = 100
    x, y, z = np.arange(size, dtype=np.float32), np.ones(size, np.float32), np.zeros(size, np.float32)
    r = vector_add().run(4, 32, x, y, z, size, ctas=[1, 3], record=[3])
    assert np.flatnonzero(z).tolist() == [*range(32, 64), *range(96, 100)]
    path = r.paths[3].warps[0]
    assert list(r.paths) == [3] and sorted(path.masks)[0] == 0b1111
    touch = path.touches[-1][0]
    assert touch.lanes == 4 and touch.sectors == (r.addresses["x"] // 32 + 12,)
    assert r.counts.lanes.max() == 64


def test_print_and_assert() -> None:
    k = Kernel()
    i = k.index()
    with k.when(k.op("lt", i, 2)):
        k.add(n.Print, args=("lane", i))
    k.add(n.Assert, cond=k.op("lt", i, 40), message="too many")
    assert k.run(1, 40).printed == "lane 0\nlane 1\n"
    with pytest.raises(GpusimError, match=r"user\.py:\d+.*assertion failed: too many.*block \(0, 0, 0\), thread \(40, 0, 0\), warp 1, lane 8"):
        k.run(1, 64)
