"""Nsight's metrics from our counters, and from a profile that lacks one of them."""

from __future__ import annotations

import pytest

from gpusim.trace.counters import MEANINGS
from gpusim.trace.nsight import HIT_RATE, METRICS, TEX, l2_hit_rate, metrics_of

THREADS = {"instructions": 10, "thread_instructions": 320}


def test_what_a_run_does_not_tell_is_absent() -> None:
    assert metrics_of({"dram_read_bytes": 64}) == {"dram__bytes_read.sum": 64, "dram__sectors_read.sum": 2, "dram__bytes.sum": 64}


def test_a_run_of_threads_leaves_out_only_what_is_zero() -> None:
    local = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"
    assert metrics_of(THREADS)[local] == 0
    assert local not in metrics_of({"instructions": 10})
    assert "dram__bytes_read.sum" not in metrics_of(THREADS), "the value pass does not count DRAM"


def test_atoms_make_more_misses_than_requests() -> None:
    """One sector of each 64-byte atom read: two misses a request (copy with stride 16)."""
    counters = {"l2_read_sectors": 16, "l2_write_sectors": 2, "l2_hit_sectors": 2, "l2_read_miss_sectors": 32}
    assert l2_hit_rate(counters) == pytest.approx(2 / 34)
    assert metrics_of(counters)[f"{TEX}_lookup_miss.sum"] == 32
    assert l2_hit_rate({"l2_read_sectors": 16, "l2_write_sectors": 2, "l2_hit_sectors": 2}) == pytest.approx(2 / 18)
    assert l2_hit_rate({"l2_read_sectors": 16}) is None


def test_sums_of_what_the_sms_send_and_of_both_halves() -> None:
    counters = {"l2_read_sectors": 5, "l2_write_sectors": 3, "l2_atomic_sectors": 3, "fabric_read_sectors": 1, "fabric_write_sectors": 4}
    found = metrics_of(counters)
    assert (found[f"{TEX}.sum"], found["lts__t_sectors_op_read.sum"], found["lts__t_sectors_op_write.sum"]) == (11, 6, 5)


def test_what_is_not_told_has_no_sum() -> None:
    assert f"{TEX}.sum" not in metrics_of({"l2_write_sectors": 3})
    assert "lts__t_sectors_op_write.sum" not in metrics_of({"l2_write_sectors": 3})


def test_a_profile_without_the_rate_has_hits_and_misses() -> None:
    profile = {f"{TEX}_lookup_hit.sum": 30.0, f"{TEX}_lookup_miss.sum": 10.0}
    assert METRICS[HIT_RATE].measured(profile) == 75.0
    assert METRICS[HIT_RATE].measured(profile | {HIT_RATE: 70.0}) == 70.0
    assert METRICS[HIT_RATE].measured({}) is None
    assert METRICS["dram__bytes.sum"].measured({"dram__bytes_read.sum": 3.0, "dram__bytes_write.sum": 4.0}) == 7.0


def test_a_metric_stands_for_one_counter() -> None:
    named = [m.metric for m in MEANINGS.values() if m.metric]
    assert len(named) == len(set(named))
    assert all(name == metric.name for name, metric in METRICS.items())
