"""Lower bounds: how long the launch would take if a single resource limited it, all SMs evenly loaded."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.stream import Stream
from gpusim.launch.tally import Tally
from gpusim.parts.tensor_core import mma_sync_cycles, wgmma_cycles
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters


def bounds(counts: Tally, counters: Counters, m: Machine, matrix: str, full: Stream) -> dict[str, float]:
    """resource -> cycles."""
    sms = m.sms
    l2_bytes = counters["l2_read_sectors"] * m.sector
    out = {
        "issue": counts["instructions"] / (sms * m.subcores),
        "shared memory": counts["shared_wavefronts"] * 128 / m.shared_rate / sms,
        "L1 lines": counts["l1_lines"] / (m.l1_line_rate * sms),
        "SM fill": counts["load_bytes"] / (m.fill_rate * sms),
        "SM store": counts["store_bytes"] / (m.store_rate * sms),
        "L2 read": l2_bytes / m.l2_read_rate,
        "L2 write": counts["store_bytes"] / m.l2_write_rate,
        "DRAM": (counters["dram_read_bytes"] + counters["dram_write_bytes"]) / m.dram_rate,
    }
    tensor = sum(_cycles(e, m) for e, _ in full.body if isinstance(e, fx.Matrix)) * full.trips * full.ctas / sms
    if matrix == "simt":
        fma = sum(e.count * e.slots for e, _ in full.body if isinstance(e, fx.Issue)) * full.trips * full.ctas
        return out | {"FMA pipe": fma * full.warps / (sms * m.subcores)}
    return out | {"tensor": tensor}


def _cycles(e: fx.Matrix, m: Machine) -> float:
    if e.kind != "wgmma":
        return e.count * mma_sync_cycles(m, e.fmt, e.m, e.n, e.k)
    return e.count * wgmma_cycles(m, e.fmt, e.m, e.n, e.k)
