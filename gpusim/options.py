"""How a run is taken: the choices that are not the kernel's and not the machine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError
from gpusim.report.protocol import CLOCKS, MEANING


@dataclass(frozen=True, slots=True)
class Options:
    """The protocol of a run. `clock` is the SM clock: MHz, "boost", "load" or "sustained" (None: "boost"), `exact` simulates every block and step,
    `without` names costs that are taken away from the machine (`launch.ablations`), `data` is what the arrays are supposed to hold, "random" or "zeros".

    Raises GpusimError for a value that does not exist.
    """

    l2: str = "cold"
    launch: str = "out"
    clock: float | str | None = None
    exact: bool = False
    without: tuple[str, ...] = ()
    data: str = "random"

    def __post_init__(self) -> None:
        for name, known in MEANING.items():
            if getattr(self, name) not in known:
                raise GpusimError(f"{name} = '{getattr(self, name)}' is unknown.", hint=f"Give one of {', '.join(known)}.")
        if isinstance(self.clock, str):
            if self.clock not in CLOCKS:
                raise GpusimError(f"clock = '{self.clock}' is unknown.", hint=f"Give one of {', '.join(CLOCKS)}, or megahertz.")
        elif self.clock is not None and not self.clock > 0:
            raise GpusimError(f"clock = {self.clock} MHz is not a clock.", hint=f"Give a positive number, or one of {', '.join(CLOCKS)}.")

    def for_launch(self) -> dict[str, Any]:
        """The keyword arguments of `launch.run.simulate`."""
        rare = {"without": self.without, "data": "" if self.data == "random" else self.data}
        return {"l2": self.l2, "launch": self.launch, "clock_mhz": self.clock, "exact": self.exact} | {key: value for key, value in rare.items() if value}
