"""Clusters of CTAs: what a device takes, and where they go.

Measured on one chip (micro.json scheduling/cluster_to_sm): all CTAs of a cluster run on one GPC, on SMs side by side; clusters go to the GPCs in
turn. The leading GPCs that small grids fill first are single TPCs: they take no cluster larger than one. So the chip holds 66, 30, 15 and 7 clusters of
2, 4, 8 and 16 CTAs at one CTA an SM.
"""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import AsyncCopy, Barrier, BulkCopy, Geometry, Mbarrier
from gpusim.ir.simt.walk import memory, walk
from gpusim.lower.simt.code import Code
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine

NEWER = "Choose a GPU of compute capability 9.0 or higher."


def check_cluster(geometry: Geometry, spec: GpuSpec) -> None:
    """GpusimError if the device has no clusters of this size, or the grid is not made of whole ones."""
    cluster, size = geometry.cluster, geometry.cluster_ctas
    if any(c < 1 for c in cluster):
        raise GpusimError(f"cluster = {cluster}; every extent is at least 1.", where=spec.name)
    if size == 1:
        return
    if spec.chip.clusters is None:
        raise GpusimError(f"{spec.name} has no clusters; {cluster} asks for {size} CTAs.", where=spec.name, hint=NEWER)
    if size > spec.chip.clusters.max_ctas:
        what = f"cluster = {cluster} has {size} CTAs; {spec.chip.clusters.max_ctas} is the most."
        raise GpusimError(what, where=spec.name, hint="Make the cluster smaller.")
    if any(g % c for g, c in zip(geometry.grid, cluster, strict=True)):
        what = f"grid = {geometry.grid} is no multiple of cluster = {cluster}."
        raise GpusimError(what, where=spec.name, hint="Round every extent of the grid up to whole clusters.")


def check_code(code: Code, spec: GpuSpec) -> None:
    """GpusimError for what the device has no hardware for."""
    for stmt in (s for block in code.blocks for s in walk(block.ops)):
        where = f"{code.program.file or code.program.name}:{getattr(stmt, 'line', 0)}"
        if isinstance(stmt, BulkCopy | Mbarrier) and spec.copy_engines.bulk is None:
            raise GpusimError(f"{spec.name} has no bulk copy engine and no mbarriers that count its bytes.", where=where, hint=NEWER)
        if isinstance(stmt, Barrier) and stmt.kind.startswith("cluster") and spec.chip.clusters is None:
            raise GpusimError(f"{spec.name} has no clusters.", where=where, hint=NEWER)
        if isinstance(stmt, AsyncCopy) and not spec.copy_engines.cp_async:
            raise GpusimError(f"{spec.name} has no asynchronous copies.", where=where, hint="Load to registers and store to shared memory.")
    for stmt in (s for block in code.blocks for s in memory(block.ops)):
        buffer = getattr(stmt, "buffer", None)
        if buffer is not None and buffer.space == "cluster" and spec.chip.clusters is None:
            raise GpusimError(f"{spec.name} has no clusters.", where=f"{code.program.file or code.program.name}:{stmt.line}", hint=NEWER)


def resident(machine: Machine, ctas_per_sm: int, cluster: int = 1) -> int:
    """CTAs that run at once."""
    return sum(_room(machine, gpc, ctas_per_sm, cluster) * cluster for gpc in range(len(machine.gpc_sms)))


def _room(machine: Machine, gpc: int, ctas_per_sm: int, cluster: int) -> int:
    """Clusters that a GPC holds."""
    sms = machine.gpc_sms[gpc]
    if cluster > 1 and gpc < machine.gpcs_dealt_first:
        return sms // machine.sms_per_tpc * (machine.sms_per_tpc * ctas_per_sm // cluster)
    return sms * ctas_per_sm // cluster


def deal_clusters(machine: Machine, clusters: int, ctas_per_sm: int, cluster: int) -> list[int]:
    """SM of each CTA of the first clusters, rank by rank; as many clusters as fit, or as there are. GpusimError if not even one fits."""
    rooms = [_room(machine, gpc, ctas_per_sm, cluster) for gpc in range(len(machine.gpc_sms))]
    if not sum(rooms):
        what = f"no GPC has room for a cluster of {cluster} CTAs at {ctas_per_sm} CTAs an SM."
        raise GpusimError(what, where=machine.name, hint="Make the cluster smaller, or let more CTAs fit an SM.")
    used = [0] * len(rooms)
    order: list[int] = []
    while len(order) < clusters * cluster and any(u < r for u, r in zip(used, rooms, strict=True)):
        for gpc, room in enumerate(rooms):
            if used[gpc] < room and len(order) < clusters * cluster:
                order += _places(machine, gpc, used[gpc], cluster)
                used[gpc] += 1
    return order


def _places(machine: Machine, gpc: int, number: int, cluster: int) -> list[int]:
    """SMs of the `number`-th cluster of a GPC: side by side, one CTA an SM before any SM gets a second."""
    first, sms = sum(machine.gpc_sms[:gpc]), machine.gpc_sms[gpc]
    if gpc < machine.gpcs_dealt_first:
        sms = sms // machine.sms_per_tpc * machine.sms_per_tpc
    return [first + (number * cluster + rank) % sms for rank in range(cluster)]
