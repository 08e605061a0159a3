"""The sanitizers of accesses that meet: races, locks, barriers under divergence, deadlocks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.simt_interp_builder import Kernel
from tests.unit.test_simt_sanitizer import caught


def neighbours(barriers: tuple[bool, bool], ctas: str = "all", rounds: int = 2) -> Kernel:
    """Each thread writes its cell, reads its neighbour's, in two rounds."""
    k = Kernel()
    out = k.array("out", "int32")
    s = k.shared("s", 64, "int32")
    i, j = k.op("tid.x"), k.reg()
    with k.loop(j, rounds):
        index = k.op("add", i, 0)
        if ctas == "permuted":
            index = k.op("rem", k.op("add", i, k.op("mul", k.op("ctaid.x"), 8)), 64)
        k.store(s, index, k.op("add", i, j))
        if barriers[0]:
            k.sync()
        k.store(out, i, k.load(s, k.op("rem", k.op("add", index, 1), 64)))
        if barriers[1]:
            k.sync()
    return k


@pytest.mark.parametrize("ctas", ["all", "permuted"])
def test_races_between_barriers(ctas: str) -> None:
    got = np.zeros(64, np.int32)
    neighbours((True, True), ctas).run(4, 64, got)
    text = caught(lambda: neighbours((False, True), ctas).run(4, 64, got), "shared-memory race", "wrote", "line", "it is read", "syncthreads")
    assert "block (0, 0, 0)" in text
    caught(lambda: neighbours((True, False), ctas).run(4, 64, got), "shared-memory race", "read s[", "it is written")
    neighbours((True, False), ctas, rounds=1).run(4, 64, got)


def test_a_race_in_one_cta_of_many() -> None:
    def kernel(bad: int) -> Kernel:
        k = Kernel()
        out = k.array("out", "int32")
        s = k.shared("s", 64, "int32")
        i, cta = k.op("tid.x"), k.op("ctaid.x")
        k.store(s, i, i)
        with k.when(k.op("ne", cta, bad)):
            k.sync()
        k.store(out, i, k.load(s, k.op("sub", 63, i)))
        return k

    got = np.zeros(64, np.int32)
    kernel(99).run(10, 64, got)
    caught(lambda: kernel(7).run(10, 64, got), "shared-memory race", "block (7, 0, 0)")


def test_write_write_races() -> None:
    def kernel(value: str, across: int) -> Kernel:
        k = Kernel()
        k.array("out", "int32")
        s = k.shared("s", 64, "int32")
        i = k.op("tid.x")
        what = {"same": 5, "lane": k.op("add", i, 1)}[value]
        k.store(s, k.op("rem", i, across), what)
        return k

    got = np.zeros(1, np.int32)
    kernel("lane", 64).run(2, 64, got)
    kernel("same", 8).run(2, 64, got)
    caught(lambda: kernel("lane", 8).run(2, 64, got), "different values", "s[0]")
    caught(lambda: kernel("lane", 32).run(2, 64, got), "different values")


def test_write_write_race_of_two_statements_and_lockstep_within_a_warp() -> None:
    def kernel(threads_of_second: int) -> Kernel:
        k = Kernel()
        out = k.array("out", "int32")
        s = k.shared("s", 4, "int32")
        i = k.op("tid.x")
        with k.when(k.op("eq", i, 0)):
            k.store(s, 0, 1)
        with k.when(k.op("eq", i, threads_of_second)):
            k.store(s, 0, 2)
        k.sync()
        k.store(out, i, k.load(s, 0))
        return k

    got = np.zeros(64, np.int32)
    kernel(5).run(1, 64, got)
    assert (got == 2).all()
    caught(lambda: kernel(40).run(1, 64, got), "warp 0 wrote s[0] in line", "it is written", "thread (40, 0, 0)")


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses() -> None:
    def kernel(sync: tuple[bool, bool]) -> Kernel:
        k = Kernel()
        out = k.array("out", "int32")
        s = k.shared("s", 1, "int32")
        i = k.op("tid.x")
        with k.when(k.op("eq", i, 0)):
            k.store(s, 0, 0)
        if sync[0]:
            k.sync()
        k.atomic("add", s, 0, 1, result=False)
        k.atomic("add", s, 0, 1)
        if sync[1]:
            k.sync()
        k.store(out, i, k.load(s, 0))
        return k

    got = np.zeros(64, np.int32)
    kernel((True, True)).run(1, 64, got)
    assert (got == 128).all()
    caught(lambda: kernel((False, True)).run(1, 64, got), "race", "wrote", "changed atomically")
    caught(lambda: kernel((True, False)).run(1, 64, got), "race", "changed (atomically)", "it is read")


@pytest.mark.parametrize("limit", [16, 32])
def test_barrier_under_divergence(limit: int) -> None:
    def kernel(inside: bool) -> Kernel:
        k = Kernel()
        out = k.array("out", "int32")
        i = k.op("tid.x")
        with k.when(k.op("lt", i, limit)):
            k.op("add", i, 1)
            if inside:
                k.sync()
        if not inside:
            k.sync()
        k.store(out, i, i)
        return k

    got = np.zeros(64, np.int32)
    kernel(False).run(2, 64, got)
    caught(lambda: kernel(True).run(2, 64, got), "barrier under divergence", "user.py:5", "source of line 5", "warp 1" if limit == 32 else "warp 0")


def test_barriers_in_both_sides_and_in_a_loop_of_unequal_length() -> None:
    def sides() -> Kernel:
        k = Kernel()
        k.array("out", "int32")
        with k.when(k.op("lt", k.op("tid.x"), 32)):
            k.sync()
        with k.otherwise():
            k.sync()
        return k

    def loop(equal: bool) -> Kernel:
        k = Kernel()
        out = k.array("out", "int32")
        with k.loop(k.reg(), k.op("mov", k.imm(3)) if equal else k.op("tid.x")):
            k.sync()
        k.store(out, 0, 1)
        return k

    got = np.zeros(1, np.int32)
    caught(lambda: sides().run(1, 64, got), "barrier under divergence", "line")
    loop(True).run(1, 64, got)
    caught(lambda: loop(False).run(1, 64, got), "barrier under divergence")


def test_deadlock_of_a_lock_that_nobody_gives_back() -> None:
    k = Kernel()
    lock, out = k.array("lock", "int32"), k.array("out", "int32")
    i = k.index()
    with k.repeat() as loop:
        k.test(loop, k.op("ne", k.atomic("cas", lock, 0, 0, 1), 0))
    k.sync()
    k.atomic("exch", lock, 0, 0)
    k.store(out, i, i)
    text = caught(lambda: k.run(1, 64, np.zeros(1, np.int32), np.zeros(64, np.int32)), "deadlock", "user.py:7")
    assert "the other lanes are at line 9" in text


def test_deadlock_of_a_flag_that_nobody_sets() -> None:
    def kernel() -> Kernel:
        k = Kernel()
        flag, out = k.array("flag", "int32"), k.array("out", "int32")
        with k.repeat() as loop:
            k.test(loop, k.op("eq", k.load(flag, 0), 0))
        k.store(out, 0, 1)
        return k

    kernel().run(1, 32, np.ones(1, np.int32), np.zeros(1, np.int32))
    caught(lambda: kernel().run(1, 32, np.zeros(1, np.int32), np.zeros(1, np.int32)), "deadlock", "user.py:2")


def test_sanitizers_can_be_switched_off() -> None:
    got = np.zeros(64, np.int32)
    neighbours((False, False)).run(1, 64, got, sanitize=False)


def test_a_lock_orders_accesses_to_shared_memory() -> None:
    def kernel(locked: bool) -> Kernel:
        k = Kernel()
        out = k.array("out", "int32")
        lock, s = k.shared("lock", 1, "int32"), k.shared("s", 1, "int32")
        i = k.op("tid.x")
        with k.when(k.op("eq", i, 0)):
            k.store(lock, 0, 0)
            k.store(s, 0, 0)
        k.sync()
        if locked:
            with k.repeat() as loop:
                k.test(loop, k.op("ne", k.atomic("cas", lock, 0, 0, 1), 0))
        k.store(s, 0, k.op("add", k.load(s, 0), 1))
        if locked:
            k.atomic("exch", lock, 0, 0, result=False)
        k.sync()
        k.store(out, i, k.load(s, 0))
        return k

    got = np.zeros(64, np.int32)
    kernel(True).run(1, 64, got)
    assert (got == 64).all()
    caught(lambda: kernel(False).run(1, 64, got), "race")


def test_the_first_guess_of_a_compare_and_swap_is_no_race() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    s = k.shared("s", 1, "int32")
    i = k.op("tid.x")
    with k.when(k.op("eq", i, 0)):
        k.store(s, 0, 0)
    k.sync()
    old = k.load(s, 0)
    assumed = k.op("mov", k.imm(-1))
    with k.repeat() as loop:
        k.test(loop, k.op("ne", assumed, old))
        k.op("mov", old, to=assumed)
        k.op("mov", k.atomic("cas", s, 0, assumed, k.op("add", assumed, i)), to=old)
    k.sync()
    k.store(out, i, k.load(s, 0))
    got = np.zeros(64, np.int32)
    k.run(1, 64, got)
    assert (got == 63 * 32).all()
