"""Timings of high-bandwidth memory, a row for each standard.

The limits between commands are those of JESD235D (HBM2, HBM2e) and JESD238 (HBM3, HBM3e), which give many of them as "vendor specific".
The figures here are those of the presets of Ramulator 2 (HBM2_2400Mbps, HBM3_6400Mbps: hardware.json [nRCDRD] and following), turned
from clocks into nanoseconds: cell arrays do not get faster with the pins, so a limit in nanoseconds holds for every data rate of its standard.
Assumed: HBM2e as HBM2, and HBM3e as HBM3, of which no timings are published.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import GpusimError


@dataclass(frozen=True, slots=True)
class HbmTimings:
    """One standard. Times in ns; names without the leading t as in the standards.

    pseudo_bits: data pins of a pseudo-channel, two to a channel. beats: transfers of a burst on each pin. banks: of a pseudo-channel, stacks
    of eight dies; groups: bank groups. row: bytes of a row. read_write, write_read: from one column command to one of the other kind.
    refi: every bank is refreshed once in this time; rfc_bank: that a bank is away for it; rrefd: from it to an activation of another bank.
    """

    pseudo_bits: int
    beats: int
    banks: int
    groups: int
    row: int
    cl: float
    cwl: float
    rcd_read: float
    rcd_write: float
    rp: float
    ras: float
    rc: float
    rtp: float
    wr: float
    ccd_long: float
    rrd_short: float
    rrd_long: float
    faw: float
    read_write: float
    write_read: float
    refi: float
    rfc_bank: float
    rrefd: float

    @property
    def burst_bytes(self) -> int:
        """Bytes that one column command moves."""
        return self.pseudo_bits * self.beats // 8


_HBM2 = HbmTimings(
    pseudo_bits=64, beats=4, banks=32, groups=8, row=1024,
    cl=14.2, cwl=5.0, rcd_read=14.2, rcd_write=11.7, rp=14.2, ras=33.3, rc=47.5, rtp=5.0, wr=15.8, ccd_long=3.33,
    rrd_short=4.0, rrd_long=4.0, faw=15.0, read_write=12.5, write_read=15.0, refi=3900.0, rfc_bank=160.0, rrefd=8.0,
)  # fmt: skip
_HBM3 = HbmTimings(
    pseudo_bits=32, beats=8, banks=32, groups=8, row=1024,
    cl=12.5, cwl=6.25, rcd_read=19.375, rcd_write=9.375, rp=16.25, ras=28.125, rc=45.0, rtp=5.625, wr=20.625, ccd_long=2.5,
    rrd_short=2.5, rrd_long=3.125, faw=15.0, read_write=12.5, write_read=13.75, refi=3900.0, rfc_bank=200.0, rrefd=8.0,
)  # fmt: skip

#: standard -> its row
STANDARDS: dict[str, HbmTimings] = {"HBM2": _HBM2, "HBM2e": _HBM2, "HBM3": _HBM3, "HBM3e": _HBM3}


def hbm_timings(standard: str) -> HbmTimings:
    """The row of `standard`. Raises GpusimError for one that has none."""
    if standard not in STANDARDS:
        raise GpusimError(f"dram.standard = {standard!r} has no row of timings.", hint=f"There are {', '.join(STANDARDS)}.")
    return STANDARDS[standard]
