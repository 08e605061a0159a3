"""Lanes, warps and CTAs that wait for each other."""

from __future__ import annotations

import numpy as np

from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel


def lock_kernel() -> Kernel:
    """Each lane takes a lock, adds to a counter without an atomic, and gives the lock back."""
    k = Kernel()
    lock, counter = k.array("lock", "int32"), k.array("counter", "int32")
    k.index()
    with k.repeat() as loop:
        got = k.atomic("cas", lock, 0, 0, 1)
        k.test(loop, k.op("ne", got, 0))
    k.store(counter, 0, k.op("add", k.load(counter, 0), 1))
    k.add(n.Fence, scope="gpu")
    k.atomic("exch", lock, 0, 0)
    return k


def test_a_warp_that_spins_on_a_lock_of_its_own_lane_makes_progress() -> None:
    k = lock_kernel()
    lock, counter = np.zeros(1, np.int32), np.zeros(1, np.int32)
    k.run(3, 40, lock, counter)
    assert counter[0] == 120 and lock[0] == 0


def test_waiting_for_a_flag_of_a_later_lane_and_of_a_later_cta() -> None:
    k = Kernel()
    flag, out = k.array("flag", "int32"), k.array("out", "int32")
    i = k.index()
    with k.when(k.op("lt", i, 50)):
        with k.repeat() as loop:
            k.test(loop, k.op("eq", k.load(flag, 0), 0))
    with k.otherwise():
        k.store(flag, 0, 7)
    k.store(out, i, k.load(flag, 0))
    got = np.zeros(128, np.int32)
    k.run(2, 64, np.zeros(1, np.int32), got)
    assert (got == 7).all()


def test_the_first_cta_waits_for_the_last_of_many() -> None:
    k = Kernel()
    flag, out = k.array("flag", "int32"), k.array("out", "int32")
    cta = k.op("ctaid.x")
    with k.when(k.op("eq", cta, 0)):
        with k.repeat() as loop:
            k.test(loop, k.op("eq", k.load(flag, 0), 0))
    with k.when(k.op("eq", cta, 199)):
        k.store(flag, 0, 1)
    k.store(out, cta, k.load(flag, 0))
    got = np.zeros(200, np.int32)
    k.run(200, 1024, np.zeros(1, np.int32), got)
    assert got[0] == 1 and got[199] == 1


def test_a_spin_that_counts_its_passes_still_lets_the_holder_run() -> None:
    k = Kernel()
    lock, counter, out = k.array("lock", "int32"), k.array("counter", "int32"), k.array("out", "int32")
    i, tries = k.index(), k.op("mov", k.imm(0))
    with k.repeat() as loop:
        got = k.atomic("cas", lock, 0, 0, 1)
        k.op("add", tries, 1, to=tries)
        k.test(loop, k.op("ne", got, 0))
    k.store(counter, 0, k.op("add", k.load(counter, 0), 1))
    k.atomic("exch", lock, 0, 0)
    k.store(out, i, tries)
    counts, tried = np.zeros(1, np.int32), np.zeros(8, np.int32)
    k.run(1, 8, np.zeros(1, np.int32), counts, tried)
    assert counts[0] == 8 and sorted(tried.tolist())[0] == 1 and len(set(tried.tolist())) == 8


def test_a_loop_of_atomics_without_effect_keeps_its_lanes_together() -> None:
    """Lanes that have left the loop wait for the others although no memory changes: the place behind it is run once."""
    k = Kernel()
    x, out = k.array("x", "int32"), k.array("out", "int32")
    i, j, seen = k.index(), k.reg(), k.op("mov", k.imm(0))
    with k.loop(j, k.op("mul", i, 5)):
        k.op("add", seen, k.atomic("max", x, 0, j), to=seen)
    k.store(out, i, seen)
    got = np.zeros(32, np.int32)
    r = k.run(1, 32, np.full(1, 1000, np.int32), got)
    assert np.array_equal(got, np.arange(32) * 5000) and r.counts.requests[1] == 1
