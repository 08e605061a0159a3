"""Arrays and numbers on their way to a kernel, and device memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import GpusimError, cuda, float32
from gpusim.cuda.arguments import bind


def test_numbers_are_typed_as_in_numba() -> None:
    made = bind((3, 2**63, True, 1.5, np.float32(2), np.int8(1)), tuple("abcdef"), "w")
    assert [type(b.value) for b in made] == [int, np.uint64, bool, float, np.float32, np.int8]


def test_strided_host_arrays_travel_as_copies_and_come_back() -> None:
    base = np.arange(10.0)
    bound = bind((base[::2],), ("x",), "w")[0]
    assert bound.value.flags.c_contiguous and bound.after is not None
    bound.value[:] = -1
    bound.after()
    np.testing.assert_array_equal(base[::2], -1)
    assert base[1] == 1


class Foreign:
    """Has __array__ and nothing else."""

    def __init__(self, data: list[float]) -> None:
        self.data = data

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.data)


class Writable(Foreign):
    def __setitem__(self, key: Any, value: np.ndarray) -> None:
        self.data[:] = value.tolist()


def test_anything_with_array_is_taken() -> None:
    assert bind((Foreign([1.0]),), ("x",), "w")[0].refuse
    target = Writable([1.0, 2.0])
    bound = bind((target,), ("x",), "w")[0]
    bound.value[:] = 7
    assert bound.after is not None and not bound.refuse
    bound.after()
    assert target.data == [7.0, 7.0]


def test_wrappers_say_which_way_an_array_travels() -> None:
    array = np.ones(3)
    assert bind((cuda.In(array),), ("x",), "w")[0].value is not array
    out = bind((cuda.Out(array),), ("x",), "w")[0]
    assert out.value is array and out.written is not None and not out.written.any()
    assert bind((cuda.InOut(array),), ("x",), "w")[0].value is array


def test_device_arrays() -> None:
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    d = cuda.to_device(host)
    host[0, 0] = 99
    assert (d.shape, d.dtype, d.size, d.nbytes, d.ndim, d.strides, len(d)) == ((3, 4), np.float32, 12, 48, 2, (16, 4), 3)
    assert d[0, 0] == 0 and d.copy_to_host()[2, 3] == 11
    np.testing.assert_array_equal(d[1:, ::2].copy_to_host(), [[4, 6], [8, 10]])
    np.testing.assert_array_equal(d.reshape(4, 3).ravel().copy_to_host(), np.arange(12))
    np.testing.assert_array_equal(np.asarray(d.T), np.arange(12).reshape(3, 4).T)
    d[1] = 5
    out = np.empty((3, 4), np.float32)
    assert d.copy_to_host(out) is out and (out[1] == 5).all()
    d.copy_to_device(np.zeros((3, 4), np.float32))
    assert not np.asarray(d).any()
    assert d.reshape(-1, 2).shape == (6, 2) and [p.size for p in d.ravel().split(5)] == [5, 5, 2]
    assert cuda.is_cuda_array(d) and cuda.as_cuda_array(d) is d and not cuda.is_cuda_array(host)


def test_device_arrays_refuse_what_cannot_be() -> None:
    d = cuda.to_device(np.zeros((3, 4)))
    for call, words in [
        (lambda: d.T.reshape(12), "with a copy"),
        (lambda: d.copy_to_host(np.zeros(12)), "same shape"),
        (lambda: d.copy_to_device(np.zeros((3, 4), np.float32)), "same shape and type"),
        (lambda: d[[0, 1]], "integers and slices"),
        (lambda: cuda.to_device(np.zeros(2, complex)), "real and one of the imaginary"),
        (lambda: cuda.as_cuda_array(np.zeros(2)), "to_device"),
        (lambda: cuda.device_array(-1), "0 or more"),
    ]:
        with pytest.raises(GpusimError, match=words):
            call()


def test_new_device_memory_counts_as_unwritten() -> None:
    d = cuda.device_array((2, 3), np.float32)
    assert d.written is not None and not d.written.any() and np.isnan(d.copy_to_host()).all()
    d[0] = 1
    part = d[:, 1]
    assert part.written is not None and part.written.tolist() == [True, False]
    d.copy_to_device(np.zeros((2, 3), np.float32))
    assert d.written.all()
    assert cuda.device_array_like(np.zeros((2, 2), order="F")).is_f_contiguous()
    assert cuda.device_array(4, float32).dtype == np.float32 and cuda.device_array(3, np.bool_).copy_to_host().all()


def test_host_arrays_of_other_kinds_are_numpy_arrays() -> None:
    for make in (cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        assert make((2, 3), np.int32).shape == (2, 3)
    with cuda.pinned(np.zeros(2)), cuda.defer_cleanup(), cuda.profiling():
        cuda.profile_start()
        cuda.profile_stop()
