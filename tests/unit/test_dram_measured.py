"""Device memory against the measured chip: random pieces, words at a pitch, mixes of reads and writes.

The measured numbers are those of micro.json (bandwidth/stream, global/random_gather, global/stride, at 1980 MHz) and counters.json. Three constants
of the spec come from four of these rows (`open_share`, `activate_window`, `write_batch`, `efficiency`); the others test what they imply.
"""

from __future__ import annotations

import pytest

from gpusim.parts.dram import NOTHING, Moved, runs, serve
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve

DRAM = resolve(load_spec("h200-sxm"), 1000).dram
BURST, ATOM = 32, 64

#: words at a pitch: pitch in bytes, pieces of 256 bytes and atoms in them for one period, measured words/ns when read, changed, and both
#: (read here, changed there). A changed word is a read of its atom and a write of its sector. None: limited by L2, not by DRAM.
PITCHES = (
    (64, 1, 4, 73.55, 45.62, 29.78),
    (96, 3, 8, 70.57, 30.46, 23.94),
    (128, 1, 2, 62.09, 22.75, 19.06),
    (192, 3, 4, 53.53, 17.74, 14.09),
    (256, 1, 1, 45.10, 16.88, 12.47),
    (512, 1, 1, 43.92, 16.54, 12.19),
    (1024, 1, 1, 43.02, 16.35, 11.99),
)


def words(pieces: int, atoms: int, times: int, nbytes: int) -> Moved:
    return Moved(times * pieces, times * atoms, times * atoms * nbytes)


@pytest.mark.parametrize("pitch, pieces, atoms, read, changed, both", PITCHES)
def test_words_at_a_pitch(pitch: int, pieces: int, atoms: int, read: float, changed: float, both: float) -> None:
    written = words(pieces, atoms, 1, BURST)
    one, two = words(pieces, atoms, 1, ATOM), words(pieces, atoms, 2, ATOM)
    for reading, writing, measured, bound in ((one, NOTHING, read, 0.07), (one, written, changed, 0.22), (two, written, both, 0.12)):
        assert atoms / serve(DRAM, reading, writing).time == pytest.approx(measured, rel=bound)


def test_pitches_keep_their_order() -> None:
    rates = [atoms / serve(DRAM, words(pieces, atoms, 1, ATOM)).time for _, pieces, atoms, *_ in PITCHES]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("nbytes, per_ns", [(64, 42.34), (128, 29.54)])
def test_random_runs(nbytes: int, per_ns: float) -> None:
    assert 1 / serve(DRAM, runs(DRAM, 1, nbytes)).time == pytest.approx(per_ns, rel=0.03)


#: bytes read, bytes written, us measured by counters.json (less 2.5 us in which the first request is under way)
MIXES = (
    ("sigmoid_chain_bwd_saved", 1073.8e6, 257.4e6, 298.8),
    ("sin2cos2_unfused", 536.9e6, 248.8e6, 177.4),
    ("vector_add_f4", 536.9e6, 251.1e6, 179.6),
    ("ew_copy_float32", 268.4e6, 244.4e6, 122.8),
    ("sigmoid_chain_fwd_saved", 268.5e6, 778.5e6, 266.1),
    ("copy_stride16", 1073.7e6, 66.3e6, 255.7),
    ("stream copy of 8 GiB", 8589.9e6, 8589.9e6, 4160.4),
    ("stream read of 8 GiB", 8589.9e6, 0.0, 1826.3),
    ("stream write of 8 GiB", 0.0, 8589.9e6, 1834.7),
)


@pytest.mark.parametrize("name, read, written, us", MIXES)
def test_mixes_of_reads_and_writes(name: str, read: float, written: float, us: float) -> None:
    assert serve(DRAM, runs(DRAM, 0, read), runs(DRAM, 0, written)).time / 1e3 == pytest.approx(us, rel=0.04), name


@pytest.mark.parametrize("gpu, lost", [("h100-pcie", 1 - 1704 / 1942), ("v100", 1 - 809 / 867)])
def test_turnaround_of_another_standard(gpu: str, lost: float) -> None:
    """Scale against read, RRZE-HPC gpu-benches [stream_init_read_scale_triad]: nothing was fitted on these chips."""
    dram = resolve(load_spec(gpu), 1000).dram
    half = runs(dram, 0, 1e9)
    assert 1 - serve(dram, half + half).time / serve(dram, half, half).time == pytest.approx(lost, abs=0.015)
