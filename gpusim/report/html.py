"""The report in a notebook: one small table, no style sheet and no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gpusim.report.units import count, microseconds, percent, size

if TYPE_CHECKING:
    from gpusim.report.report import Report


def render(report: Report) -> str:
    """An HTML table of the main facts; all text escaped."""
    body = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>" for name, text in _rows(report))
    return f"<table><caption>{escape(report.kernel)} on {escape(report.gpu)}</caption>{body}</table>"


def _rows(r: Report) -> list[tuple[str, str]]:
    share = f", {percent(r.fraction_of_peak)} of peak" if r.fraction_of_peak is not None else ""
    rows = [
        ("parameters", ", ".join(f"{name}={value}" for name, value in r.params.items())),
        ("time", f"{microseconds(r.time_us)} ({count(r.cycles)} cycles at {r.clock_mhz:.0f} MHz)"),
        ("power", f"{r.power_w:.0f} W" if r.power_w is not None else ""),
        ("rate", f"{r.tflops:.4g} TFLOP/s{share}"),
        ("grid", f"{count(r.ctas)} CTAs, waves {r.waves}, last wave {r.tail_ctas} of {r.run.slots}"),
        ("occupancy", f"{r.ctas_per_sm} per SM, limited by {r.limiter}"),
    ]
    if r.dram_read_bytes is not None and r.dram_write_bytes is not None:
        rows.append(("DRAM", f"{size(r.dram_read_bytes)} read, {size(r.dram_write_bytes)} written"))
    if r.l2_sectors is not None:
        rows.append(("L2", f"{count(r.l2_sectors)} sectors" + (f", hit rate {percent(r.l2_hit_rate)}" if r.l2_hit_rate is not None else "")))
    rows.append(("warps", ", ".join(f"{reason} {percent(part)}" for reason, part in list(r.stalls.items())[:5])))
    rows += [("bottleneck", r.bottleneck), ("advice", r.advice), ("digest", r.digest)]
    return [(name, text) for name, text in rows if text]
