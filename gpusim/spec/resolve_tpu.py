"""TpuSpec + clock -> TpuMachine: everything in cycles of a core and bytes per cycle. The only unit conversion for TPUs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.spec.resolve import DramTimes, dram_times
from gpusim.spec.tpu import TpuSpec


@dataclass(frozen=True, slots=True)
class TpuMachine:
    """The fields of `spec.tpu` at one clock. rows_per_cycle: operand format -> rows of activations per cycle of an array. tile_rows: bits of an
    element -> rows of the smallest piece of a layout. Times in cycles, rates per cycle."""

    name: str
    clock_hz: float
    cores: int
    mxus: int
    dim: int
    rows_per_cycle: dict[str, float]
    weight_rows: float
    double_buffered: bool
    lanes: int
    sublanes: int
    alus: int
    transcendental: int
    cross_lane: int
    alu_latency: float
    vmem_bytes: int
    vmem_rate: float
    tile_rows: dict[int, int]
    dma_latency: float
    buffers: int
    step_overhead: float
    together: int
    dram: DramTimes
    launch_overhead: float
    launch_start: float


def resolve_tpu(spec: TpuSpec, clock_mhz: float | None = None) -> TpuMachine:
    """`spec` at a clock of `clock_mhz` MHz, or at its own. What lives in time stays as long: memory, launch."""
    hz = clock_mhz * 1e6 if clock_mhz else spec.clock
    ns = hz * 1e-9
    return TpuMachine(
        name=spec.name,
        clock_hz=hz,
        cores=spec.chip.cores,
        mxus=spec.mxu.count,
        dim=spec.mxu.dim,
        rows_per_cycle=dict(spec.mxu.rows_per_cycle),
        weight_rows=spec.mxu.weight_rows_per_cycle,
        double_buffered=spec.mxu.double_buffered,
        lanes=spec.vpu.lanes,
        sublanes=spec.vpu.sublanes,
        alus=spec.vpu.alus,
        transcendental=spec.vpu.transcendental,
        cross_lane=spec.vpu.cross_lane,
        alu_latency=spec.vpu.alu_latency,
        vmem_bytes=spec.vmem.capacity,
        vmem_rate=spec.vmem.bytes_per_cycle,
        tile_rows={int(bits): rows for bits, rows in spec.vmem.tile_rows.items()},
        dma_latency=spec.dma.latency * ns,
        buffers=spec.dma.buffers,
        step_overhead=spec.grid.step_overhead,
        together=spec.grid.together,
        dram=dram_times(spec.dram, hz),
        launch_overhead=spec.launch.overhead * ns,
        launch_start=spec.launch.start * ns,
    )
