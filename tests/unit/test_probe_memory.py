"""Groups global and bandwidth of probes: what their programs do, which records they know, what follows from sectors."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import coalescing, streams
from gpusim.launch.simt.run import simulate_simt
from gpusim.probe import bandwidth, global_memory, steady
from gpusim.probe.plan import Excluded
from gpusim.probe.registry import simulation
from gpusim.spec.load import load_spec

MIB = 1 << 20
SPEC = load_spec("h200")
NEVER = np.int32(0)


def launch(kernel, ctas, threads, *args):
    simulate_simt(kernel, Geometry((ctas, 1, 1), (threads, 1, 1), 0), args, SPEC)


def numbers(n, dtype=np.uint32):
    return np.arange(1, n + 1).astype(dtype)


@pytest.mark.parametrize(("stride", "offset"), [(1, 0), (3, 0), (1, 5)])
def test_a_strided_copy_moves_what_its_stride_and_offset_say(stride, offset):
    accesses = 2 * 8 * 64
    a, b = numbers(accesses * stride + offset, np.float32), np.zeros(accesses * stride + offset, np.float32)
    launch(coalescing.strided("copy"), 2, 64, a, b, np.int32(stride), np.int32(offset), NEVER, np.zeros(1, np.float32))
    wanted = np.zeros_like(b)
    wanted[offset::stride][:accesses] = a[offset::stride][:accesses]
    np.testing.assert_array_equal(b, wanted)


@pytest.mark.parametrize("words", [1, 2, 4])
def test_copies_of_any_width_move_everything(words):
    a = numbers(2 * 4 * 64 * words)
    b = np.zeros_like(a)
    launch(coalescing.vectors("copy", words), 2, 64, a, b, NEVER, np.zeros(1, np.uint32))
    np.testing.assert_array_equal(b, a)


def test_a_stream_of_few_ctas_copies_all_chunks():
    a = numbers(5 * 64 * 2 * 4)
    b = np.zeros_like(a)
    launch(streams.stream("copy", 2), 2, 64, a, b, np.int32(5), NEVER, np.zeros(1, np.uint32))
    np.testing.assert_array_equal(b, a)


def test_what_is_read_is_folded():
    """With `never` set, the last thread's exclusive or stands in the sink: one thread reads all of a CTA of one lane."""
    a, sink = numbers(4 * 4 * 1), np.zeros(1, np.uint32)
    launch(streams.stream("read", 4), 1, 1, a, np.zeros(1, np.uint32), np.int32(1), np.int32(1), sink)
    assert sink[0] == np.bitwise_xor.reduce(a)


def test_sweeps_wrap():
    """Two pieces, three passes: the first piece is read twice and cancels."""
    threads = 32
    a, sink = numbers(2 * threads * 16, np.uint64), np.zeros(1, np.uint64)
    a[: threads * 16] = 7
    launch(streams.sweep_l2, 1, threads, a, np.int32(2), np.int32(7), np.int32(3), np.int32(1), sink)
    lanes = [np.bitwise_xor.reduce(a[threads * 16 + lane :: 32][:16]) for lane in range(32)]
    assert int(sink[0]) in map(int, lanes)


def test_columns_and_rows_sum_alike():
    n = 128
    a = numbers(n * n, np.float32) % 17
    for of, axis in (("column", 0), ("row", 1)):
        b = np.zeros(n, np.float32)
        launch(coalescing.summed(of), 1, n, a, b, np.int32(n), np.int32(n))
        np.testing.assert_array_equal(b, a.reshape(n, n).sum(axis=axis))


RECORDS = [
    ("global", "stride", {"op": "read", "stride_elems": 1, "accesses": MIB}),
    ("global", "random_gather", {"footprint": MIB, "consecutive_lanes": 8, "accesses": MIB}),
    ("bandwidth", "stream", {"op": "copy", "bytes": MIB, "l2": "flushed"}),
    ("bandwidth", "stream_vs_ctas", {"op": "write", "ctas": 2, "threads": 1024, "unroll16B": 4, "bytes": MIB}),
    ("bandwidth", "l2_read_vs_sms", {"footprint": MIB, "sms": 2}),
    ("bandwidth", "l1_read", {"footprint": 65536, "access_bytes": 16, "warps": 16}),
]


@pytest.mark.parametrize(("group", "name", "params"), RECORDS, ids=[name for _, name, _ in RECORDS])
def test_a_record_has_a_positive_value_and_lacking_params_are_named(group, name, params):
    value = simulation(group, name, params)(SPEC)
    assert isinstance(value, float) and value > 0
    for gone in params:
        with pytest.raises(GpusimError, match=gone):
            simulation(group, name, {k: v for k, v in params.items() if k != gone})


@pytest.mark.parametrize(("module", "name", "bad"), [(global_memory, "stride", {"op": "scan"}), (bandwidth, "stream", {"l2": "lukewarm"})])
def test_a_value_that_no_probe_knows_is_a_key_error(module, name, bad):
    params = next(p for n, p in module.POINTS if n == name)
    with pytest.raises(KeyError):
        module.PLANS[name]({**params, **bad})


def test_the_clock_of_the_run_is_excluded():
    for module in (global_memory, bandwidth):
        with pytest.raises(Excluded):
            module.PLANS["sm_clock"]({"when": "start"})


def test_points_and_curves_name_plans():
    for module in (global_memory, bandwidth):
        assert {name for name, _ in module.POINTS} | {curve.name for curve in module.CURVES} <= set(module.PLANS)


def ns(**params):
    return simulation("global", "stride", {"op": "read", "accesses": 4 * MIB, **params})(SPEC)


def test_a_stride_of_eight_words_moves_eight_times_the_sectors():
    one, eight = ns(stride_elems=1), ns(stride_elems=8)
    assert 4 < eight / one < 8.5


def test_offsets_by_whole_sectors_are_cheaper_to_write_than_others():
    times = {o: simulation("global", "offset", {"op": "write", "offset_elems": o, "bytes": 32 * MIB})(SPEC) for o in (0, 3, 8)}
    assert times[3] > 1.3 * times[0]
    assert times[8] < 1.1 * times[0]


def test_bytes_that_records_hold_with_nine_digits_are_made_whole():
    assert global_memory.rounded(1073741820.0, 32768) == 1 << 30
    assert global_memory.rounded(8589934590.0, MIB) == 8 << 30


def test_a_long_launch_takes_what_its_further_parts_take():
    calls = []

    def time(parts):
        calls.append(parts)
        return 5.0 + 2.0 * parts

    assert steady.steady(time, 1000, (6, 9)) == 2005.0
    assert calls == [6, 9]
    assert steady.steady(time, 9, (6, 9)) == 23.0


def test_parts_are_whole_waves():
    assert all(parts % 1056 == 0 for parts in steady.two_lengths(8192, 1056, 64 * MIB))
    assert steady.two_lengths(20 * MIB) == (4, 5), "behind the first waves"
    assert steady.two_lengths(1 << 40) == (1, 2), "waves so large that the first one does not count"


def test_extrapolation_agrees_with_the_whole_stream():
    """The same stream, whole and by two shorter launches: within 2 %."""
    point = {"op": "read", "bytes": 256 * MIB, "l2": "flushed"}
    short = simulation("bandwidth", "stream", point)(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bandwidth, "two_lengths", lambda *_: (1, 1 << 30))
        whole = simulation("bandwidth", "stream", point)(SPEC)
    assert short == pytest.approx(whole, rel=0.02)
