"""What threads wait for when they make their writes known: fences; and how far the shared memory of a cluster is."""

from __future__ import annotations

from gpusim.calibrate.bench import Bench, Row, whole, whole_cycles
from gpusim.calibrate.records import Missing, Record

#: stores and fences in one pass of the measured loop
UNROLL = 8

DISTANT, MEETING = "latency/dsmem", "scheduling/cluster_barrier"


def _behind_a_store(bench: Bench, scope: str) -> float:
    """Cycles of a fence, without the store before it and the branch that closes the loop."""
    both = bench.records.value("latency/atomic", "cycles", op=f"fence_{scope}_after_st")
    return both - bench.spec("simt.interval.lsu") - bench.spec("simt.branch") / UNROLL


def _errors(bench: Bench) -> float:
    """An arrival that releases is a fence of the block, one for errors and the arrival; behind no store neither fence waits for one."""
    cycles = {kind: bench.records.value(MEETING, "cycles", arrive=kind, cluster=2, warps_per_cta=1) for kind in (RELEASE, RELAXED)}
    return cycles[RELEASE] - cycles[RELAXED] - bench.spec("simt.gap.MEMBAR")


def _distances(bench: Bench, own: bool) -> list[float]:
    points: list[Record] = bench.records.points(DISTANT, "cycles")
    found = [r.value for r in points if (r.params.get("from_rank") == r.params.get("target_rank")) == own]
    if not found:
        raise Missing(f"no record {DISTANT} of {'its own' if own else 'another'} CTA")
    return found


def _remote(bench: Bench) -> float:
    """No distance explains the differences between ranks, so the middle of all."""
    found = _distances(bench, own=False)
    return (min(found) + max(found)) / 2


RELEASE, RELAXED = "release (default)", "relaxed"

STORE = "less a store and an eighth of a branch"

ROWS: tuple[Row, ...] = (
    Row("simt.gap.MEMBAR", "latency/atomic", f"fence_cta_after_st {STORE}", lambda b: _behind_a_store(b, "cta"), whole),
    Row("simt.gap.ERRBAR", MEETING, "one warp, clusters of 2: release less relaxed and simt.gap.MEMBAR", _errors, whole),
    Row(
        "simt.gap.MEMBAR_SYS",
        "latency/atomic",
        f"fence_sys_after_st {STORE}, less simt.gap.ERRBAR",
        lambda b: _behind_a_store(b, "sys") - b.spec("simt.gap.ERRBAR"),
        whole,
    ),
    Row("chip.clusters.own_latency", DISTANT, "the CTA's own memory", lambda b: min(_distances(b, own=True)), whole_cycles),
    Row("chip.clusters.remote_latency", DISTANT, "middle of the lowest and the highest of other CTAs", _remote, whole),
)
