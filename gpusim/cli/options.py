"""The options that `run` and `sweep` share."""

from __future__ import annotations

from typing import Annotated

import typer

L2 = Annotated[str, typer.Option("--l2", help="L2 before the kernel: cold, foreign-dirty, or warm (kernels of threads).")]
Launch = Annotated[str, typer.Option("--launch", help="Launch overhead: in, or out.")]
Clock = Annotated[float | None, typer.Option("--clock", metavar="MHZ", help="SM clock in MHz. [default: the model's own]", show_default=False)]
Exact = Annotated[bool, typer.Option("--exact", help="Simulate every block and step; reuse nothing.")]
