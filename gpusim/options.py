"""How a run is taken: the choices that are not the kernel's and not the machine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError
from gpusim.report.protocol import MEANING


@dataclass(frozen=True, slots=True)
class Options:
    """The protocol of a run. `clock` is the SM clock in MHz (None: the model's own), `exact` simulates every block and step,
    `without` names costs that are taken away from the machine (`launch.ablations`).

    Raises GpusimError for a value that does not exist.
    """

    l2: str = "cold"
    launch: str = "out"
    clock: float | None = None
    exact: bool = False
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, known in MEANING.items():
            if getattr(self, name) not in known:
                raise GpusimError(f"{name} = '{getattr(self, name)}' is unknown.", hint=f"Give one of {', '.join(known)}.")
        if self.clock is not None and not self.clock > 0:
            raise GpusimError(f"clock = {self.clock} MHz is not a clock.", hint="Give a positive number, or leave it out for the model's own clock.")

    def for_launch(self) -> dict[str, Any]:
        """The keyword arguments of `launch.run.simulate`."""
        return {"l2": self.l2, "launch": self.launch, "clock_mhz": self.clock, "exact": self.exact} | ({"without": self.without} if self.without else {})
