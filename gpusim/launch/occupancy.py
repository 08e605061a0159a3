"""How many CTAs an SM holds, and what limits it. Exact: the allocation rules of the hardware."""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.lower.lowered import Footprint
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Occupancy

WARP_LANES = 32


def occupancy(foot: Footprint, spec: GpuSpec, resident: int = 0) -> Occupancy:
    """CTAs per SM by warps, registers, CTA slots and shared memory. GpusimError if not even one fits.

    Registers belong to the sub-cores, and the warps of a CTA are dealt to them evenly. resident: CTAs of a persistent launch (0: it is none).
    """
    sm = spec.sm
    granule = sm.register_granule
    per_warp = -(-foot.registers * WARP_LANES // granule) * granule
    warps = sm.registers // sm.subcores // per_warp * sm.subcores
    shared = -(-(foot.shared_bytes + sm.shared_reserved_per_cta) // sm.shared_granule) * sm.shared_granule
    limits = {
        "warps": sm.max_warps // foot.warps,
        "registers": warps // (-(-foot.warps // sm.subcores) * sm.subcores) if foot.warps >= sm.subcores else warps // foot.warps,
        "CTA slots": sm.max_ctas,
        "shared memory": sm.shared_max // shared if shared else sm.max_ctas,
    }
    if resident:
        limits["persistent grid"] = -(-resident // spec.sms)
    limiter = min(limits, key=lambda k: limits[k])
    if limits[limiter] < 1:
        needs = {"registers": f"{per_warp * foot.warps} registers of {sm.registers}", "warps": f"{foot.warps} warps of {sm.max_warps}"}
        what = needs.get(limiter, f"{shared} bytes of shared memory of {sm.shared_max}")
        raise GpusimError(f"one CTA needs {what}; it does not fit an SM.", where=spec.name, hint="Use a smaller tile, fewer stages or another number of warps.")
    return Occupancy(limits[limiter], limiter, limits, foot.warps, foot.registers, foot.shared_bytes, foot.spills)


def warps_per_subcore(registers: int, spec: GpuSpec) -> int:
    """Warps with so many registers a thread that one sub-core holds."""
    sm = spec.sm
    per_warp = -(-registers * WARP_LANES // sm.register_granule) * sm.register_granule
    return min(sm.max_warps // sm.subcores, sm.registers // sm.subcores // per_warp)


def register_limit(warps: int, spec: GpuSpec) -> int:
    """Registers a thread may have so that one CTA of `warps` warps fits an SM."""
    sm = spec.sm
    per_warp = sm.registers // sm.subcores // -(-warps // sm.subcores) // sm.register_granule * sm.register_granule
    return min(sm.max_registers_per_thread, per_warp // WARP_LANES)
