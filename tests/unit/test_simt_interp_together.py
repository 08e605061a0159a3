"""What lanes do together: warp operations, barriers, atomics, forward progress, asynchronous copies, matrix instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.interp.simt import atomics
from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel

FULL = 0xFFFFFFFF


def shuffled(kind: str, by: int, width: int, block: int = 64) -> tuple[np.ndarray, np.ndarray]:
    k = Kernel()
    out, ok = k.array("out", "int32"), k.array("ok", "int32")
    i = k.index()
    v, p = k.warp(f"shfl.{kind}", FULL, k.op("mul", i, 10), by, width, dtypes=("int32", "bool"))
    k.store(out, i, v)
    k.store(ok, i, k.op("cvt", p, dtype="int32"))
    got, flags = np.zeros(block, np.int32), np.zeros(block, np.int32)
    k.run(1, block, got, flags)
    return got // 10, flags


@pytest.mark.parametrize("width", [32, 16, 4])
@pytest.mark.parametrize("by", [0, 1, 5, 16])
def test_shuffles_stay_in_their_segment(by: int, width: int) -> None:
    lane, base = np.arange(64) % 32, np.arange(64) // width * width
    first = np.arange(64) // 32 * 32
    got, ok = shuffled("idx", by, width)
    assert np.array_equal(got, base + by % width) and ok.all()
    got, ok = shuffled("up", by, width)
    inside = np.arange(64) - by >= base
    assert np.array_equal(got, np.where(inside, np.arange(64) - by, np.arange(64))) and np.array_equal(ok, inside)
    got, ok = shuffled("down", by, width)
    inside = np.arange(64) + by < base + width
    assert np.array_equal(got, np.where(inside, np.arange(64) + by, np.arange(64))) and np.array_equal(ok, inside)
    got, ok = shuffled("bfly", by, width)
    inside = (lane ^ by) < base - first + width
    assert np.array_equal(got, np.where(inside, first + (lane ^ by), np.arange(64)))


def test_votes_matches_and_reductions_under_divergence_and_in_a_partial_warp() -> None:
    k = Kernel()
    out = k.array("out", "int64")
    i = k.index()
    lane = k.op("laneid")
    odd = k.op("eq", k.op("rem", i, 2), 1)
    with k.when(k.op("lt", lane, 12)):
        third = k.op("rem", i, 3)
        results = [
            k.warp("activemask", dtypes=("uint32",)),
            k.warp("ballot", FULL, odd, dtypes=("uint32",)),
            k.warp("any", FULL, k.op("gt", i, 38), dtypes=("bool",)),
            k.warp("all", FULL, k.op("ge", i, 32), dtypes=("bool",)),
            k.warp("match.any", FULL, third, dtypes=("uint32",)),
            k.warp("redux.add", FULL, i),
            k.warp("redux.max", FULL, k.op("neg", i)),
        ]
        for j, r in enumerate(results):
            k.store(out, k.op("add", k.op("mul", i, 8), j), k.op("cvt", r, dtype="int64"))
    got = np.full((40, 8), -1, np.int64)
    k.run(1, 40, got)
    first, second = np.arange(12), np.arange(32, 40)
    for lanes, mask in ((first, 0xFFF), (second, 0xFF)):
        rows = got[lanes]
        assert (rows[:, 0] == mask).all() and (rows[:, 1] == (0xAAAAAAAA & mask)).all()
        assert (rows[:, 2] == (39 in lanes)).all() and (rows[:, 3] == (lanes[0] == 32)).all()
        assert rows[:, 4].tolist() == [sum(1 << (j % 32) for j in lanes if j % 3 == i % 3) for i in lanes]
        assert (rows[:, 5] == lanes.sum()).all() and (rows[:, 6] == -lanes[0]).all()
    assert (got[12:32] == -1).all()


def test_block_reduction_through_shared_memory() -> None:
    k = Kernel()
    x, out = k.array("x", "int32"), k.array("out", "int32")
    s = k.shared("s", 256, "int32")
    tid, i = k.op("tid.x"), k.index()
    k.store(s, tid, k.load(x, i))
    k.sync()
    step = 128
    while step:
        with k.when(k.op("lt", tid, step)):
            k.store(s, tid, k.op("add", k.load(s, tid), k.load(s, k.op("add", tid, step))))
        k.sync()
        step //= 2
    with k.when(k.op("eq", tid, 0)):
        k.store(out, k.op("ctaid.x"), k.load(s, 0))
    a = np.random.default_rng(2).integers(-99, 99, 256 * 37, dtype=np.int32)
    got = np.zeros(37, np.int32)
    r = k.run(37, 256, a, got)
    assert np.array_equal(got, a.reshape(37, 256).sum(axis=1))
    assert r.counts.wavefronts.sum() == r.counts.requests[[x.space == "shared" for x in k.code().accesses]].sum()


def test_syncthreads_count_and_or() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    i, cta = k.index(), k.op("ctaid.x")
    flag = k.op("lt", k.op("tid.x"), k.op("mul", cta, 40))
    results = [k.sync("count", flag), k.sync("and", flag), k.sync("or", flag)]
    for j, r in enumerate(results):
        k.store(out, k.op("add", k.op("mul", i, 3), j), r)
    got = np.zeros((3 * 80, 3), np.int32)
    k.run(3, 80, got)
    assert [tuple(got[c * 80]) for c in range(3)] == [(0, 0, 0), (40, 0, 1), (80, 1, 1)]
    assert (got.reshape(3, 80, 3) == got[::80][:, None]).all()


def test_lanes_that_have_ended_do_not_hold_up_a_barrier() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    s = k.shared("s", 64, "int32")
    tid = k.op("tid.x")
    with k.when(k.op("ge", tid, 40)):
        k.add(n.Return)
    k.store(s, tid, tid)
    k.sync()
    k.store(out, tid, k.load(s, k.op("sub", 39, tid)))
    got = np.zeros(64, np.int32)
    k.run(2, 64, got)
    assert got[:40].tolist() == list(range(39, -1, -1))


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("bins", [1, 7, 1000])
def test_histogram(space: str, bins: int) -> None:
    k = Kernel()
    x, out = k.array("x", "int32"), k.array("out", "int32")
    tid, i, j = k.op("tid.x"), k.index(), k.reg()
    b = k.load(x, i)
    if space == "global":
        k.atomic("add", out, b, 1, result=False)
    else:
        s = k.shared("s", bins, "int32")
        with k.loop(j, bins, tid, k.op("ntid.x")):
            k.store(s, j, 0)
        k.sync()
        k.atomic("add", s, b, 1, result=False)
        k.sync()
        with k.loop(j, bins, tid, k.op("ntid.x")):
            k.atomic("add", out, j, k.load(s, j), result=False)
    a = np.random.default_rng(3).integers(0, bins, 64 * 50, dtype=np.int32)
    got = np.zeros(bins, np.int32)
    k.run(50, 64, a, got)
    assert np.array_equal(got, np.bincount(a, minlength=bins))


@pytest.mark.parametrize("bins,want", [([0] * 32, 32), (list(range(32)), 4), ([0, 1, 1, 8, 8, 8, 16, 9] * 4, 8 + 12 + 4)])
def test_sectors_of_atomics_repeat_for_equal_addresses(bins: list[int], want: int) -> None:
    k = Kernel()
    x, out = k.array("x", "int32"), k.array("out", "int32")
    k.atomic("add", out, k.load(x, k.op("laneid")), 1, result=False)
    got = np.zeros(32, np.int32)
    r = k.run(1, 32, np.array(bins, np.int32), got)
    assert r.counts.sectors[1] == want and np.array_equal(got, np.bincount(bins, minlength=32))


@pytest.mark.parametrize("op,dtype", [(o, d) for o in "add sub min max and or xor exch inc dec cas".split() for d in ("int32", "uint32", "float32")])
@pytest.mark.parametrize("places", [1, 5, 300])
def test_atomics_are_those_of_one_lane_after_the_other(op: str, dtype: str, places: int) -> None:
    if dtype == "float32" and op in ("and", "or", "xor", "inc", "dec"):
        return
    rng = np.random.default_rng(4)
    data = rng.integers(0, 9, places).astype(dtype)
    index = rng.integers(0, places, 200)
    args = [rng.integers(0, 9, 200).astype(dtype) / (np.float32(3) if dtype == "float32" else 1) for _ in range(2 if op == "cas" else 1)]
    args = [a.astype(dtype) for a in args]
    want, seen = data.copy(), []
    for t, i in enumerate(index):
        seen.append(want[i])
        now, mine = want[i : i + 1], [a[t : t + 1] for a in args]
        want[i] = (now - mine[0] if op == "sub" else atomics.step(op, now, *mine))[0]
    blind, both = data.copy(), data.copy()
    assert atomics.apply(op, blind, index, args, False)[0] is None
    old, changed = atomics.apply(op, both, index, args, True)
    assert np.array_equal(blind, want) and np.array_equal(both, want) and np.array_equal(old, np.array(seen))
    assert changed == (not np.array_equal(want, data))


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atomics_with_a_nan_leave_memory_and_the_nan_variants_take_the_number(dtype: Any, wanted: bool) -> None:
    data = np.array([np.nan, 5.0, 5.0, np.nan], dtype)
    index, value = np.array([0, 1, 1, 2, 3, 0]), np.array([1.0, np.nan, 7.0, np.nan, np.nan, 3.0], dtype)
    for op, result in (("max", [np.nan, 7, 5, np.nan]), ("min", [np.nan, 5, 5, np.nan]), ("nanmax", [3, 7, 5, np.nan]), ("nanmin", [1, 5, 5, np.nan])):
        here = data.copy()
        atomics.apply(op, here, index, [value], wanted)
        np.testing.assert_array_equal(here, np.array(result, dtype))


def test_paths_of_all_ctas_add_up_to_the_counts() -> None:
    k = Kernel()
    x, out = k.array("x", "int32"), k.array("out", "int32")
    s, mine = k.shared("s", 80, "int32"), k.local("mine", 2, "int32")
    tid, i, j = k.op("tid.x"), k.index(), k.reg()
    k.store(s, tid, k.load(x, k.op("mul", i, 3)))
    k.store(mine, 0, tid)
    k.sync()
    with k.loop(j, k.op("rem", i, 5)):
        with k.when(k.op("lt", tid, 40), predicated=True):
            k.atomic("add", out, k.load(s, k.op("rem", k.op("mul", tid, 8), 80)), k.load(mine, 0), result=False)
    r = k.run(3, 80, np.arange(720, dtype=np.int32) % 50, np.zeros(50, np.int32), record=[0, 1, 2])
    counts, code = r.counts, k.code()
    warps, lanes, requests = np.zeros_like(counts.warps), np.zeros_like(counts.lanes), np.zeros_like(counts.requests)
    sectors, waves = requests.copy(), requests.copy()
    for path in (w for cta in r.paths.values() for w in cta.warps):
        for block, mask, touches in zip(path.blocks, path.masks, path.touches, strict=True):
            warps[block] += 1
            lanes[block] += mask.bit_count()
            assert [t.access for t in touches] == list(code.blocks[block].accesses)
            for touch in touches:
                requests[touch.access] += touch.lanes > 0
                sectors[touch.access] += len(touch.sectors)
                waves[touch.access] += touch.wavefronts if code.accesses[touch.access].space == "shared" else 0
    assert np.array_equal(warps, counts.warps) and np.array_equal(lanes, counts.lanes) and np.array_equal(requests, counts.requests)
    atomic = np.array([a.kind in ("atomic", "red") for a in code.accesses])
    assert np.array_equal(sectors[~atomic], counts.sectors[~atomic]) and np.array_equal(waves, counts.wavefronts * (waves > 0))
    assert atomic.sum() == 1 and (sectors[atomic] < counts.sectors[atomic]).all()
