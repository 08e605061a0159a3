"""HBM in closed form: how long a mix of reads and writes keeps all channels busy, what it counts, how late an access is.

Addresses are spread over the pseudo-channels in pieces of `DramTimes.piece` bytes, each in one row. Three things take time in a
pseudo-channel; all are limits of the standard (spec/hbm.py):

- the bus: bytes at the pin rate, less what long reads lose;
- activations: four in a window (tFAW), two no closer than tRRD; a refresh takes the place of one and keeps others back for tRREFD;
- turnaround: writes wait until `write_batch` pieces of them are there; each batch costs a change of direction of the bus and one back.

Bus and activations overlap, so the longer counts; while the bus turns neither goes on. Every function is pure; times are in the unit of
`DramTimes`: SM cycles in a Machine. The per-burst model that checks this is tests/oracle/dram_channel.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb

from gpusim.errors import GpusimError
from gpusim.spec.resolve import DramTimes


@dataclass(frozen=True, slots=True)
class Moved:
    """What goes one way. pieces: distinct pieces of memory, each time they are asked for anew; atoms: in them; nbytes: moved, whole bursts.

    A partly written sector is a read of its atom and a write of its burst: the caller adds both.
    """

    pieces: float = 0.0
    atoms: float = 0.0
    nbytes: float = 0.0

    def __add__(self, other: Moved) -> Moved:
        return Moved(self.pieces + other.pieces, self.atoms + other.atoms, self.nbytes + other.nbytes)


NOTHING = Moved()


@dataclass(frozen=True, slots=True)
class Service:
    """time: that the chip needs, the larger of bus and activate, plus turn. The rest counts events of the whole chip: bursts are column
    commands; row_hits atoms that find their row open; turnarounds changes between reading and writing; refreshes those of one bank."""

    time: float
    bus: float
    activate: float
    turn: float
    bursts: float
    activations: float
    row_hits: float
    turnarounds: float
    refreshes: float


def runs(dram: DramTimes, count: float, nbytes: float) -> Moved:
    """`count` contiguous runs of memory, together `nbytes`, at places of their own; a run does not cross more pieces than it must.

    Raises GpusimError for fewer bytes than runs, or for anything negative.
    """
    if count < 0 or nbytes < count:
        raise GpusimError(f"{count:g} runs of together {nbytes:g} bytes: a run has at least one byte.", where="dram.runs")
    return Moved(max(count, nbytes / dram.piece), max(count, nbytes / dram.atom), nbytes)


def serve(dram: DramTimes, read: Moved = NOTHING, written: Moved = NOTHING) -> Service:
    """What the reads and writes of one phase cost when they are spread evenly over the channels and mixed in time.

    Raises GpusimError for more atoms than fit in the pieces.
    """
    channels = dram.pseudo_channels
    moved = read + written
    batches = min(written.pieces / dram.write_batch, read.pieces)
    activations = _read_activations(dram, read) + written.pieces
    bus = moved.nbytes / dram.rate
    activate = activations * activation_interval(dram) / channels
    turn = batches * dram.turnaround / channels
    time = max(bus, activate) + turn
    return Service(
        time=time,
        bus=bus,
        activate=activate,
        turn=turn,
        bursts=moved.nbytes / dram.burst,
        activations=activations,
        row_hits=moved.atoms - activations,
        turnarounds=2.0 * batches,
        refreshes=time * channels / dram.refresh_interval,
    )


def _read_activations(dram: DramTimes, read: Moved) -> float:
    """Rows opened for reads. Writes open each row once: they were gathered by row beforehand."""
    if not read.pieces:
        return 0.0
    each = max(1.0, read.atoms / read.pieces)
    if each > dram.piece / dram.atom + 1e-6:
        raise GpusimError(f"{read.atoms:g} atoms of {dram.atom} bytes do not fit in {read.pieces:g} pieces of {dram.piece} bytes.", where="dram.serve")
    low = int(each)
    few, many = openings(low, dram.open_share), openings(low + 1, dram.open_share)
    return read.pieces * (few + (each - low) * (many - few))


@cache
def openings(atoms: int, open_share: float) -> float:
    """How often the row of a piece is opened, on average, until all its `atoms` are read: an opening serves one of those that are left, and
    each of the others with the probability `open_share`; the rest wait for the next."""
    late = 1.0 - open_share
    left = [comb(atoms - 1, k) * late**k * open_share ** (atoms - 1 - k) for k in range(1, atoms)]
    return 1.0 + sum(chance * openings(k, open_share) for k, chance in enumerate(left, 1))


def activation_interval(dram: DramTimes) -> float:
    """Time between two activations of a pseudo-channel at best: a quarter of the window, or tRRD; refreshing bank by bank takes a share."""
    closest = max(dram.activate_window / 4.0, dram.activate_gap)
    lost = closest + max(0.0, dram.refresh_gap - dram.activate_gap)
    if lost >= dram.refresh_interval:
        raise GpusimError(
            f"Refreshing a bank every {dram.refresh_interval:g} cycles leaves no time for activations {closest:g} cycles apart.",
            where="dram.activate_window",
            hint="Give a smaller window.",
        )
    return closest / (1.0 - lost / dram.refresh_interval)


def refresh_delay(dram: DramTimes, u: float) -> float:
    """What an access to an idle channel waits for refresh, less the mean of it; for u even in [0, 1).

    A share of the banks is being refreshed at any time; who meets one waits for the rest of it, anything up to `refresh`.
    """
    share = min(1.0, dram.refresh / (dram.refresh_interval * dram.banks))
    return (dram.refresh * (1.0 - u / share) if u < share else 0.0) - share * dram.refresh / 2.0
