"""A report as plain data: the keys of `--json`, and the flat row of a sweep."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpusim.report.confidence import errors_of, kernel_class
from gpusim.report.traffic import data as table
from gpusim.spec.device import GpuSpec
from gpusim.trace.nsight import metrics_of

if TYPE_CHECKING:
    from gpusim.report.report import Report

#: attributes of a report that are keys of the JSON under the same name, in this order
PLAIN = (
    "gpu", "kernel", "params", "ctas", "waves", "tail_ctas", "ctas_per_sm", "limiter", "cycles", "time_us", "clock_mhz", "power_w", "energy_uj", "tflops",
    "peak_tflops", "fraction_of_peak", "dram_read_bytes", "dram_write_bytes", "l2_sectors", "l1_sectors", "shared_wavefronts", "l2_hit_rate", "l1_hit_rate",
    "active_threads", "sectors_per_request", "bank_conflicts", "achieved_occupancy", "stalls", "bottleneck", "advice", "extrapolated", "digest",
)  # fmt: skip
#: keys that a sweep's row spreads or leaves out
NESTED = ("params", "stalls", "advice", "extrapolated", "energy_uj")


def to_dict(report: Report) -> dict[str, Any]:
    """The JSON of `gpusim run --json`. A key whose value the run cannot know is absent."""
    run = report.run
    errors = errors_of(run) if report.spec.validated else None
    data = {key: getattr(report, key) for key in PLAIN}
    data |= {
        "slots": run.slots,
        "flops": run.flops,
        "occupancy": asdict(run.occupancy),
        "protocol": {key: getattr(run.protocol, key) for key in ("l2", "launch", "clock_mhz")},
        "clock": {key: getattr(run.protocol, key) for key in ("clock", "held_by", "data")},
        "bounds_cycles": run.bounds,
        "counters": run.counters,
        "traffic": table(report),
        "nsight": metrics_of(run.counters),
        "notes": list(run.notes),
        "device_validated": report.spec.validated,
        "saved_us": report.saved,
        "kernel_class": kernel_class(run) if isinstance(report.spec, GpuSpec) else None,
        "measured_errors": asdict(errors) if errors else None,
    }
    return {key: plain(value) for key, value in data.items() if value is not None}


def flat(report: Report) -> dict[str, Any]:
    """One row: the parameters, then the scalars of `to_dict`, then the stall shares as `stall_...`."""
    data = {key: getattr(report, key) for key in PLAIN if key not in NESTED}
    head = {"gpu": data.pop("gpu"), "kernel": data.pop("kernel")}
    stalls = {f"stall_{reason}": part for reason, part in sorted(report.stalls.items())}
    return {key: plain(value) for key, value in (head | report.params | data | stalls).items()}


def plain(value: Any) -> Any:
    """`value` without NumPy's scalars, which JSON does not know."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.item() if hasattr(value, "item") else value


def json_text(report: Report) -> str:
    """The JSON of a report, ending in a newline."""
    return json.dumps(to_dict(report), indent=2) + "\n"
