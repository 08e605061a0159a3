"""The SM clock and the board's power: how fast the chip lets a launch run.

Three things hold the clock below `clocks.boost` [docs/clock.md]:

1. The first tensor instruction of any SM takes the chip to `clocks.tensor`; `power.step.hold` after the last one it returns. Each such step costs
   `power.step.switch`.
2. Power of SMs and L2 above `power.quick.peak` is answered by a lower clock. Rates go with the clock, energies with the square of the voltage, and the voltage
   with the clock; so power goes with its cube, and the clock with the cube root of (allowed / asked). Over tens of ms the regulation goes by
   counted work, as if all data toggled.
3. Board power above `power.limit` lowers the clock of loads that last for seconds.

"boost" knows none but the step of 1, "load" 1 and 2 as they act on one launch, "sustained" all three on the same launch for seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import GpusimError
from gpusim.launch.energy import DRAM
from gpusim.spec.device import GpuSpec
from gpusim.spec.power import Power
from gpusim.trace.load import Load
from gpusim.trace.run import Run

BOOST, LOAD, SUSTAINED = MODES = ("boost", "load", "sustained")
Clock = float | str | None

#: how much of the clock does not matter
NEAR = 0.005
#: power over clock: rates once, voltage squared
CUBE = 3
#: a share of the time below which a limit is not worth a word
SMALL = 0.005
#: what holds the clock
TENSOR, PEAK, BOARD = "tensor instructions", "peak power", "board power"


def check_clock(clock: Clock) -> None:
    """GpusimError for a clock that is no word of `MODES` and no possible number of MHz."""
    if isinstance(clock, str):
        if clock not in MODES:
            raise GpusimError(f"clock = '{clock}' is unknown.", hint=f"Give one of {', '.join(MODES)}, or megahertz.")
    elif clock is not None and not 1 <= clock <= 20_000:
        raise GpusimError(f"clock = {clock} MHz is no SM clock.", hint="Give megahertz, such as 1755.")


def first_mhz(clock: Clock, spec: GpuSpec, tensor: bool) -> float:
    """MHz of the first simulation: what the user says, else the highest that a launch with (`tensor`) or without tensor instructions gets."""
    if clock is not None and not isinstance(clock, str):
        return float(clock)
    return (spec.clocks.tensor if tensor else spec.clocks.boost) / 1e6


def word(clock: Clock) -> str:
    """How the clock of a run is found."""
    return clock if isinstance(clock, str) else BOOST if clock is None else "given"


@dataclass(frozen=True, slots=True)
class Held:
    """mhz: mean SM clock. by: what holds it below the boost clock, "" if nothing does."""

    mhz: float
    by: str


def held_by(run: Run, spec: GpuSpec, mode: str) -> Held:
    """The clock that the load of `run` allows under `mode`. Raises GpusimError where the specification says nothing of power."""
    power = power_of(spec)
    assert run.load is not None, "a run on a chip with power has a load"
    state = _State(run, run.load, spec, power)
    return state.sustained() if mode == SUSTAINED else state.instant()


def power_of(spec: GpuSpec) -> Power:
    """GpusimError where the specification has none."""
    if spec.power is None:
        raise GpusimError(f"{spec.name} has no section 'power', so nobody knows its clock under load.", hint="Add it, or give the clock in MHz.")
    return spec.power


class _State:
    """A launch of `cycles` at `boost` and `cap` MHz, the clocks without and with tensor instructions. pJ per cycle are MHz x 1e-6 W."""

    def __init__(self, run: Run, load: Load, spec: GpuSpec, power: Power) -> None:
        self.load, self.power, self.cycles = load, power, run.cycles - load.outside
        self.peak = power.quick.peak if power.quick else None
        self.boost = spec.clocks.boost / 1e6
        self.cap = first_mhz(None, spec, load.tensor)
        self.drawn = sms(load.energy) / self.cycles
        self.counted = sms(load.counted) / self.cycles
        self.dram = load.energy[DRAM] / self.cycles

    def watts(self, per_cycle: float, mhz: float) -> float:
        """Of SMs and L2, above idle."""
        return per_cycle * 1e-6 * mhz * (mhz / self.boost) ** (CUBE - 1)

    def allowed(self, per_cycle: float, watts: float | None) -> float:
        """MHz at which SMs and L2 draw `watts`, at most the cap."""
        drawn = self.watts(per_cycle, self.cap)
        return self.cap if watts is None or drawn <= watts else float(self.cap * (watts / drawn) ** (1 / CUBE))

    def instant(self) -> Held:
        """The mean over one launch: at boost before tensor cores start and where they rest, else at what the regulation allows from moment to moment."""
        p, load = self.power, self.load
        idle = min(load.before + load.rested, self.cycles) if load.tensor else 0.0
        begun = p.quick.droop * self.watts(self.drawn, self.cap) if p.quick else 0.0
        begun += p.step.switch * (1 + load.rests) if p.step and load.tensor else 0.0
        busy, slowed = 0.0, 0.0
        for share, relative in self.load.waves:
            took = self._stretch((self.cycles - idle) * share, self.drawn * relative, busy)
            slowed += took - (self.cycles - idle) * share / self.cap
            busy += took
        total = idle / self.boost + busy + begun * 1e-3
        return Held(self.cycles / total, self._why(slowed / total))

    def _stretch(self, cycles: float, per_cycle: float, now: float) -> float:
        """us that `cycles` of a steady load take, `now` us after it began. Until the regulation reacts, and again after it has recovered, `peak` holds."""
        quick, took = self.power.quick, 0.0
        if quick is None:
            return cycles / self.cap
        ends = ((quick.react * 1e-3, 0.0), (quick.recover * 1e-3, quick.overshoot), (float("inf"), 0.0))
        for end, overshoot in ends:
            mhz = self.allowed(per_cycle, quick.peak * (1 - overshoot))
            part = min(cycles, max(0.0, end - now - took) * mhz) if end < float("inf") else cycles
            took += part / mhz
            cycles -= part
        return took

    def sustained(self) -> Held:
        """The steady clock of the same launch again and again. What is counted rules where it is more than what is drawn."""
        steady = [(share, self.allowed(max(self.drawn, self.counted) * relative, self.peak)) for share, relative in self.load.waves]
        peak = 1 / sum(share / mhz for share, mhz in steady)
        most = min(self.cap, peak)
        board = self._board(most)
        return Held(board, BOARD) if board < most else Held(most, self._why(self.cap / most - 1))

    def _board(self, most: float) -> float:
        """The highest clock up to `most` at which the board draws no more than its limit, by bisection: power only rises with the clock."""
        low, high = 1.0, most
        if self.board_watts(high) <= self.power.limit:
            return high
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.board_watts(middle) <= self.power.limit else (low, middle)
        return low

    def board_watts(self, mhz: float) -> float:
        return self.power.idle + self.watts(self.drawn, mhz) + self.dram * 1e-6 * mhz

    def _why(self, slowed: float) -> str:
        if slowed > SMALL:
            return PEAK
        return TENSOR if self.load.tensor and self.cap < self.boost else ""


def sms(energy: dict[str, float]) -> float:
    """pJ of SMs and L2."""
    return sum(value for level, value in energy.items() if level != DRAM)
