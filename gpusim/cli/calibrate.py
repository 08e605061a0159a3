"""`gpusim calibrate FILE`: from microbenchmark records to a GPU. The work is done in `gpusim.calibrate`."""

from __future__ import annotations

from typing import Annotated

import typer

OUTPUT = typer.Option("--output", "-o", metavar="YAML", help="Write the GPU here; then `--gpu ./my-gpu.yaml` names it.", show_default=False)


def calibrate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Records of tools/microbench (micro.json).")],
    base: Annotated[str, typer.Option(help="The GPU that is most like it: gives what the records do not say.")],
    output: Annotated[str | None, OUTPUT] = None,
) -> None:
    """Describe your GPU by measuring it.

    Derives what microbenchmarks determine, prints what differs from the base and what could not be determined and why, and writes a GPU in
    which each number names its source.
    """
    from gpusim.calibrate.command import calibrate as derive
    from gpusim.calibrate.command import write
    from gpusim.calibrate.text import table
    from gpusim.cli.files import check_writable

    check_writable(output, "--output")
    found = derive(file, base)
    if output is not None:
        write(found, base, output)
    print(table(found))
    if output is not None:
        print(f"\nWritten: {output}")
