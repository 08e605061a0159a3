"""Where the CTAs of a launch of tiles run: one by one, or cluster by cluster."""

from __future__ import annotations

from gpusim.ir.pipeline import Pipeline
from gpusim.launch.clusters import deal_clusters, resident
from gpusim.launch.dealing import deal
from gpusim.spec.resolve import Machine


def slots(machine: Machine, ctas_per_sm: int, pipeline: Pipeline | None) -> int:
    """CTAs that run at once."""
    return resident(machine, ctas_per_sm, pipeline.ctas_per_cluster if pipeline else 1)


def places(machine: Machine, ctas: int, ctas_per_sm: int, pipeline: Pipeline | None) -> list[int]:
    """SM of each of the first `ctas` CTAs, as many as run at once. GpusimError if no GPC has room for a cluster."""
    size = pipeline.ctas_per_cluster if pipeline else 1
    if size == 1:
        return deal(machine, ctas, ctas_per_sm)
    return deal_clusters(machine, ctas // size, ctas_per_sm, size)
