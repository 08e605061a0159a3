"""The printed report: one block of lines, a name at the left of each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gpusim.report import formulas, power, tpu
from gpusim.report.confidence import errors_of, kernel_class
from gpusim.report.protocol import CLOCK_MEANING, L2_MEANING, MEANING
from gpusim.report.simt_text import simt
from gpusim.report.traffic import table
from gpusim.report.units import count, microseconds, percent, plural, size
from gpusim.trace.counters import MEANINGS

if TYPE_CHECKING:
    from gpusim.report.report import Report
    from gpusim.trace.run import Protocol

WIDTH, LABEL = 110, 14
#: pieces between commas that are shorter than this are not broken
SHORT = 32
HARD_SPACE = "\N{NO-BREAK SPACE}"
#: stall reasons below this share are added up as "other"
SMALL = 0.01
#: costs below this share of the time are added up as "others"
UNSEEN = 0.0005

Line = tuple[str, str]


def render(report: Report, *, detailed: bool = False, parameters: bool = True) -> str:
    """The report as text. detailed: also every counter with its unit, its metric in Nsight Compute and its meaning."""
    lines = [f"{report.kernel} on {report.gpu}"]
    if parameters:
        lines += wrap("parameters", "  ".join(f"{name}={value}" for name, value in report.params.items()))
    for part in PARTS[report.spec.KIND]:
        lines += table(report) if part in (_reasons, tpu.reasons) else []
        for label, text in part(report):
            lines += wrap(label, text)
    if detailed:
        lines += ["", *counters(report)]
    return "\n".join(lines)


def wrap(label: str, text: str) -> list[str]:
    """`text` beside `label`, over as many lines as it needs; short pieces between commas stay in one line."""
    pieces = [piece.replace(" ", HARD_SPACE) if len(piece) < SHORT else piece for piece in text.split(", ")]
    whole = f"{label:{LABEL}}{', '.join(pieces)}".replace(" %", f"{HARD_SPACE}%")
    lines = textwrap.wrap(whole, WIDTH, subsequent_indent=" " * LABEL, break_long_words=False, break_on_hyphens=False)
    return [line.replace(HARD_SPACE, " ") for line in lines]


def _grid(r: Report) -> Iterator[Line]:
    yield "grid", f"{plural(r.ctas, 'CTA')}, {plural(r.waves, 'wave')} of {count(r.run.slots)} slots, {count(r.tail_ctas)} in the last wave"


def _result(r: Report) -> Iterator[Line]:
    yield "time", f"{microseconds(r.time_us)}, {count(r.cycles)} cycles at {r.clock_mhz:.0f} MHz"
    yield from _power(r)
    yield from _budget(r)
    if not r.run.flops:
        return
    rate = f"{r.tflops:.4g} TFLOP/s"
    if r.fraction_of_peak is not None:
        rate += f", {percent(r.fraction_of_peak)} of the published dense {r.params['dtype']} peak ({r.peak_tflops:.4g} TFLOP/s)"
    yield "rate", rate
    useful = formulas.useful_share(r.run)
    if useful is not None and useful < 1:
        yield "", f"{percent(useful)} of the tensor work is useful, the rest is padding of the tiles"


def _power(r: Report) -> Iterator[Line]:
    """What the board draws, and by which level; and what holds the clock, where it is not the boost clock."""
    if r.energy_uj is not None and r.power_w is not None:
        levels = ", ".join(f"{level} {energy / r.time_us:.0f}" for level, energy in r.energy_uj.items())
        yield "power", f"{r.power_w:.0f} W ({levels}), {sum(r.energy_uj.values()) / 1e3:.4g} mJ"
    if held := power.held_text(r.run, r.spec):
        yield "clock", held


def _budget(r: Report) -> Iterator[Line]:
    """What was taken away, each with what it saved; together with the time that is left, the time of the whole machine."""
    if r.saved is None:
        return
    whole = r.time_us + sum(r.saved.values())
    large = {name: time for name, time in r.saved.items() if abs(time) >= UNSEEN * whole}
    rest = len(r.saved) - len(large)
    rows = [*large.items(), *([(plural(rest, "other"), sum(r.saved.values()) - sum(large.values()))] if rest else []), ("what is left", r.time_us)]
    yield "without", f"of {microseconds(whole)}:"
    width = max(len(name) for name, _ in rows)
    for name, time in rows:
        yield "", f"{name:{width}}  {microseconds(time):>9}  {percent(time / whole):>7}"
    if min(r.saved.values()) < 0:
        yield "", "below zero: without it the launch takes longer, because warps and CTAs then meet each other in another order"


def _machine(r: Report) -> Iterator[Line]:
    o = r.run.occupancy
    limits = ", ".join(f"{name} {allowed}" for name, allowed in sorted(o.limits.items(), key=lambda item: item[1]))
    yield "occupancy", f"{plural(o.ctas_per_sm, 'CTA')} per SM, limited by {o.limiter} (CTAs each would allow: {limits})"
    spilled = f" and {o.spilled_registers} more spilled" if o.spilled_registers else ""
    shared = size(o.shared_bytes_per_cta)
    yield "", f"a CTA has {plural(o.warps_per_cta, 'warp')}, {o.registers_per_thread} registers a thread{spilled}, {shared} shared memory"


def _reasons(r: Report) -> Iterator[Line]:
    large = {reason: part for reason, part in r.stalls.items() if part >= SMALL}
    rest = sum(r.stalls.values()) - sum(large.values())
    words = [f"{reason} {percent(part)}" for reason, part in large.items()]
    if words:
        yield "warps", ", ".join([*words, f"other {percent(rest)}"] if rest > 0.0005 else words)
    if r.bound_shares:
        yield "bounds", ", ".join(f"{name} {percent(part)}" for name, part in r.bound_shares.items()) + " of the time, if alone"
    yield "bottleneck", r.bottleneck
    yield "advice", r.advice


def _provenance(r: Report) -> Iterator[Line]:
    p = r.protocol
    yield "protocol", f"{L2_MEANING.get(p.l2, p.l2)}; {MEANING['launch'].get(p.launch, p.launch)}; {_clock(p)}"
    yield "reuse", r.extrapolated or "none: every block and step was simulated"
    if r.run.notes:
        yield "compiler", "; ".join(r.run.notes)
    yield "validation", _trust(r)
    if r.digest:
        yield "digest", r.digest


def _clock(p: Protocol) -> str:
    how = f", {CLOCK_MEANING[p.clock]}" if p.clock in CLOCK_MEANING else ""
    data = f"; {MEANING['data'][p.data]}" if p.data != "random" else ""
    return f"SM clock {p.clock_mhz:.0f} MHz{how}{data}"


def _trust(r: Report) -> str:
    """The errors of measured kernels of the same class, or that there are none."""
    errors = errors_of(r.run) if r.spec.validated else None
    if errors is None:
        return f"no measured kernels stand behind the model of {r.spec.name}" if not r.spec.validated else "no measured kernels of this class"
    spread = f"mean error {percent(errors.mape)} over {errors.cases} measured cases"
    return f"{kernel_class(r.run)}: {spread} (signed {percent(errors.signed_mean)}, nine in ten within {percent(errors.p90)}, worst {percent(errors.worst)})"


#: kind of device -> the parts of a report, in order
PARTS: dict[str, tuple[Callable[[Report], Iterator[Line]], ...]] = {
    "gpu": (_grid, _result, _machine, simt, _reasons, _provenance),
    "tpu": (tpu.grid, _result, tpu.machine, tpu.reasons, tpu.provenance),
}


def counters(r: Report) -> list[str]:
    """A table: counter, value, unit, Nsight Compute's metric, meaning."""
    rows = [("counter", "value", "unit", "Nsight Compute", "meaning")]
    for name, value in r.run.counters.items():
        known = MEANINGS.get(name)
        rows.append((name, count(value), known.unit if known else "", (known.metric if known else "") or "-", known.text if known else ""))
    w = [max(len(row[i]) for row in rows) for i in range(4)]
    return [f"{a:{w[0]}}  {b:>{w[1]}}  {c:{w[2]}}  {d:{w[3]}}  {e}".rstrip() for a, b, c, d, e in rows]
