"""Where the report of a CUDA kernel goes: the options that say so, and what they do."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.cli.files import check_picture, check_writable, write_text

if TYPE_CHECKING:
    from gpusim.report.report import Report

Picture = Annotated[str | None, typer.Option("--divergence", metavar="FILE", help="Draw the active lanes of some warps over time (.png, .svg, .pdf).")]
Trace = Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Write a timeline for chrome://tracing or ui.perfetto.dev.")]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON; - is stdout, and nothing else is printed there.")]
Source = Annotated[bool, typer.Option("--source", help="Also print what every source line costs.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Also print every counter with its name in Nsight Compute.")]
Registers = Annotated[int | None, typer.Option(help="Registers of a thread. [default: estimated]", show_default=False)]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What to print and write. GpusimError at once for a file that cannot be written."""

    source: bool
    verbose: bool
    json: str | None
    trace: str | None
    divergence: str | None

    def __post_init__(self) -> None:
        check_writable(self.json, "--json")
        check_writable(self.trace, "--trace")
        check_picture(self.divergence, "--divergence")

    def give(self, report: Report, more: str = "") -> None:
        """Prints `report`, and `more` behind it, and writes the files."""
        from gpusim.report.data import json_text

        parts = [report.detailed() if self.verbose else str(report), more, report.source_view() if self.source else ""]
        print("\n\n".join(part for part in parts if part), file=sys.stderr if self.json == "-" else sys.stdout)
        if self.json == "-":
            sys.stdout.write(json_text(report))
        elif self.json is not None:
            write_text(self.json, json_text(report))
        if self.trace is not None:
            report.trace(self.trace)
        if self.divergence is not None:
            report.plot_divergence(self.divergence)
