"""Two reports of one kernel at two sizes: why is the second slower?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.report.units import count, percent

if TYPE_CHECKING:
    from gpusim.report.report import Report


def why_slower(a: Report, b: Report) -> str:
    """One sentence on what `b` costs over `a`, with the numbers of both reports."""
    times, work = b.time_us / a.time_us, b.run.flops / a.run.flops - 1
    cost = f"{times:.2f} times the time for {percent(work)} more work"
    if b.waves > a.waves:
        return (
            f"{_size(b)} needs {count(b.ctas)} tiles where {count(b.run.slots)} run at once, so {count(b.tail_ctas)} tiles wait for wave {b.waves} "
            f"while {count(b.run.slots - b.tail_ctas)} slots stay empty; the {count(a.ctas)} tiles of {_size(a)} need {_waves(a)}: {cost}."
        )
    return f"{_size(b)} takes {cost} of {_size(a)}, in as many waves ({b.waves}): {b.advice}"


def _size(report: Report) -> str:
    sizes = [str(report.params[name]) for name in ("m", "n", "k") if name in report.params]
    return f"size {sizes[0]}" if sizes and len(set(sizes)) == 1 else f"{report.kernel} {' x '.join(sizes)}".strip()


def _waves(report: Report) -> str:
    return "only one wave" if report.waves == 1 else f"only {report.waves} waves"
