"""The options that `run` and `sweep` share."""

from __future__ import annotations

from typing import Annotated

import typer

L2 = Annotated[str, typer.Option("--l2", help="L2 before the kernel: cold, foreign-clean, foreign-dirty, or warm (after an identical launch).")]
Launch = Annotated[str, typer.Option("--launch", help="Launch overhead: in, or out.")]
Clock = Annotated[float | None, typer.Option("--clock", metavar="MHZ", help="SM clock in MHz. [default: the model's own]", show_default=False)]
Without = Annotated[
    str,
    typer.Option(
        "--without",
        metavar="COST,...",
        help="Take costs of the machine away and say what each of them takes: all, or names such as bank-conflicts,l2-misses.",
        show_default=False,
    ),
]
Exact = Annotated[bool, typer.Option("--exact", help="Simulate every block and step; reuse nothing.")]


def costs(text: str) -> tuple[str, ...]:
    """The names of "bank-conflicts,l2-misses". GpusimError for one that does not exist."""
    from gpusim.launch.ablations import chosen

    return chosen(name.strip() for name in text.split(",") if name.strip())
