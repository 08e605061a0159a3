"""What the report of a launch on a TPU says where GPUs have CTAs, warps and SMs: lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusim.report.formulas import share
from gpusim.report.protocol import MEANING
from gpusim.report.units import count, percent, plural, size
from gpusim.spec.tpu import TpuSpec

if TYPE_CHECKING:
    from gpusim.report.report import Report

Line = tuple[str, str]

#: what a core does with its time -> how it is said
WORDS = {
    "mxu": "multiplying",
    "weights": "waiting for weights",
    "fill_drain": "filling and draining the arrays",
    "vector": "in the vector unit",
    "vmem": "on vector memory",
    "step": "on grid steps",
    "copy_in": "waiting for copies in",
    "copy_out": "waiting for copies out",
}
SMALL = 0.001


def grid(r: Report) -> Iterator[Line]:
    """How the grid is walked."""
    steps = r.run.counters["grid_steps"]
    yield "grid", f"{plural(r.ctas, 'block')} in {plural(steps, 'grid step')}, one after the other on each of {plural(r.run.slots, 'TensorCore')}"


def machine(r: Report) -> Iterator[Line]:
    """Vector memory and arrays."""
    assert isinstance(r.spec, TpuSpec)
    c, held = r.run.counters, r.run.occupancy.shared_bytes_per_cta
    yield "memory", f"{size(held)} of the {size(r.spec.vmem.capacity)} vector memory of a core hold its blocks and their buffers"
    if "vmem_bytes" in c:
        rate = c["vmem_bytes"] / r.run.time_ps * 1e12
        most = r.spec.vmem.bytes_per_cycle * r.clock_mhz * 1e6 * r.run.slots
        yield "", f"{size(c['vmem_bytes'])} moved between vector memory and units, {percent(rate / most)} of what it could"
    if "mxu_passes" in c:
        side = f"{r.spec.mxu.dim}x{r.spec.mxu.dim}"
        yield "arrays", f"{plural(c['mxu_passes'], 'pass', 'passes')} of {side} weights on {r.run.slots * r.spec.mxu.count} MXUs"
    yield "copies", f"{count(c['dma_copies'])}, {size(share(moved(r), c['dma_copies']) or 0)} each"


def moved(r: Report) -> int:
    """Bytes copied in and out."""
    return r.run.counters["dram_read_bytes"] + r.run.counters["dram_write_bytes"]


def reasons(r: Report) -> Iterator[Line]:
    """What cores did with their time, the bounds, and the advice."""
    words = [f"{WORDS[reason]} {percent(part)}" for reason, part in r.stalls.items() if part >= SMALL]
    yield "cores", ", ".join(words)
    yield "bounds", ", ".join(f"{name} {percent(part)}" for name, part in r.bound_shares.items()) + " of the time, if alone"
    yield "bottleneck", r.bottleneck
    yield "advice", r.advice


def provenance(r: Report) -> Iterator[Line]:
    """The conditions, and how far to trust it."""
    yield "protocol", f"operands in memory; {MEANING['launch'].get(r.protocol.launch, r.protocol.launch)}; clock {r.clock_mhz:.0f} MHz"
    yield "reuse", "none: every step was simulated"
    if r.run.notes:
        yield "compiler", "; ".join(r.run.notes)
    yield "validation", f"no measured kernels stand behind the model of {r.spec.name}; docs/tpu.md compares it with published times"
    if r.digest:
        yield "digest", r.digest
