"""What work costs in energy, and how the clock is regulated. `launch/clock.py` is the law that uses these numbers; docs/clock.md teaches it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gpusim.spec.part import Part
from gpusim.spec.units import Fraction, Nanoseconds, Picojoules, Plain, Watts


class Energies(Part):
    """Energy of single operations at `clocks.boost`. On the SMs' supply (all but `dram_byte`) it goes with the square of the clock, because the voltage
    follows the clock."""

    instruction: Picojoules = Field(description="a warp instruction, whatever it does: fetch, decode, issue")
    lane: Picojoules = Field(description="the arithmetic of one lane of it, its registers included")
    mma_sync: Picojoules = Field(description="a cycle of an SM's tensor cores at the full rate of warp-level matrix instructions, in any format")
    wgmma: Picojoules | None = Field(default=None, description="the same of warpgroup instructions, their reads of shared memory included")
    l1_byte: Picojoules = Field(description="a byte from L1 or shared memory")
    l2_byte: Picojoules = Field(description="a byte between an SM and L2, both included")
    dram_byte: Picojoules = Field(description="a byte between L2 and DRAM, DRAM included")


class Quick(Part):
    """The quick regulation: it answers within a launch, by a lower clock."""

    peak: Watts = Field(description="power of SMs and L2 above idle that it allows, at once by what is drawn, over tens of ms by what is counted")
    react: Nanoseconds = Field(description="from the start of a load above `peak` to its first answer")
    recover: Nanoseconds = Field(description="from the start to the end of that answer, which goes too far")
    overshoot: Fraction = Field(description="how far below `peak` it goes, as a share of `peak`")
    droop: Annotated[float, Plain, Field(ge=0, json_schema_extra={"unit": "ns/W"})] = Field(
        description="time lost when a load starts, for each watt by which the power of SMs and L2 rises"
    )


class Step(Part):
    """The step from `clocks.boost` to `clocks.tensor`."""

    switch: Nanoseconds = Field(description="time lost when a tensor instruction brings the step")
    hold: Nanoseconds = Field(description="from the last tensor instruction until the clock is clocks.boost again")


class Power(Part):
    """`random`, `zeros`: energies for data whose bits toggle at random, and for data that never changes."""

    idle: Watts = Field(description="the board with a context and no work, SMs at their boost clock")
    limit: Watts = Field(description="board power that regulation holds over seconds")
    quick: Quick | None = Field(default=None, description="the quick regulation; absent: none is known")
    step: Step | None = Field(default=None, description="what the step of the clock costs; absent: nobody knows, or there is no step")
    random: Energies = Field(description="energies for random data")
    zeros: Energies = Field(description="energies for data of zeros")
