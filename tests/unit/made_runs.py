"""Runs made by hand: the report, the sweep and the command line are tested without the simulator."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from types import ModuleType
from typing import Any

from gpusim.ir.program import Program
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Occupancy, Protocol, Run

OCCUPANCY = Occupancy(
    ctas_per_sm=1,
    limiter="registers",
    limits={"registers": 1, "shared memory": 2, "warps": 8, "CTAs": 32},
    warps_per_cta=8,
    registers_per_thread=255,
    shared_bytes_per_cta=73728,
)
COUNTERS = {
    "instructions": 1_000_000,
    "tensor_fma": 2**33,
    "l1_load_sectors": 4_000_000,
    "l1_store_sectors": 200_000,
    "shared_wavefronts": 3_000_000,
    "l2_read_sectors": 2_000_000,
    "l2_write_sectors": 200_000,
    "l2_hit_sectors": 1_650_000,
    "dram_read_bytes": 12_000_000,
    "dram_write_bytes": 6_000_000,
}


def made_run(**changes: Any) -> Run:
    """A plausible run on a device with 108 slots; 2^33 FMA of 2^34 flops: nothing is padding."""
    base = Run(
        gpu="a100-sxm-80gb",
        kernel="gemm",
        params={"m": 2048, "n": 2048, "k": 2048, "tile": "256x128x32", "dtype": "bf16"},
        protocol=Protocol("cold", "out", 1000.0),
        occupancy=OCCUPANCY,
        ctas=108,
        waves=1,
        slots=108,
        cycles=100_000.0,
        time_ps=100_000_000,
        flops=2**34,
        counters=dict(COUNTERS),
        stalls={"selected": 200.0, "long_scoreboard": 500.0, "barrier": 300.0},
        warp_cycles=1000.0,
        bounds={"tensor": 80_000.0, "dram": 20_000.0, "l2": 30_000.0},
        extrapolated="70 of 100 k-steps, residual 0.1 %",
        digest="0123456789abcdef",
    )
    return replace(base, **changes)


def fake_simulate(program: Program, spec: GpuSpec, *, l2: str, launch: str, clock_mhz: float | None, exact: bool) -> Run:
    """Time in proportion to waves; slots are the device's SMs. Counts its calls, and sleeps `pause` seconds."""
    module = sys.modules["gpusim.launch.run"]
    module.calls.append(program.params)  # type: ignore[attr-defined]
    time.sleep(module.pause)  # type: ignore[attr-defined]
    waves = -(-program.ctas // spec.sms)
    cycles = 1000.0 * waves * program.params["k"]
    clock = clock_mhz or spec.clocks.tensor / 1e6
    return made_run(
        gpu=spec.name,
        params=program.params,
        protocol=Protocol(l2, launch, clock),
        ctas=program.ctas,
        waves=waves,
        slots=spec.sms,
        cycles=cycles,
        time_ps=round(cycles / clock * 1e6),
        flops=program.flops,
        bounds={"tensor": 0.8 * cycles},
    )


def fake_launch(pause: float = 0.0) -> ModuleType:
    """A stand-in for the module gpusim.launch.run."""
    module = ModuleType("gpusim.launch.run")
    module.simulate, module.calls, module.pause = fake_simulate, [], pause  # type: ignore[attr-defined]
    return module
