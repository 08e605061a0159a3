"""Closed forms of device memory against one pseudo-channel served command by command.

The bounds stand in the tables below. What they allow for: a controller with queues of finite depth loses a little to banks that are busy.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from math import ceil

import pytest

from gpusim.parts.dram import Moved, activation_interval, serve
from gpusim.spec.hbm import STANDARDS
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import DramTimes, resolve
from tests.oracle.dram_channel import Channel, Clocks, Counted, Policy, Request

ATOM = 64
BURSTS = 2
ROWS = 1 << 14
#: (name of a shipped GPU, transfers on a pin in each clock): from JEDEC's definition of CK
CHIPS = (("h200-sxm", 4), ("h100-sxm", 4), ("h100-pcie", 2), ("v100", 2))


@cache
def chip(name: str, per_clock: int) -> tuple[DramTimes, Clocks]:
    """One pseudo-channel of a GPU that loses nothing but what the oracle loses: closed form in clocks, and the oracle's limits."""
    spec = load_spec(name)
    row = STANDARDS[spec.dram.standard]
    clock = spec.dram.bandwidth * 8 / (2 * spec.dram.channels * row.pseudo_bits) / per_clock
    closed = resolve(spec, clock / 1e6).dram
    one = replace(closed, pseudo_channels=1, rate=closed.burst / (row.beats / per_clock), open_share=1.0, piece=row.row)

    def clocks(ns: float) -> int:
        return ceil(ns * clock * 1e-9 - 0.01)

    limits = "cl cwl rcd_read rcd_write rp ras rc rtp wr ccd_long rrd_short rrd_long read_write write_read rrefd".split()
    return one, Clocks(
        burst=row.beats // per_clock,
        faw=clocks(spec.dram.activate_window),
        refi_bank=clocks(row.refi / row.banks),
        rfc_bank=clocks(row.rfc_bank),
        groups=row.groups,
        banks=row.banks,
        **{name: clocks(getattr(row, name)) for name in limits},
    )


def requests(banks: int, atoms: int, writes: float, total: int = 2400) -> tuple[list[Request], Moved, Moved]:
    """Pieces of `atoms` atoms at random places, `writes` of them written; reads ask for each atom, writes were gathered by row."""
    rng = random.Random(atoms * 1000 + round(writes * 100))
    out: list[Request] = []
    pieces = {False: 0, True: 0}
    for _ in range(total // atoms):
        write, bank, row = rng.random() < writes, rng.randrange(banks), rng.randrange(ROWS)
        pieces[write] += 1
        out += [Request(True, bank, row, BURSTS * atoms)] if write else [Request(False, bank, row, BURSTS) for _ in range(atoms)]
    read, written = (Moved(n, n * atoms, n * atoms * ATOM) for n in (pieces[False], pieces[True]))
    return out, read, written


@cache
def run(name: str, per_clock: int, atoms: int, writes: float) -> tuple[Counted, Moved, Moved]:
    wanted, read, written = requests(chip(name, per_clock)[1].banks, atoms, writes)
    return Channel(chip(name, per_clock)[1]).run(wanted), read, written


#: (atoms of a piece, share of writes, largest difference in time)
CASES = (
    (1, 0.0, 0.05), (2, 0.0, 0.05), (4, 0.0, 0.05), (8, 0.0, 0.05), (16, 0.0, 0.05), (1, 1.0, 0.06), (4, 1.0, 0.05), (16, 1.0, 0.05),
    (4, 0.1, 0.05), (4, 0.33, 0.06), (4, 0.5, 0.06), (4, 0.67, 0.08), (4, 0.75, 0.08), (4, 0.9, 0.1), (1, 0.2, 0.2), (1, 0.33, 0.2), (1, 0.5, 0.2),
)  # fmt: skip


@pytest.mark.parametrize("atoms, writes, bound", CASES)
def test_service_time(atoms: int, writes: float, bound: float) -> None:
    counted, read, written = run(*CHIPS[0], atoms, writes)
    assert serve(chip(*CHIPS[0])[0], read, written).time == pytest.approx(counted.clocks, rel=bound)


@pytest.mark.parametrize("name, per_clock", CHIPS[1:])
@pytest.mark.parametrize("atoms, writes, bound", [(1, 0.0, 0.1), (4, 0.0, 0.06), (4, 0.33, 0.08), (4, 0.5, 0.08)])
def test_other_standards(name: str, per_clock: int, atoms: int, writes: float, bound: float) -> None:
    counted, read, written = run(name, per_clock, atoms, writes)
    assert serve(chip(name, per_clock)[0], read, written).time == pytest.approx(counted.clocks, rel=bound)


@pytest.mark.parametrize("atoms, writes", [(1, 0.0), (4, 0.0), (4, 0.33), (4, 0.5)])
def test_counts(atoms: int, writes: float) -> None:
    counted, read, written = run(*CHIPS[0], atoms, writes)
    closed = serve(chip(*CHIPS[0])[0], read, written)
    assert closed.bursts == counted.bursts
    assert closed.refreshes == pytest.approx(counted.refreshes, rel=0.07)
    assert closed.turnarounds == pytest.approx(counted.turnarounds, rel=0.15, abs=2)
    # rows that were opened for one kind are closed again for the other
    assert closed.activations <= counted.activations <= closed.activations * (1.02 if not writes else 1.6)


@pytest.mark.parametrize("apart", [0, 40, 400])
def test_atoms_of_a_piece_that_come_apart(apart: int) -> None:
    """`open_share` is the share of second atoms that find their row open; with the share counted, the time follows."""
    closed, clocks = chip(*CHIPS[0])
    rng = random.Random(apart)
    places = [(rng.randrange(clocks.banks), rng.randrange(ROWS)) for _ in range(1500)]
    order = sorted([(i, p) for i, p in enumerate(places)] + [(i + rng.random() * apart, p) for i, p in enumerate(places)])
    counted = Channel(clocks, Policy(seen=64)).run([Request(False, bank, row, BURSTS) for _, (bank, row) in order])
    share = 2.0 - counted.activations / len(places)
    assert share > 0.95 if not apart else share < 0.95
    read = Moved(len(places), 2 * len(places), 2 * len(places) * ATOM)
    assert serve(replace(closed, open_share=share), read).time == pytest.approx(counted.clocks, rel=0.12)


def test_the_bus_is_never_faster_than_its_pins() -> None:
    for atoms, writes, _ in CASES:
        counted, _, _ = run(*CHIPS[0], atoms, writes)
        assert counted.clocks >= counted.bursts * chip(*CHIPS[0])[1].burst


def test_activations_keep_their_window() -> None:
    closed, clocks = chip(*CHIPS[0])
    quiet = replace(closed, refresh_gap=0.0, refresh_interval=1e12)
    assert activation_interval(quiet) == pytest.approx(clocks.faw / 4, rel=0.02)
    wanted, _, _ = requests(clocks.banks, 1, 0.0)
    counted = Channel(clocks, refresh=False).run(wanted)
    assert 1.0 <= counted.clocks / (counted.activations * clocks.faw / 4) < 1.03


def test_latency_of_a_row_that_is_open_closed_or_another() -> None:
    closed, clocks = chip(*CHIPS[0])
    order = [Request(False, 0, 7, 1, arrival=0), Request(False, 0, 7, 1, arrival=500), Request(False, 0, 8, 1, arrival=1000)]
    seen = Channel(clocks, refresh=False).run(order).latencies
    assert seen == pytest.approx([closed.row_miss, closed.row_open, closed.row_conflict], abs=3)


def test_one_bank_takes_a_row_cycle_for_each_row() -> None:
    _, clocks = chip(*CHIPS[0])
    counted = Channel(clocks, refresh=False).run([Request(False, 0, row, 1) for row in range(100)])
    assert counted.clocks == pytest.approx(99 * clocks.rc + clocks.rcd_read, rel=0.01)


def test_a_refresh_keeps_its_bank_and_no_other() -> None:
    """The access that comes just after the refresh of its bank began waits for all of it."""
    _, clocks = chip(*CHIPS[0])
    for bank, waits in ((0, True), (5, False)):
        seen = Channel(clocks).run([Request(False, bank, 3, 1, arrival=clocks.refi_bank + 1)]).latencies[0]
        free = clocks.rcd_read + clocks.cl + clocks.burst
        assert (seen > free + clocks.rfc_bank - 5) if waits else (seen <= free + clocks.rrefd)
