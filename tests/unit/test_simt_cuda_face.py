"""`from gpusim import cuda` without running a kernel: arrays, devices, streams, launch shapes, signatures, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusim
from gpusim import GpusimError, cuda, float32, int32, types, void
from gpusim.cuda.arguments import bind
from gpusim.cuda.dispatcher import Dispatcher
from gpusim.cuda.launching import geometry
from gpusim.cuda.random import create_xoroshiro128p_states


@cuda.jit
def kernel(x: Any, n: Any) -> None:
    x[cuda.grid(1)] = n


@cuda.jit(device=True)
def helper(a: Any) -> Any:
    return a + 1


def starred(*x: Any) -> None:
    return None


def test_grid_and_block_in_every_form() -> None:
    assert geometry(5, 64).grid == (5, 1, 1)
    assert geometry((2, 3), [4, 5, 6]).block == (4, 5, 6)
    assert geometry(np.int64(7), np.array([8, 2]), 100).shared_bytes == 100


@pytest.mark.parametrize(
    "grid, block, shared, words",
    [
        (None, 64, 0, ["no grid was given"]),
        (1.5, 64, 0, ["grid = 1.5", "(n + threads - 1) // threads"]),
        (0, 64, 0, ["x is 0"]),
        ((1, 70000), 64, 0, ["y is 70000", "65535"]),
        (1, (64, 32), 0, ["2048 threads", "at most 1024"]),
        (1, (1, 1, 65), 0, ["z is 65", "64"]),
        (1, (1, 2, 3, 4), 0, ["one to three integers"]),
        (1, True, 0, ["block = True"]),
        (1, 64, -1, ["-1 bytes"]),
        (1, 64, 2.0, ["2.0 bytes"]),
    ],
)
def test_wrong_launches_are_refused(grid: Any, block: Any, shared: Any, words: list[str]) -> None:
    with pytest.raises(GpusimError) as error:
        geometry(grid, block, shared, "here.py:1")
    assert all(word in str(error.value) for word in ["here.py:1", *words])


@pytest.mark.parametrize(
    "value, words",
    [
        ([1.0, 2.0], ["list", "numpy.asarray"]),
        ((), ["empty tuple"]),
        ("text", ["str", "numpy.frombuffer"]),
        (np.zeros(3, complex), ["complex128", "two float arrays"]),
        (np.zeros(3, [("a", "f4"), ("b", "i4")]), ["every field"]),
        (np.array(["a"]), ["integers"]),
        (np.array([None]), ["convert", "numbers"]),
        (np.zeros(3, ">f4"), ["byte order"]),
        (2**64, ["does not fit 64 bits"]),
        (object(), ["object", "NumPy arrays"]),
        (np.zeros(()), ["without dimensions"]),
    ],
)
def test_arguments_that_no_kernel_takes(value: Any, words: list[str]) -> None:
    with pytest.raises(GpusimError) as error:
        bind((value,), ("x",), "here.py:1")
    assert all(word.lower() in str(error.value).lower() for word in ["here.py:1", "'x'", *words])


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(GpusimError, match=r"takes 2 arguments \(x, n\), 1 were given"):
        kernel[1, 1](np.zeros(1))


def test_the_device(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("GPUSIM_GPU", raising=False)
    device = cuda.get_current_device()
    assert device.name == "h100-sxm" and device.MULTIPROCESSOR_COUNT == 132 and device.WARP_SIZE == 32 and device.compute_capability == (9, 0)
    monkeypatch.setenv("GPUSIM_GPU", "a100")
    assert cuda.gpus[0].MAX_THREADS_PER_BLOCK == 1024 and cuda.gpus.current.name.startswith("a100") and len(cuda.gpus) == 1
    assert cuda.set_gpu("h200").name == "h200-sxm" and cuda.select_device(0).name == "h200-sxm"
    assert cuda.current_context().get_memory_info().total > 1e11
    cuda.set_gpu(None)
    monkeypatch.setenv("GPUSIM_GPU", "nothing")
    with pytest.raises(GpusimError, match="GPUSIM_GPU"):
        cuda.get_current_device()
    monkeypatch.delenv("GPUSIM_GPU")
    assert cuda.is_available() and cuda.detect() and "SIMULATED" in capsys.readouterr().out
    with pytest.raises(GpusimError, match="set_gpu"):
        cuda.select_device(1)
    with pytest.raises(AttributeError, match="MULTIPROCESSOR_COUNT"):
        device.NOTHING  # noqa: B018


def test_streams_and_events() -> None:
    stream, seen = cuda.stream(), []
    with stream.auto_synchronize() as same:
        assert same is stream
    stream.add_callback(lambda s, status, arg: seen.append((s, arg)), 5)
    assert seen == [(stream, 5)] and cuda.default_stream().handle == 0 and stream.handle != cuda.stream().handle
    cuda.synchronize()
    begin, end = cuda.event(), cuda.event()
    with pytest.raises(GpusimError, match="not recorded"):
        begin.elapsed_time(end)
    begin.record()
    end.record(stream)
    end.synchronize()
    assert begin.elapsed_time(end) == 0.0 == cuda.event_elapsed_time(begin, end)


def test_jit_in_every_form() -> None:
    def plain(x: Any, n: Any) -> None:
        x[0] = n

    array = float32[:]
    for made, count in [
        (cuda.jit(plain), 0),
        (cuda.jit()(plain), 0),
        (cuda.jit(fastmath=True, cache=True, lineinfo=True, opt=True, debug=False, inline="never")(plain), 0),
        (cuda.jit("void(float32[:], int32)")(plain), 1),
        (cuda.jit("(float32[:], int32)")(plain), 1),
        (cuda.jit(void(array, int32))(plain), 1),
        (cuda.jit((array, int32))(plain), 1),
        (cuda.jit([void(array, int32), "void(float64[:, ::1], int64)"])(plain), 2),
    ]:
        assert isinstance(made, Dispatcher) and len(made.signatures) == count and made.py_func is plain and made.__name__ == "plain"
    assert cuda.jit(device=True)(plain).device and cuda.jit(max_registers=32)(plain).options.max_registers == 32
    assert cuda.jit(launch_bounds=(1024, 2))(plain).options.max_registers == 32


@pytest.mark.parametrize(
    "use, words",
    [
        (lambda: cuda.jit(colour="red"), ["'colour'", "without effect"]),
        (lambda: cuda.jit("void(float32[:]")(kernel.py_func), ["signature"]),
        (lambda: cuda.jit("float32(float32[:], int32)")(kernel.py_func), ["returns"]),
        (lambda: cuda.jit("void(float32[:])")(kernel.py_func), ["1 arguments", "x, n"]),
        (lambda: cuda.jit(max_registers=300)(kernel.py_func), ["300"]),
        (lambda: cuda.jit(starred), ["plain parameters"]),
        (lambda: cuda.jit()(3), ["takes a function"]),
        (lambda: kernel(np.zeros(1), 2), ["without grid and block", "kernel[blocks, threads_per_block]"]),
        (lambda: kernel[1], ["1 entries"]),
        (lambda: kernel.forall(-1), ["forall(-1)"]),
        (lambda: helper(1), ["device function", "py_func"]),
        (lambda: helper[1, 1](1), ["device function"]),
        (lambda: cuda.vectorize(["f4(f4)"]), ["@cuda.jit"]),
        (lambda: cuda.guvectorize([], ""), ["@cuda.jit"]),
        (lambda: cuda.declare_device("f", "f4(f4)"), ["device=True"]),
        (lambda: cuda.jit(kernel.py_func).report, ["not launched"]),
        (lambda: cuda.grid(1), ["outside a kernel"]),
        (lambda: gpusim.run(3), ["program or a CUDA kernel"]),  # type: ignore[arg-type]
        (lambda: gpusim.run(kernel, block=32, args=(np.zeros(1), 1)), ["no grid"]),
        (lambda: gpusim.run(kernel, grid=1, args=(np.zeros(1), 1)), ["no block"]),
        (lambda: gpusim.run(kernel, inputs={}), ["args=("]),
        (lambda: gpusim.run(helper, grid=1, block=1, args=(1,)), ["device function"]),
        (lambda: gpusim.run(gpusim.kernels.gemm(64, 64, 64, tile=(64, 64, 32)), grid=1), ["grid: for CUDA kernels only"]),
        (lambda: create_xoroshiro128p_states(4, -1), ["seed = -1"]),
    ],
)
def test_mistakes_say_what_to_do(use: Any, words: list[str]) -> None:
    with pytest.raises(GpusimError) as error:
        use()
    assert all(word in str(error.value) for word in words), str(error.value)


def test_mistakes_name_the_line_of_the_script() -> None:
    with pytest.raises(GpusimError, match=r"test_simt_cuda_face.py:\d+"):
        kernel[1, 2000](np.zeros(1), 1)


def test_signatures_choose_and_convert() -> None:
    made = cuda.jit(["void(float32[:], int32)", "void(float64[:], float32)"])(kernel.py_func)
    first = made.bound((np.zeros(2, np.float32), 3), "w")
    assert isinstance(first[1].value, np.int32)
    assert isinstance(made.bound((np.zeros(2), 3), "w")[1].value, np.float32)
    with pytest.raises(GpusimError, match=r"no signature.*int8\[:\].*Declared: void\(float32\[:\], int32\)"):
        made.bound((np.zeros(2, np.int8), 3), "w")
    with pytest.raises(GpusimError, match="no signature"):
        cuda.jit("void(float32[:, ::1], int32)")(kernel.py_func).bound((np.zeros((3, 2), np.float32).T, 3), "w")


def test_the_names_a_numba_script_imports_are_there() -> None:
    names = "float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 boolean void types jit njit cuda".split()
    assert all(hasattr(gpusim, name) for name in names) and types.float32 is float32
    inside = (
        "grid gridsize threadIdx blockIdx blockDim gridDim shared local const atomic syncthreads random jit to_device libdevice fp16 laneid warpsize".split()
    )
    assert all(hasattr(cuda, name) for name in inside) and set(inside) <= {*dir(cuda)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        cuda.nothing  # noqa: B018


def test_random_states_are_numbas() -> None:
    """Numbers printed by numba.cuda.random 0.68 for seed 123456789 from subsequence 3."""
    states = create_xoroshiro128p_states(7, 123456789, 3).copy_to_host()
    assert states[0].tolist() == [12602644240231759578, 17511319348592297033]
    assert states[6].tolist() == [11273741929899463940, 12510489035721780974]
    assert create_xoroshiro128p_states(1, 2**64 - 1)[0].copy_to_host().tolist() == [16490336266968443936] * 2
    np.testing.assert_array_equal(create_xoroshiro128p_states(9, 5, 4).copy_to_host()[0], create_xoroshiro128p_states(5, 5).copy_to_host()[4])


def test_an_item_of_a_tuple_that_no_kernel_takes_is_named() -> None:
    with pytest.raises(GpusimError, match="'x.1' is of type list"):
        bind(((1.0, [2.0]),), ("x",), "here.py:1")


def test_what_scripts_import_beside_cuda() -> None:
    import gpusim

    gpusim.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    assert list(gpusim.prange(3)) == [0, 1, 2] and gpusim.types.float32 is gpusim.float32
    with pytest.raises(GpusimError, match="no machine code"):
        cuda.compile_ptx(abs, gpusim.int32)
