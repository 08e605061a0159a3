"""Clusters of CTAs: plans that the groups latency and scheduling take over, each its own."""

from __future__ import annotations

import numpy as np

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import cluster
from gpusim.kernels.simt.probes.latency import STEPS
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import Loop, launched, slope
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.probe.rings import SPARE, per_pass
from gpusim.spec.device import GpuSpec

#: passes that are timed: each is like the other
PASSES = 8


def _dsmem(p: Params) -> Simulation:
    """Cycles of a load in a chase through the shared memory of the CTA `target_rank - from_rank` ranks further."""
    size, further = int(p["cluster"]), int(p["target_rank"]) - int(p["from_rank"])

    def simulate(spec: GpuSpec) -> float:
        geometry = Geometry((size, 1, 1), (32, 1, 1), 0, (size, 1, 1))
        args = (np.int32(further), np.int32(PASSES + SPARE), ArraySpec((1,), "uint32"))
        made = launched(spec, cluster.chase, geometry, args, exact=True, timeline=True)
        return per_pass(made, PASSES) / STEPS

    return simulate


def _cluster_barrier(p: Params) -> Simulation:
    """Cycles of a barrier of the cluster, in a loop of nothing else."""
    size, threads = int(p["cluster"]), 32 * int(p["warps_per_cta"])
    kernel = cluster.MEETING[p["arrive"]]

    def simulate(spec: GpuSpec) -> float:
        geometry = Geometry((size, 1, 1), (threads, 1, 1), 0, (size, 1, 1))
        made = launched(spec, kernel, geometry, (np.int32(PASSES + SPARE),), exact=True, timeline=True)
        return per_pass(made, PASSES)

    return simulate


def barrier_mbarrier(p: Params) -> Simulation:
    """Cycles of a barrier of a CTA's `warps` that is made of an mbarrier."""
    return slope(Loop(cluster.barrier_mbarrier, p["warps"], ("iters",), lambda c: c / cluster.ROUNDS))


#: kinds of the record "barrier" that stand here
BARRIER = {"mbarrier arrive + try_wait": barrier_mbarrier}

#: of the group latency
LATENCY: dict[str, Plan] = {"dsmem": _dsmem}
LATENCY_POINTS: tuple[Point, ...] = tuple(("dsmem", {"cluster": 8, "from_rank": 0, "target_rank": rank}) for rank in (0, 1, 7))

#: of the group scheduling
SCHEDULING: dict[str, Plan] = {"cluster_barrier": _cluster_barrier}
SCHEDULING_POINTS: tuple[Point, ...] = tuple(
    ("cluster_barrier", {"arrive": arrive, "cluster": size, "warps_per_cta": 4}) for arrive in cluster.MEETING for size in (1, 2, 4, 8, 16)
)
SCHEDULING_CURVES = (Curve("Barriers of a cluster", "cluster_barrier", "cluster", "CTAs of the cluster", "cycles", ("arrive", "warps_per_cta")),)
