"""Rows and channels of DRAM, from random accesses. What the standard fixes is in `spec/hbm.py`; how the fields cost time in `parts/dram.py`."""

from __future__ import annotations

from gpusim.calibrate.bench import Bench, Row, digits, whole
from gpusim.calibrate.records import Missing, Record
from gpusim.spec.hbm import HbmTimings, hbm_timings

NAME, UNIT = "global/random_gather", "lane reads/ns"

#: lanes that read one line together, and bytes of a lane
LANES, WORD = 32, 4


def _standard(bench: Bench) -> HbmTimings:
    return hbm_timings(str(bench.known["dram.standard"]))


def _channels(bench: Bench) -> float:
    """A channel has two pseudo-channels."""
    return bench.records.of_device("memoryBusWidth") / (2 * _standard(bench).pseudo_bits)


def _rate(bench: Bench, lanes: int) -> float:
    """Pieces per ns of the whole chip, `lanes` neighbours each, at random places of the largest footprint, so that none lies in L2."""
    points: list[Record] = bench.records.points(NAME, UNIT, consecutive_lanes=lanes)
    largest = max(points, key=lambda r: r.number("footprint"))
    if largest.number("footprint") < 32 * bench.spec("l2.capacity"):
        raise Missing(f"no record {NAME} over a footprint that L2 does not help")
    return float(largest.value) / lanes


def _window(bench: Bench) -> float:
    """ns for four activations of a pseudo-channel. A refresh takes the place of one activation and keeps others back for what tRREFD is longer
    than tRRD: with T between activations, of which nothing else takes time, T = w / (1 - (w + gap) / R), R between refreshes; solved for w."""
    hbm = _standard(bench)
    apart = 2 * bench.spec("dram.channels") / _rate(bench, 1)
    between, gap = hbm.refi / hbm.banks, max(0.0, hbm.rrefd - hbm.rrd_short)
    return 4 * apart * (1 - gap / between) / (1 + apart / between)


def _open_share(bench: Bench) -> float:
    """Single words activate a row each. A line has several atoms, and those behind the first find the row open with this probability."""
    atoms = LANES * WORD / bench.spec("dram.atom")
    if atoms < 2:
        raise Missing("a line is one atom of DRAM, so no second one can find its row open")
    activations = _rate(bench, 1) / _rate(bench, LANES)
    return min(1.0, max(0.0, (atoms - activations) / (atoms - 1)))


ROWS: tuple[Row, ...] = (
    Row("dram.channels", "device", "memoryBusWidth over the bits of two pseudo-channels", _channels, whole),
    Row(
        "dram.activate_window",
        NAME,
        "single words, largest footprint: four times what lies between two rows of a pseudo-channel, less refresh",
        _window,
        digits,
    ),
    Row("dram.open_share", NAME, "rows opened for a line of several atoms, from single words over lines", _open_share, digits),
)
