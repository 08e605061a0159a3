"""Which protocols a launch can be simulated under."""

from __future__ import annotations

from gpusim.errors import GpusimError

L2_STATES = ("cold", "foreign-dirty", "warm")
LAUNCH = ("out", "in")


def check_options(l2: str, launch: str, clock_mhz: float | None) -> None:
    """GpusimError for a protocol that does not exist."""
    for what, value, known in (("l2", l2, L2_STATES), ("launch", launch, LAUNCH)):
        if value not in known:
            raise GpusimError(f"{what} = '{value}' is unknown.", hint=f"Give one of: {', '.join(known)}.")
    if clock_mhz is not None and not 1 <= clock_mhz <= 20_000:
        raise GpusimError(f"clock = {clock_mhz} MHz is no SM clock.", hint="Give megahertz, such as 1755.")
