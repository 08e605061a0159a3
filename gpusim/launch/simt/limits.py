"""Lower bounds of a SIMT launch: how long it would take if one resource limited it and all SMs were evenly loaded."""

from __future__ import annotations

from gpusim.launch.simt.counting import WAVEFRONT
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters

LANES = 32

#: resource -> (counter of its instructions, lanes of an SM that execute them per cycle; a field of spec.sm)
PIPES = {"alu": ("alu_instructions", "alu_lanes"), "fma": ("fma_instructions", "fma_lanes"), "xu": ("xu_instructions", "xu_lanes")}


def limits(counters: Counters, machine: Machine, spec: GpuSpec, ctas: int) -> dict[str, float]:
    """resource -> cycles."""
    sms, sector = machine.sms, machine.sector
    out = {"issue": counters["instructions"] / (sms * machine.subcores), "CTA dispatch": ctas * machine.per_cta}
    for name, (counter, lanes) in PIPES.items():
        out[name] = counters.get(counter, 0) * LANES / getattr(spec.sm, lanes) / sms
    loaded, stored = counters.get("l2_read_sectors", 0) * sector, counters.get("l2_write_sectors", 0) * sector
    out |= {
        "shared memory": counters.get("shared_wavefronts", 0) * WAVEFRONT / machine.shared_rate / sms,
        "SM fill": loaded / (machine.fill_rate * sms),
        "SM store": stored / (machine.store_rate * sms),
        "L2 read": loaded / machine.l2_read_rate,
        "L2 intake": (stored + counters.get("dram_read_bytes", 0)) / machine.l2_write_rate,
        "DRAM": (counters.get("dram_read_bytes", 0) + counters.get("dram_write_bytes", 0)) / machine.dram_rate,
    }
    return {name: cycles for name, cycles in out.items() if cycles}
