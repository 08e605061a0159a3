"""The report of a kernel of threads."""

from __future__ import annotations

from typing import Protocol

from gpusim.report.report import Report
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run


class HasRun(Protocol):
    """`launch.simt.run.SimtResult`, as far as a report needs it."""

    @property
    def run(self) -> Run: ...


def simt_report(result: HasRun, spec: GpuSpec) -> Report:
    """The report of what `simulate_simt` gave on `spec`."""
    return Report(result.run, spec)
