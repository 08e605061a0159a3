"""Which protocols a launch can be simulated under."""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.launch.clock import Clock, check_clock

#: what L2 holds before a launch: nothing of its arrays (cold and foreign-clean are the same), another kernel's dirty lines, or what an
#: identical launch left
L2_STATES = ("cold", "foreign-clean", "foreign-dirty", "warm")
#: the same in a report of a launch behind others on one chip, which nobody can ask for
KEPT = "kept"
LAUNCH = ("out", "in")
DATA = ("random", "zeros")


def check_l2(l2: str) -> None:
    """GpusimError for a state that does not exist."""
    if l2 not in L2_STATES:
        raise GpusimError(f"l2 = '{l2}' is unknown.", hint=f"Give one of: {', '.join(L2_STATES)}.")


def check_options(l2: str, launch: str, clock_mhz: Clock, data: str = "random") -> None:
    """GpusimError for a protocol that does not exist."""
    check_l2(l2)
    if launch not in LAUNCH:
        raise GpusimError(f"launch = '{launch}' is unknown.", hint=f"Give one of: {', '.join(LAUNCH)}.")
    if data not in DATA:
        raise GpusimError(f"data = '{data}' is unknown.", hint=f"Give one of: {', '.join(DATA)}.")
    check_clock(clock_mhz)
