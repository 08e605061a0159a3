"""Group latency: pointer chases of one thread through every level, and chains of atomics and fences. Values are SM cycles of one step."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import latency
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.state import MemoryState
from gpusim.probe import cluster
from gpusim.probe.loops import excluded, launched, sms
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.probe.rings import SPARE, Chip, Ring, far_word, per_pass
from gpusim.spec.device import GpuSpec

LINE, KIB, MIB, GIB = 128, 1 << 10, 1 << 20, 1 << 30
#: steps of a walk that tell its mean within 1 %
STEPS = 1024
#: rings up to this size are walked twice before, as in the original: lines that are touched again are protected, so one pass does not settle L1
WALKED_TWICE = 512 * KIB
#: lines that every SM visits (of the 64 measured ones as many as tell the distribution), and bytes from one to the next
LINES, PITCH = 32, 4736
#: passes that are timed where every pass is like the other
PASSES = 8
#: bytes of a page of device memory
PAGE = 2 * MIB
#: translation is not modelled: what counts is how many lines there are, so they need not lie further apart than this in all
SPREAD = 256 * MIB


def _chain(
    kernel: Any, args: tuple[Any, ...], threads: int = 1, passes: int = PASSES, steps: int = latency.STEPS, **options: Any
) -> Callable[[GpuSpec], float]:
    """Cycles of one of `steps` dependent operations in a pass of the kernel's last loop, which runs the number of passes named "passes"."""

    def simulate(spec: GpuSpec) -> float:
        given = tuple(np.int32(passes + SPARE) if isinstance(a, str) else a for a in args)
        made = launched(spec, kernel, Geometry((1, 1, 1), (threads, 1, 1), 0), given, exact=True, timeline=True, **options)
        return per_pass(made, passes) / steps

    return simulate


def _shared(p: Params) -> Simulation:
    return _chain(latency.shared_chase({4: 4, 8: 8, 16: 16}[p["bytes"]]), ("passes", ArraySpec((1,), "uint32")), 32)


def _constant(p: Params) -> Simulation:
    nodes, stride = int(p["footprint"]) // p["stride"], p["stride"] // 4
    table = np.zeros(64 * KIB // 4, np.uint32)
    table[np.arange(nodes) * stride] = (np.arange(nodes) + 1) % nodes * p["stride"]
    kernel = latency.constant_chase(table, {"LDC": False, "ULDC": True}[p["instr"]])
    passes = max(PASSES, nodes // latency.STEPS)
    return _chain(kernel, (np.int32(passes), "passes", ArraySpec((1,), "uint32")), passes=passes)


def _local(p: Params) -> Simulation:
    nodes = int(p["bytes"]) // 8
    passes = max(PASSES, nodes // latency.STEPS)
    return _chain(latency.local_chase, (np.int32(nodes), np.int32(passes), "passes", ArraySpec((1,), "uint64")), passes=passes)


def _atomic(p: Params) -> Simulation:
    """On a word that is at home in the other half of L2, as the measured one was: a chain of atomics on a word of the SM's own half takes no longer
    than a load of it, on one of the other half what the measured one took."""
    kernel, dtype = latency.ATOMIC[p["op"]]

    def simulate(spec: GpuSpec) -> float:
        state, words = MemoryState(spec), np.zeros(64 * KIB, dtype.dtype)
        return _chain(kernel, ("passes", np.int32(far_word(spec, state, words)), words), 32, steps=latency.ATOMICS, state=state)(spec)

    return simulate


def _l1_hit(p: Params) -> Simulation:
    ring = Ring(int(p["footprint"]) // LINE, LINE)
    load = p["ld"]
    return lambda spec: Chip(spec, ring, ring.nodes).walk({k: k for k in latency.LOADS}[load], ring.nodes, 128)


def _l2_hit(p: Params) -> Simulation:
    """Only the loads' kind is L2's; what they read was read before, so that it lies in the near half."""
    ring, load = Ring(int(p["footprint"]) // LINE, LINE), {k: k for k in latency.LOADS}[p["ld"]]

    def simulate(spec: GpuSpec) -> float:
        chip = Chip(spec, ring, ring.nodes)
        chip.sweep(LINE)
        return chip.walk(load, 0, STEPS, threads=latency.THREADS)

    return simulate


def _by_sm(spec: GpuSpec) -> list[list[float]]:
    """For each SM, cycles of a hit in each of some lines, which lie as far apart as the measured ones. SMs of a TPC count as one."""
    return Chip(spec, Ring(LINES, PITCH, random=False), 0).visits()


def _line_by_sm(p: Params) -> Simulation:
    if not p["layout"].startswith("list[smid*64+line]"):
        raise KeyError("layout")
    return lambda spec: [cycles for row in _by_sm(spec) for cycles in row]


def _mean_by_sm(p: Params) -> Simulation:
    if p["layout"] != "list[smid]":
        raise KeyError("layout")
    return lambda spec: [fmean(row) for row in _by_sm(spec)]


#: what is carved out of the SRAM for shared memory -> dynamic shared memory of the CTA, as a share of the most that a CTA may have
CARVED = {"max_l1": 0, "max_smem": 1}


def _staircase(p: Params) -> Simulation:
    footprint, load = round(p["footprint"] / LINE) * LINE, {"ca": "ca", "cg": "cg"}[p["ld"]]
    ring, all_sms = Ring(footprint // LINE, LINE), {"one_sm": False, "all_sms": True}[p["warm"]]
    small = footprint <= WALKED_TWICE
    warm, steps = (2 * ring.nodes, min(ring.nodes, 2 * STEPS)) if small else (0, STEPS)
    carved = CARVED[p.get("l1_carveout", "max_l1")]

    def simulate(spec: GpuSpec) -> float:
        chip = Chip(spec, ring, min(ring.nodes, warm + steps + 2 * latency.STEPS))
        if all_sms:
            chip.sweep(LINE, sms=sms(spec))
        chip.sweep(LINE)
        return chip.walk(load, warm, steps, threads=latency.THREADS, shared=carved * spec.sm.shared_max_per_cta)

    return simulate


def _dram(p: Params) -> Simulation:
    """L2 is full of other data; one line of each page has been touched."""
    footprint, stride = round(p["footprint"] / LINE) * LINE, int(p["stride"])
    ring = Ring(footprint // stride, stride, {"random": True, "sequential": False}[p["order"]])

    def simulate(spec: GpuSpec) -> float:
        chip = Chip(spec, ring, min(ring.nodes, STEPS + 2 * latency.STEPS), "foreign-clean")
        chip.sweep(PAGE)
        return chip.walk("cg", 0, STEPS, threads=latency.THREADS)

    return simulate


def _tlb(p: Params) -> Simulation:
    nodes, pitch = int(p["pages"]), int(p["pitch"])
    pitch = min(pitch, max(LINE, SPREAD // nodes // LINE * LINE))
    ring = Ring(nodes, pitch, jitter=pitch // LINE)
    walked = min(nodes, 4 * KIB)
    return lambda spec: Chip(spec, ring, walked).walk({"cg": "cg"}[p["ld"]], walked, walked)


PLANS: dict[str, Plan] = {
    **cluster.LATENCY,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
    "shared": _shared,
    "l1_hit": _l1_hit,
    "l2_hit": _l2_hit,
    "l2_hit_line_by_sm": _line_by_sm,
    "l2_hit_mean_by_sm": _mean_by_sm,
    "constant": _constant,
    "local": _local,
    "atomic": _atomic,
    "staircase": _staircase,
    "dram": _dram,
    "tlb": _tlb,
}


def _steps(footprints: tuple[int, ...], **others: Any) -> tuple[Point, ...]:
    return tuple(("staircase", {"footprint": f, **others}) for f in footprints)


_FOOTPRINTS = (*(KIB << i for i in range(3, 9)), *(f * KIB for f in (240, 288, 320)), MIB, 4 * MIB, 16 * MIB)
_LARGE = tuple(f * MIB for f in (24, 28, 32, 40, 48, 56, 64, 80, 128, 256, 512, 1024))

UNITS = dict.fromkeys(PLANS, "cycles")

POINTS: tuple[Point, ...] = (
    *cluster.LATENCY_POINTS,
    *(("shared", {"bytes": b}) for b in (4, 8, 16)),
    *(("l1_hit", {"footprint": 4 * KIB, "ld": load}) for load in ("ca.u64", "ca.v2.u64", "nc.u64")),
    ("l2_hit", {"footprint": MIB, "ld": "cg.u64"}),
    *(("constant", {"footprint": f, "stride": 64, "instr": i}) for i in ("LDC", "ULDC") for f in (64, 2 * KIB, 4 * KIB, 64 * KIB)),
    *(("local", {"bytes": b}) for b in (128, 2 * KIB, 8 * KIB)),
    *(("atomic", {"op": op}) for op in latency.ATOMIC),
    *_steps(_FOOTPRINTS + _LARGE, ld="ca", warm="one_sm", l1_carveout="max_l1"),
    ("dram", {"footprint": GIB, "stride": LINE, "order": "random"}),
    *(("dram", {"footprint": GIB, "stride": s, "order": "sequential"}) for s in (32, 64, 128, 4 * KIB)),
)

CURVES: tuple[Curve, ...] = (
    Curve("Latency of a pointer chase by footprint", "staircase", "footprint", "footprint (bytes)", "cycles a load", ("ld", "warm", "l1_carveout")),
    Curve("Latency of constant memory by footprint", "constant", "footprint", "footprint (bytes)", "cycles a load", ("instr",)),
    Curve("Latency of DRAM by stride", "dram", "stride", "stride (bytes)", "cycles a load", ("order", "footprint")),
    Curve("Latency by number of pages", "tlb", "pages", "pages", "cycles a load", ("pitch",)),
)
