"""Every sanitizer: a kernel with exactly that bug is refused with line and lane, its clean twin is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel

Run = Callable[[], Any]


def caught(run: Run, *words: str) -> str:
    with pytest.raises(GpusimError) as error:
        run()
    text = str(error.value)
    for word in words:
        assert word in text, text
    return text


def copy_kernel(shift: int) -> Kernel:
    k = Kernel("copy")
    x, y = k.array("x"), k.array("y")
    i = k.index()
    k.store(y, i, k.load(x, k.op("add", i, shift)))
    return k


def test_out_of_bounds_names_everything() -> None:
    a, b = np.zeros(128, np.float32), np.zeros(128, np.float32)
    copy_kernel(0).run(2, 64, a, b)
    text = caught(lambda: copy_kernel(3).run(2, 64, a, b), "kernel copy", "user.py:7", "source of line 7", "index 128", "array x of 128 elements")
    assert "block (1, 0, 0), thread (61, 0, 0), warp 1, lane 29" in text


@pytest.mark.parametrize("space", ["shared", "local", "const"])
def test_out_of_bounds_of_other_memories(space: str) -> None:
    def kernel(extra: int) -> Kernel:
        k = Kernel()
        out = k.array("out")
        i, j = k.op("tid.x"), k.reg()
        size = 32
        if space == "const":
            buffer = k.const("table", range(size))
        else:
            buffer = k.shared("mine", size) if space == "shared" else k.local("mine", size)
            if space == "shared":
                k.store(buffer, i, 1)
            else:
                with k.loop(j, size):
                    k.store(buffer, j, 1)
        k.store(out, i, k.load(buffer, k.op("add", i, extra)))
        return k

    got = np.zeros(32, np.float32)
    kernel(0).run(1, 32, got)
    caught(lambda: kernel(1).run(1, 32, got), "index 32", f"{space} array", "lane 31")


def test_negative_beyond_the_begin_and_stores_too() -> None:
    a, b = np.zeros(128, np.float32), np.zeros(128, np.float32)
    caught(lambda: copy_kernel(-129).run(2, 64, a, b), "index -129", "block (0, 0, 0), thread (0, 0, 0)")
    caught(lambda: copy_kernel(0).run(2, 64, a, b[:100]), "index 100", "array y")


def test_misaligned_vector() -> None:
    def kernel(first: int) -> Kernel:
        k = Kernel()
        x, y = k.array("x"), k.array("y")
        i = k.op("tid.x")
        k.store(y, i, k.load(x, k.op("add", k.op("mul", i, 4), first), 4)[0])
        return k

    a, b = np.zeros(256, np.float32), np.zeros(32, np.float32)
    kernel(4).run(1, 32, a, b)
    caught(lambda: kernel(1).run(1, 32, a, b), "misaligned access of 16 bytes to x", "remainder 4", "lane 0", "user.py:4")
    caught(lambda: kernel(0).run(1, 32, a[1:], b), "misaligned")


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_uninitialised_shared_memory(dtype: str) -> None:
    def kernel(fill: int) -> Kernel:
        k = Kernel()
        out = k.array("out", dtype)
        s, _ = k.shared("s", 64, dtype), k.shared("other", 4, "float32")
        i = k.op("tid.x")
        with k.when(k.op("lt", i, fill)):
            k.store(s, i, 1)
        k.sync()
        k.store(out, i, k.load(s, i))
        return k

    got = np.zeros(64, dtype)
    kernel(64).run(3, 64, got)
    caught(lambda: kernel(50).run(3, 64, got), "shared memory s[50], which nothing has written", "thread (50, 0, 0), warp 1, lane 18")


def test_uninitialised_local_memory_and_device_array() -> None:
    def kernel(fill: int) -> Kernel:
        k = Kernel()
        out = k.array("out")
        mine, j = k.local("mine", 4), k.reg()
        with k.loop(j, fill):
            k.store(mine, j, 1)
        k.store(out, k.op("tid.x"), k.load(mine, k.op("rem", k.op("tid.x"), 4)))
        return k

    got = np.zeros(64, np.float32)
    kernel(4).run(1, 64, got)
    caught(lambda: kernel(3).run(1, 64, got), "local array element mine[3]", "lane 3")
    a, b = np.zeros(64, np.float32), np.zeros(64, np.float32)
    copy_kernel(0).run(1, 64, a, b, written={1: np.zeros(64, bool)})
    caught(lambda: copy_kernel(0).run(1, 64, a, b, written={0: np.zeros(64, bool)}), "x[0], which nothing has written")


def test_marks_of_single_elements() -> None:
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    some = np.arange(64) != 40
    caught(lambda: copy_kernel(0).run(2, 32, x, y, written={0: some}), "x[40], which nothing has written", "thread (8, 0, 0)")
    out = np.zeros(64, bool)
    copy_kernel(0).run(1, 32, x, y, written={0: some, 1: out})
    np.testing.assert_array_equal(out, np.arange(64) < 32)
    copy_kernel(0).run(2, 32, x, y, written={0: some}, sanitize=False)
    with pytest.raises(GpusimError, match="marks of argument x"):
        copy_kernel(0).run(1, 32, x, y, written={0: np.ones(63, bool)})


def test_marks_and_copies_and_vectors() -> None:
    def kernel(valid: int) -> Kernel:
        k = Kernel()
        x, out = k.array("x"), k.array("out")
        s = k.shared("s", 128)
        first = k.op("mul", k.op("tid.x"), 4)
        k.add(n.AsyncCopy, target=s, target_index=first, source=x, source_index=first, count=4, valid=n.Imm(valid, "int32"))
        k.add(n.AsyncCommit)
        k.add(n.AsyncWait, pending=0)
        k.store(out, k.op("tid.x"), k.load(s, first))
        return k

    x, out = np.zeros(128, np.float32), np.zeros(32, np.float32)
    some = np.arange(128) % 4 != 3
    kernel(3).run(1, 32, x, out, written={0: some})
    caught(lambda: kernel(4).run(1, 32, x, out, written={0: some}), "x[3], which nothing has written", "lane 0")


def test_asynchronous_copy_used_before_its_wait() -> None:
    def kernel(wait: bool, sync: bool) -> Kernel:
        k = Kernel()
        x, out = k.array("x"), k.array("out")
        s = k.shared("s", 64)
        i = k.op("tid.x")
        k.add(n.AsyncCopy, target=s, target_index=i, source=x, source_index=i, count=1)
        k.add(n.AsyncCommit)
        if wait:
            k.add(n.AsyncWait, pending=0)
        if sync:
            k.sync()
        k.store(out, i, k.load(s, k.op("sub", 63, i)))
        return k

    a, got = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel(True, True).run(2, 64, a, got)
    assert np.array_equal(got, a[::-1])
    caught(lambda: kernel(False, True).run(2, 64, a, got), "asynchronous copy of line 2", "s[63]", "cp_async_wait")
    caught(lambda: kernel(True, False).run(2, 64, a, got), "race")


def test_matrix_instruction_in_a_divergent_branch() -> None:
    def kernel(lanes: int) -> Kernel:
        k = Kernel()
        s = k.shared("s", 256, "float16")
        lane = k.op("laneid")
        for j in range(8):
            k.store(s, k.op("add", k.op("mul", lane, 8), j), 0.0)
        k.sync()
        with k.when(k.op("lt", lane, lanes)):
            k.add(n.LdMatrix, dst=(k.reg("uint32"),), buffer=s, index=k.op("mul", lane, 8), trans=False)
        return k

    kernel(32).run(1, 32)
    caught(lambda: kernel(16).run(1, 32), "only some of its lanes", "user.py")


def test_warnings_that_are_notes() -> None:
    k = Kernel()
    out = k.array("out", "int32")
    i = k.op("tid.x")
    with k.when(k.op("lt", i, 8)):
        k.store(out, i, k.warp("shfl.down", 0xFFFFFFFF, i, 4, 32))
    r = k.run(1, 32, np.zeros(8, np.int32))
    assert any("not active" in note and "user.py:4" in note for note in r.notes)
