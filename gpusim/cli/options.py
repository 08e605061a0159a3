"""The options that `run` and `sweep` share."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def clock_of(text: str) -> float | str:
    """A number of MHz, or the word that was written; whether it exists is checked with the other options."""
    try:
        return float(text)
    except ValueError:
        return text


L2 = Annotated[str, typer.Option("--l2", help="L2 before the kernel: cold, foreign-clean, foreign-dirty, or warm (after an identical launch).")]
Launch = Annotated[str, typer.Option("--launch", help="Launch overhead: in, or out.")]
Clock = Annotated[
    Any,
    typer.Option(
        "--clock",
        metavar="MHZ|boost|load|sustained",
        parser=clock_of,
        help="SM clock: a number, the highest (boost), what this launch gets under its own load, or what it keeps for seconds (sustained). [default: boost]",
        show_default=False,
    ),
]
Data = Annotated[str, typer.Option("--data", help="What the arrays are supposed to hold, for power and clock: random, or zeros.")]
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
