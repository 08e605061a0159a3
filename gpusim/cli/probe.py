"""`gpusim probe GROUP`: microbenchmarks inside the simulator. The work is done in `gpusim.probe`."""

from __future__ import annotations

from typing import Annotated

import typer

COMPARE = typer.Option("--compare", metavar="FILE", help="Measured records: each is simulated and compared. [default: the group's own points, not compared]")
NAME = typer.Option("--name", metavar="RECORD", help="Only records of this name.")


def probe(
    group: Annotated[str, typer.Argument(metavar="GROUP", help="latency, alu, tensor, smem, global, bandwidth, divergence, scheduling, or all.")],
    gpu: Annotated[str, typer.Option(help="The GPU to simulate.")] = "h200",
    compare: Annotated[str | None, COMPARE] = None,
    plot: Annotated[str | None, typer.Option("--plot", metavar="DIR", help="Write the group's curves there, as PNG.")] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="OUT", help="Write the result as JSON; - is stdout.")] = None,
    name: Annotated[str | None, NAME] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes. [default: all cores]", show_default=False)] = None,
    worst: Annotated[int, typer.Option("--worst", metavar="N", min=0, help="Also list the N records with the largest error.")] = 0,
) -> None:
    """Run microbenchmarks on the simulated GPU.

    They are ordinary kernels; what they show (latencies, bandwidths, conflicts, divergence) can be laid over what was measured.
    """
    from gpusim.cli.files import check_writable
    from gpusim.probe.command import probe as run

    check_writable(json, "--json")
    run(group, gpu=gpu, compare_with=compare, plots=plot, json_out=json, record=name, jobs=jobs, worst=worst)
