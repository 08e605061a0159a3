"""What a TPU is, in numbers: few cores, each with large systolic arrays, a wide vector unit and software-managed memory.

As in `device.py` every field has a unit and a meaning, the YAML in `configs/` says where each number comes from, and nothing is derived here.
The words are those of the TPU's programmers; docs/tpu.md sets them beside those of GPUs.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpusim.spec.device import BytesPerCycle, Count, Cycles, Dram, Part
from gpusim.spec.units import Bytes, Hertz, Nanoseconds, OpsPerSecond

RowsPerCycle = Annotated[float, Field(gt=0, json_schema_extra={"unit": "rows/cycle"})]


class TpuChip(Part):
    cores: Count = Field(description="TensorCores of a chip; the blocks of a grid are divided among them (megacore)")
    cmem: Bytes = Field(default=0, description="memory shared by the cores of a chip (CMEM); nothing is placed there by the model")


class Mxu(Part):
    """A systolic array that keeps a square of weights and streams rows of activations through it."""

    count: Count = Field(description="arrays of a core")
    dim: Count = Field(description="rows and columns of an array")
    rows_per_cycle: dict[str, RowsPerCycle] = Field(description="rows of activations an array takes per cycle, by operand format")
    weight_rows_per_cycle: RowsPerCycle = Field(description="rows of the next square of weights that move in per cycle")
    double_buffered: bool = Field(description="whether the next weights move in while the array works on these; else it waits for them, and drains first")


class Vpu(Part):
    """The vector unit: registers of sublanes x lanes 32-bit numbers."""

    lanes: Count = Field(description="columns of a vector register")
    sublanes: Count = Field(description="rows of a vector register")
    alus: Count = Field(description="arithmetic operations on whole registers per cycle")
    transcendental: Count = Field(description="exp, log, reciprocal, ... of whole registers per cycle")
    cross_lane: Count = Field(description="units that reduce or permute across lanes, one register per cycle each (XLU)")
    registers: Count = Field(description="vector registers")
    alu_latency: Cycles = Field(description="dependent issue of an arithmetic operation")


class Vmem(Part):
    """The vector memory of a core: everything that is computed on lies here."""

    capacity: Bytes = Field(gt=0, description="of a core")
    bytes_per_cycle: BytesPerCycle = Field(description="what MXU and vector unit of a core read and write together")
    smem: Bytes = Field(gt=0, description="scalar memory of a core")
    tile_rows: dict[Literal["4", "8", "16", "32"], Count] = Field(description="rows of the smallest piece of a layout, by bits of an element")


class Dma(Part):
    latency: Nanoseconds = Field(description="from the request until the first bytes are there, an idle memory")
    buffers: Annotated[int, Field(ge=1)] = Field(description="buffers of an input block, unless a kernel asks for a number of stages")


class Grid(Part):
    """The sequential loop over the grid's steps, with copies running ahead."""

    step_overhead: Cycles = Field(description="scalar work of a step: indices, starting copies and waiting for them")
    together: Count = Field(description="blocks of single rows, or of vectors, that a compiler puts together in one step, at most; 1: none")


class TpuLaunch(Part):
    overhead: Nanoseconds = Field(description="what the host's clock around a launch sees beyond the device's time")
    start: Nanoseconds = Field(description="device time of an operation that does nothing, without its copies and its step")


class TpuSpec(Part):
    """One TPU. `peak` holds published dense rates of the chip by operand format."""

    KIND: ClassVar[str] = "tpu"

    name: str
    aliases: tuple[str, ...] = ()
    architecture: str
    validated: bool = False
    note: str = ""
    clock: Hertz = Field(description="clock of the cores")
    chip: TpuChip
    mxu: Mxu
    vpu: Vpu
    vmem: Vmem
    dma: Dma
    grid: Grid
    dram: Dram
    launch: TpuLaunch
    peak: dict[str, OpsPerSecond] = Field(description="published dense rate of the chip by operand format")
    provenance: dict[str, str] = Field(default_factory=dict, repr=False, description="field path -> source")
