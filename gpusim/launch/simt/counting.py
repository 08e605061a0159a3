"""Counters of a SIMT launch from what the value pass counted: exact, no clock.

A block's instructions are issued once for each warp that runs it, so every count of instructions is a sum over blocks. Only at a point
of reconvergence, every group of lanes issues the instruction that waits for the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from gpusim.ir.simt.matrix import LANES, WGMMA_M, step
from gpusim.ir.simt.matrix import WARPGROUP as GROUP_WARPS
from gpusim.launch.energy import rate_of
from gpusim.lower.simt.code import Access, Block, Code, Instr
from gpusim.lower.simt.mnemonics import MATRIX, MNEMONICS, WARPGROUP
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters
from gpusim.trace.profile import AccessCost
from gpusim.trace.simt import Counts, CtaPath

SECTOR, WAVEFRONT = 32, 128

#: counter -> pipes whose instructions it counts
PIPES = {
    "alu_instructions": ("alu",),
    "fma_instructions": ("fma", "fmaheavy"),
    "half_instructions": ("half",),
    "fp64_instructions": ("fp64",),
    "xu_instructions": ("xu",),
    "lsu_instructions": ("lsu",),
    "uniform_instructions": ("uniform",),
    "tensor_instructions": ("tensor",),
}
BRANCHES = ("BRA", "BSYNC", "EXIT", "CALL", "RET", "BREAK")
#: operations of one lane
FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2, "DADD": 1, "DMUL": 1, "DFMA": 2, "HADD2": 2, "HMUL2": 2, "HFMA2": 4, "HFMA2.MMA": 4}

#: (space, kinds of access) -> prefix of the counters; what is counted by which suffix
PLACES: dict[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {
    ("global", ("load", "copy")): ("l1_load", ("requests", "sectors")),
    ("global", ("store",)): ("l1_store", ("requests", "sectors")),
    ("global", ("atomic",)): ("global_atomic", ("requests", "sectors")),
    ("global", ("red",)): ("global_red", ("requests", "sectors")),
    ("local", ("load",)): ("local_load", ("requests", "sectors")),
    ("local", ("store",)): ("local_store", ("requests", "sectors")),
    ("global", ("bulk",)): ("bulk_copy", ("requests", "sectors")),
    ("shared", ("mbarrier",)): ("mbarrier", ("requests",)),
    ("cluster", ("load",)): ("cluster_load", ("requests",)),
    ("cluster", ("store",)): ("cluster_store", ("requests",)),
    ("cluster", ("atomic", "red")): ("cluster_atomic", ("requests",)),
    ("shared", ("load", "ldmatrix")): ("shared_load", ("requests", "wavefronts", "conflicts")),
    ("shared", ("store",)): ("shared_store", ("requests", "wavefronts", "conflicts")),
    ("shared", ("atomic", "red")): ("shared_atomic", ("requests", "wavefronts")),
}
#: how spilled registers move; these instructions have no Access
SPILLS = {"LDL": "local_load", "STL": "local_store"}
#: counters that stay in the report even where they are 0, because the kernel could have had them
ALWAYS = ("l1_load_sectors", "l1_store_sectors")


def counters(code: Code, counts: Counts) -> Counters:
    """Every counter that follows from the path alone."""
    out: Counters = {"instructions": 0, "thread_instructions": 0, "branches": 0} | dict.fromkeys(PIPES, 0)
    for block, lanes, issued in _blocks(code, counts):
        mix: Counter[str] = Counter()
        for instr, times in issued:
            mix[MNEMONICS[instr.op][0]] += times
            out["branches"] += times if instr.op in BRANCHES else 0
        out["instructions"] += sum(mix.values())
        out["thread_instructions"] += lanes * len(block.instrs)
        for name, pipes in PIPES.items():
            out[name] += sum(mix[p] for p in pipes)
    out |= _memory(access_costs(code, counts))
    for name, value in _spilled(code, counts).items():
        out[name] = out.get(name, 0) + value
    return {name: value for name, value in out.items() if value or name in ALWAYS or name in ("instructions", "thread_instructions")}


def _spilled(code: Code, counts: Counts) -> Counters:
    """Loads and stores of registers in local memory, where lanes stand side by side: 4 sectors for 32 lanes and 32 bits."""
    out: Counters = {}
    for _, lanes, issued in _blocks(code, counts):
        for instr, times in issued:
            if instr.op in SPILLS and instr.access is None and times:
                prefix = SPILLS[instr.op]
                sectors = times * math.ceil(lanes / times * instr.bits / 8 / SECTOR)
                out[f"{prefix}_requests"] = out.get(f"{prefix}_requests", 0) + times
                out[f"{prefix}_sectors"] = out.get(f"{prefix}_sectors", 0) + sectors
    return out


def _blocks(code: Code, counts: Counts) -> Iterator[tuple[Block, int, list[tuple[Instr, int]]]]:
    """(block, lanes that ran it, its instructions with how often a warp issued each)."""
    for block, warps, lanes, groups in zip(code.blocks, counts.warps.tolist(), counts.lanes.tolist(), counts.arrivals.tolist(), strict=True):
        yield block, lanes, _issued(block, warps, groups)


def _issued(block: Block, warps: int, groups: int) -> list[tuple[Instr, int]]:
    """Once for each warp that runs the block; but each group of lanes that comes to a point of reconvergence issues its first BSYNC."""
    out = [(instr, warps) for instr in block.instrs]
    first = next((i for i, instr in enumerate(block.instrs) if instr.op == "BSYNC"), None)
    if first is not None:
        out[first] = (block.instrs[first], max(warps, groups))
    return out


def _memory(costs: Iterable[AccessCost]) -> Counters:
    out: Counters = dict.fromkeys(ALWAYS, 0)
    shared = 0
    for cost in costs:
        for (space, kinds), (prefix, suffixes) in PLACES.items():
            if cost.space == space and cost.kind in kinds:
                numbers = {"requests": cost.requests, "sectors": cost.sectors, "wavefronts": cost.wavefronts}
                numbers["conflicts"] = cost.wavefronts - cost.least_wavefronts
                for suffix in suffixes:
                    out[f"{prefix}_{suffix}"] = out.get(f"{prefix}_{suffix}", 0) + numbers[suffix]
        shared += cost.wavefronts if cost.space == "shared" else 0
    if shared:
        out["shared_wavefronts"] = shared
    return out


def flops(code: Code, counts: Counts) -> int:
    """Floating-point operations of the active lanes; a fused multiply-add is two."""
    return round(sum(lanes * sum(_flops(i) for i in block.instrs) for block, lanes, _ in _blocks(code, counts)))


def tensor_work(code: Code, counts: Counts, machine: Machine) -> dict[str, float]:
    """Cycles of an SM's tensor cores at full rate, summed over SMs, by kind of instruction."""
    out: dict[str, float] = {}
    for _, _, issued in _blocks(code, counts):
        for instr, times in issued:
            if instr.op in MATRIX:
                kind, (fmt, fma) = "mma.sync", MATRIX[instr.op]
            elif instr.op in WARPGROUP:
                kind, fmt = "wgmma", WARPGROUP[instr.op][0]
                fma = WGMMA_M * instr.bits * step(fmt) // GROUP_WARPS
            else:
                continue
            out[kind] = out.get(kind, 0.0) + times * fma / rate_of(kind, fmt, machine)
    return out


def _flops(instr: Instr) -> float:
    """Of one lane; a matrix instruction's are shared out among the lanes of its warp or warpgroup."""
    if instr.op in MATRIX:
        return 2 * MATRIX[instr.op][1] / LANES
    if instr.op in WARPGROUP:
        return 2 * WGMMA_M * instr.bits * step(WARPGROUP[instr.op][0]) / (GROUP_WARPS * LANES)
    return FLOPS.get(instr.op, 0)


def access_costs(code: Code, counts: Counts) -> tuple[AccessCost, ...]:
    """One row for each access. What side-by-side lanes would need follows from the mean number of active lanes in the block."""
    return tuple(_access(a, i, counts) for i, a in enumerate(code.accesses))


def _access(a: Access, i: int, counts: Counts) -> AccessCost:
    requests, warps = int(counts.requests[i]), int(counts.warps[a.block])
    lanes = counts.lanes[a.block] / warps if warps else 0.0
    sectors = int(counts.sectors[i]) if a.kind == "bulk" else requests * max(1, int(np.ceil(lanes * a.bytes / SECTOR)))
    passes = requests * max(1, int(np.ceil(lanes * a.bytes / WAVEFRONT)))
    wavefronts = int(counts.wavefronts[i]) if a.space == "shared" else 0
    return AccessCost(
        a.line, a.kind, a.space, a.buffer, a.bytes, requests, int(counts.sectors[i]), sectors, wavefronts, min(passes, wavefronts)
    )  # fmt: skip


def line_counts(code: Code, counts: Counts) -> dict[int, tuple[int, int]]:
    """Source line -> (warp instructions, thread instructions)."""
    out: dict[int, tuple[int, int]] = {}
    for _, lanes, issued in _blocks(code, counts):
        for instr, times in issued:
            was = out.get(instr.line, (0, 0))
            out[instr.line] = (was[0] + times, was[1] + lanes)
    return dict(sorted(out.items()))


def path_instructions(code: Code, paths: Iterable[CtaPath]) -> list[int]:
    """Warp instructions of each CTA."""
    sizes = [len(block.instrs) for block in code.blocks]
    return [sum(sizes[b] for warp in path.warps for b in warp.blocks) for path in paths]


def thread_instructions(code: Code, counts: Counts) -> int:
    """Active lanes, summed over the instructions."""
    return sum(lanes * len(block.instrs) for block, lanes, _ in _blocks(code, counts))


def warp_instructions(code: Code, counts: Counts) -> int:
    """Instructions of warps."""
    return sum(times for _, _, issued in _blocks(code, counts) for _, times in issued)
