"""Launches from Python: where results appear, when time is simulated, what is found and refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim import GpusimError, cuda, float32, njit


@cuda.jit
def add_one(x: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def copy(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@cuda.jit
def scale(x: Any, a: Any) -> None:
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] = a * x[i, j] + i


@cuda.jit
def says(x: Any) -> None:
    i = cuda.grid(1)
    if i == 3:
        print("value", x[i])


@pytest.fixture(autouse=True)
def default_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("GPUSIM_GPU", raising=False)
    yield
    cuda.set_gpu(None)


def test_values_come_at_the_launch_and_time_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import gpusim.launch.simt.run as run

    timed = []
    original = run.assemble
    monkeypatch.setattr(run, "assemble", lambda *a, **k: timed.append(1) or original(*a, **k))
    x = np.zeros(100, np.float32)
    add_one[4, 32](x)
    assert (x == 1).all() and timed == []
    report = add_one.report
    assert report.time_us > 0 and report is add_one.report and timed == [1]
    add_one[4, 32](x)
    assert (x == 2).all() and add_one.report is not report


def test_gs_run_gives_report_and_values() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    right = np.float32(2) * x + np.arange(3, dtype=np.float32)[:, None]
    report = gs.run(scale, gpu="h200", grid=(1, 1), block=(4, 4), args=(x, float32(2)))
    np.testing.assert_array_equal(x, right)
    assert report.values["x"] is x and report.gpu == "h200-sxm" and report.ctas == 1 and report.params["block"] == "4x4"


def test_timing_alone_leaves_arrays_as_they_are() -> None:
    x = np.zeros(1000, np.float32)
    timed = gs.run(add_one, grid=4, block=256, args=(x,), values=False)
    assert not x.any() and timed.values is None
    assert timed.cycles == gs.run(add_one, grid=4, block=256, args=(x,)).cycles and x.all()


def test_the_current_gpu_and_the_protocol_reach_the_report() -> None:
    x = np.zeros(64, np.float32)
    add_one[2, 32](x)
    assert add_one.report.gpu == "h100-sxm"
    cuda.set_gpu("a100")
    add_one[2, 32](x)
    assert add_one.report.gpu.startswith("a100")
    inside = gs.run(add_one, "h100", grid=2, block=32, args=(x,), launch="in", clock=1000)
    assert inside.protocol.launch == "in" and inside.clock_mhz == 1000
    assert inside.cycles > gs.run(add_one, "h100", grid=2, block=32, args=(x,), clock=1000).cycles


def test_registers_decide_the_occupancy() -> None:
    x = np.zeros(64, np.float32)
    assert gs.run(add_one, grid=2, block=1024, args=(x,), registers=64).ctas_per_sm == 1
    assert gs.run(add_one, grid=2, block=1024, args=(x,), registers=32).ctas_per_sm == 2


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[:, ::2], lambda a: a[1:, 1:], lambda a: a.T, lambda a: a[::-1]])
def test_host_arrays_of_any_layout_are_changed_in_place(view: Any) -> None:
    base = np.arange(30.0).reshape(5, 6)
    right = base.copy()
    part = view(right)
    part[...] = 3.0 * part + np.arange(part.shape[0])[:, None]
    scale[(1, 1), (8, 8)](view(base), 3.0)
    np.testing.assert_array_equal(base, right)


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[:, ::2], lambda a: a[1:, 1:], lambda a: a.T])
def test_device_views_of_any_layout(view: Any) -> None:
    right = np.arange(30.0).reshape(5, 6)
    device = cuda.to_device(right)
    scale[(1, 1), (8, 8)](view(device), 3.0)
    part = view(right)
    part[...] = 3.0 * part + np.arange(part.shape[0])[:, None]
    np.testing.assert_array_equal(device.copy_to_host(), right)


class Holder:
    """An array of another library, as far as a kernel sees it."""

    def __init__(self, data: np.ndarray, shares: bool) -> None:
        self.data, self.shares = data, shares

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.data if self.shares else self.data.copy()


def test_anything_with_array_can_be_passed() -> None:
    shared, copied, y = Holder(np.ones(8), True), Holder(np.ones(8), False), np.zeros(8)
    add_one[1, 32](shared)
    assert (shared.data == 2).all()
    copy[1, 32](copied, y)
    assert (y == 1).all()
    with pytest.raises(GpusimError, match=r"writes to argument 'x' \(.*test_simt_cuda_launch.py:\d+\), but a Holder gives copies"):
        add_one[1, 32](copied)


def test_read_only_arrays_may_be_read() -> None:
    x, y = np.ones(8), np.zeros(8)
    x.flags.writeable = False
    copy[1, 32](x, y)
    assert y.all()
    with pytest.raises(GpusimError, match="read-only"):
        copy[1, 32](y, x)


def test_wrappers() -> None:
    x, y = np.ones(8), np.zeros(8)
    add_one[1, 32](cuda.In(x))
    copy[1, 32](cuda.In(x), cuda.Out(y))
    assert (x == 1).all() and (y == 1).all()
    with pytest.raises(GpusimError, match="'x'|x\\["):
        add_one[1, 32](cuda.Out(np.ones(8)))


def test_memory_that_nobody_wrote_is_found() -> None:
    d, y = cuda.device_array(8, np.float64), np.zeros(8)
    with pytest.raises(GpusimError) as error:
        copy[1, 32](d, y)
    assert "x[0]" in str(error.value) and "test_simt_cuda_launch.py" in str(error.value)
    copy[1, 32](np.ones(8), d)
    copy[1, 32](d, y)
    assert y.all()


def test_out_of_bounds_is_found_with_its_line() -> None:
    @cuda.jit
    def beyond(x: Any) -> None:
        x[cuda.grid(1)] = 1

    with pytest.raises(GpusimError) as error:
        beyond[2, 32](np.zeros(40))
    assert "test_simt_cuda_launch.py" in str(error.value) and "40" in str(error.value)


def test_events_take_simulated_time() -> None:
    begin, middle, end = cuda.event(), cuda.event(), cuda.event()
    x = np.zeros(64, np.float32)
    begin.record()
    add_one[2, 32](x)
    first = add_one.report.time_us
    middle.record()
    add_one[2, 32](x)
    end.record()
    assert begin.elapsed_time(middle) == pytest.approx(first / 1e3)
    assert begin.elapsed_time(end) == pytest.approx((first + add_one.report.time_us) / 1e3)


def test_prints_reach_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    says[1, 32](np.arange(32))
    assert capsys.readouterr().out == "value 3\n"


def test_forall_covers_every_element() -> None:
    for n in (1, 255, 256, 1000):
        x = np.zeros(n)
        add_one.forall(n)(x)
        assert (x == 1).all()
    add_one.forall(0)(np.zeros(0))
    add_one.forall(100, tpb=32)(x)
    assert add_one.report.params == {"grid": "4", "block": "32"} and (x[:128] == 2).all()


def test_signatures_convert_numbers_and_refuse_arrays() -> None:
    made = cuda.jit("void(float32[:, :], float32)")(scale.py_func)
    x = np.ones((2, 2), np.float32)
    made[1, (2, 2)](x, 3)
    np.testing.assert_array_equal(x, [[3, 3], [4, 4]])
    with pytest.raises(GpusimError, match="no signature of kernel scale"):
        made[1, (2, 2)](np.ones((2, 2)), 3)
    special = scale.specialize(x, 2.0)
    special[1, (2, 2)](x, 2)
    np.testing.assert_array_equal(x, [[6, 6], [9, 9]])


@njit
def twice(a: Any) -> Any:
    return 2 * a


def test_functions_under_njit_work_on_both_sides() -> None:
    @cuda.jit
    def kernel(x: Any) -> None:
        x[cuda.grid(1)] = twice(cuda.grid(1))

    x = np.zeros(32, np.int64)
    kernel[1, 32](x)
    assert twice(3) == 6 and (x == 2 * np.arange(32)).all()


def test_launches_that_differ_in_nothing_share_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    import gpusim.launch.simt.repeats as repeats

    calls = []
    original = repeats.ready
    monkeypatch.setattr(repeats, "ready", lambda *a: calls.append(1) or original(*a))
    kernel = cuda.jit(add_one.py_func)
    x = np.zeros(64, np.float32)
    for _ in range(3):
        kernel[2, 32](x)
    kernel[1, 64](x)
    assert (x == 4).all() and len(calls) == 2 and len(kernel.overloads) == 1


def test_programs_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    add_one[1, 32](np.zeros(32, np.float32))
    add_one.inspect_types()
    out = capsys.readouterr().out
    assert "add_one" in out and "float32" in out and all("x" in text for text in add_one.inspect_asm().values())


def test_what_a_kernel_needs_of_an_sm() -> None:
    made = cuda.jit("void(float64[:, ::1], float64)")(scale.py_func)
    types = (gs.float64[:, ::1], gs.float64)
    assert 8 <= made.get_regs_per_thread(types) <= 64 and made.get_shared_mem_per_block(types) == 0
    assert made.overloads[types].max_cooperative_grid_blocks(1024) == 2 * 132
    assert made.get_max_threads_per_block(types) == 1024 and made.get_local_mem_per_thread() == 0
    assert list(made.overloads) == [types]


@cuda.jit
def meets(x: Any) -> None:
    everybody = cuda.cg.this_grid()
    x[cuda.grid(1)] += 1
    everybody.sync()


def test_more_blocks_than_fit_cannot_wait_for_each_other() -> None:
    with pytest.raises(GpusimError, match=r"test_simt_cuda_launch.py:\d+: 265 blocks wait for each other.*holds only 264.*max_cooperative_grid_blocks"):
        meets[265, 1024](np.zeros(265 * 1024, np.float32))
