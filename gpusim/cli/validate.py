"""`gpusim validate FILE...`: simulated against measured cases. The work is done in `gpusim.validate`."""

from __future__ import annotations

from typing import Annotated

import typer

GROUP = typer.Option("--group", metavar="G", help="Only this group; may be repeated.")
FAMILY = typer.Option("--family", metavar="F", help="Only this family; may be repeated.")
ID = typer.Option("--id", metavar="GLOB", help="Only ids that match; !GLOB leaves ids out; may be repeated.")
COUNTERS = typer.Option("--counters", metavar="FILE", help="Profiled launches to compare counters with. [default: counters.json beside FILE]")
MEASURE = typer.Option(help="cycles (L2 cold, launch out, the case's clock); or, with the launch in and the model's clock: clean, time (dirty L2), warm.")
PAIRS = typer.Option("--pairs", help="Also compare every two cases of one family and size: same order, ratio within 15 %?")


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of measured cases, or the name of a shipped set.")],
    group: Annotated[list[str] | None, GROUP] = None,
    family: Annotated[list[str] | None, FAMILY] = None,
    id: Annotated[list[str] | None, ID] = None,
    gpu: Annotated[str, typer.Option(help="The GPU on which the cases were measured.")] = "h200",
    measure: Annotated[str, MEASURE] = "cycles",
    min_us: Annotated[float, typer.Option("--min-us", help="Shorter cases are listed but do not count.")] = 10.0,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes. [default: all cores]", show_default=False)] = None,
    json: Annotated[str | None, typer.Option("--json", metavar="OUT", help="Write the result as JSON; - is stdout.")] = None,
    worst: Annotated[int, typer.Option("--worst", metavar="N", help="Also list the N cases with the largest error.")] = 0,
    counters: Annotated[str | None, COUNTERS] = None,
    rank: Annotated[bool, typer.Option("--rank", help="Also ask: does the model put configurations of one shape in the right order?")] = False,
    pairs: Annotated[bool, PAIRS] = False,
) -> None:
    """Compare with measured kernels.

    Simulates each case under the protocol of its measurement, and prints the errors per group and per family.
    """
    from gpusim.cli.files import check_writable
    from gpusim.validate.command import validate as compare

    check_writable(json, "--json")
    compare(
        files,
        groups=group or [],
        families=family or [],
        ids=id or [],
        gpu=gpu,
        measure=measure,
        min_us=min_us,
        jobs=jobs,
        json_out=json,
        worst=worst,
        rank=rank,
        counters=counters,
        pairs=pairs,
    )
