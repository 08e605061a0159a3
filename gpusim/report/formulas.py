"""Every number that a report derives from raw facts. None means that the run cannot know it; it is never shown as 0."""

from __future__ import annotations

from collections.abc import Mapping

from gpusim.spec.device import GpuSpec
from gpusim.spec.kinds import Device
from gpusim.trace import nsight
from gpusim.trace.run import Run

#: a resource that accounts for at least this share of the time is called the bottleneck
BUSY = 0.6


def share(part: float | None, whole: float | None) -> float | None:
    """part / whole, None where either is unknown or the whole is nothing."""
    return part / whole if part is not None and whole else None


def total(counters: Mapping[str, int], *names: str) -> int | None:
    """The sum of the counters that exist among `names`; None if there is none."""
    known = [counters[name] for name in names if name in counters]
    return sum(known) if known else None


def tail_ctas(run: Run) -> int:
    """CTAs of the last wave: all of them where there is one wave."""
    return run.ctas - (run.waves - 1) * run.slots


def slot_fill(run: Run) -> float:
    """CTAs over the slots of all waves: 1 where every wave is full."""
    return run.ctas / (run.waves * run.slots)


def tflops(run: Run) -> float:
    """Useful operations (2 m n k for a matrix product, no padding) per time, in 1e12 per second."""
    return run.flops / run.time_ps


def peak_tflops(run: Run, spec: Device) -> float | None:
    """Published dense rate of the kernel's operand format at the published clock; None if the spec does not publish one. 8-bit floats have one rate."""
    dtype = str(run.params.get("dtype"))
    rate = spec.peak.get("fp8" if dtype.startswith("fp8") else dtype)
    return rate / 1e12 if rate else None


def useful_share(run: Run) -> float | None:
    """Useful operations over those the tensor cores did; the rest is padding of the edge tiles."""
    fma = run.counters.get("tensor_fma")
    return share(run.flops, 2 * fma) if fma else None


def active_threads(run: Run) -> float | None:
    """Mean active lanes of an issued instruction, of 32. Only where a run counts lanes."""
    return share(run.counters.get("thread_instructions"), run.counters.get("instructions"))


def sectors_per_request(run: Run) -> float | None:
    """Mean 32-byte sectors of a warp's access to global memory: 4 where 32 lanes use 4 bytes each, side by side."""
    requests = total(run.counters, "l1_load_requests", "l1_store_requests")
    return share(total(run.counters, "l1_load_sectors", "l1_store_sectors"), requests)


def bank_conflicts(run: Run) -> int | None:
    """Passes of shared memory beyond what lanes side by side need."""
    return total(run.counters, "shared_load_conflicts", "shared_store_conflicts")


def achieved_occupancy(run: Run, spec: Device) -> float | None:
    """Mean resident warps of a working SM over the most that it holds."""
    return share(run.warps_active, spec.sm.max_warps) if isinstance(spec, GpuSpec) else None


def l2_hit_rate(run: Run) -> float | None:
    """Hits of the near half over its hits and misses, as a profiler counts them."""
    return nsight.l2_hit_rate(run.counters)


def l1_hit_rate(run: Run) -> float | None:
    """Share of the load sectors that L1 served. Only where the run counts L1 hits."""
    return share(run.counters.get("l1_hit_sectors"), run.counters.get("l1_load_sectors"))


def dram_share(run: Run, spec: Device) -> float | None:
    """Bytes moved by DRAM over what the pins could move in the same time."""
    moved = total(run.counters, "dram_read_bytes", "dram_write_bytes")
    return share(moved, spec.dram.bandwidth * run.time_ps * 1e-12)


def stall_shares(run: Run) -> dict[str, float]:
    """Reason -> share of all warp-cycles, largest first. They add up to 1."""
    ordered = sorted(run.stalls.items(), key=lambda item: (-item[1], item[0]))
    return {reason: cycles / run.warp_cycles for reason, cycles in ordered} if run.warp_cycles else {}


def bound_shares(run: Run) -> dict[str, float]:
    """Resource -> share of the time it would take alone, largest first."""
    ordered = sorted(run.bounds.items(), key=lambda item: (-item[1], item[0]))
    return {name: cycles / run.cycles for name, cycles in ordered} if run.cycles else {}


def bottleneck(run: Run) -> str:
    """What sets the time: a resource of `bounds`, "wave tail", "small grid" or "latency".

    A bound assumes that all SMs work all the time. So the largest bound over the time is slot_fill (how many of the slots have a
    CTA) times how busy the resource is where there is one. If neither makes the resource busy overall, the smaller factor is to
    blame: slots without a CTA, in the last wave ("wave tail") or in the only one ("small grid"), or waiting ("latency").
    """
    name, busy = next(iter(bound_shares(run).items()), ("latency", 0.0))
    if busy >= BUSY:
        return name
    fill = slot_fill(run)
    if fill < busy / fill:
        return "wave tail" if run.waves > 1 else "small grid"
    return "latency"
