"""`gpusim systolic`: watch a small systolic array work, cycle by cycle."""

from __future__ import annotations

from typing import Annotated

import typer

#: what still fits a screen
MOST_CELLS = 16


def systolic(
    dim: Annotated[int, typer.Option("--dim", min=1, max=MOST_CELLS, help="Rows and columns of the array.")] = 4,
    rows: Annotated[int, typer.Option("--rows", min=1, max=64, help="Rows of activations in a pass.")] = 8,
    passes: Annotated[int, typer.Option("--passes", min=1, max=9, help="Squares of weights, one after the other.")] = 2,
    plot: Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw it as well (.png, .svg, .pdf).")] = None,
) -> None:
    """Show a systolic array over time: weights in, activations through, fill and drain."""
    from gpusim.cli.files import check_picture
    from gpusim.parts.systolic_frames import frames
    from gpusim.report import systolic as pictures

    check_picture(plot, "--plot")
    found = list(frames(dim, rows, passes))
    print(pictures.text(found))
    if plot is not None:
        pictures.plot(found, plot)
        print(f"wrote {plot}")
