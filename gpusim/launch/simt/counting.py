"""Counters of a SIMT launch from what the value pass counted: exact, no clock.

A block's instructions are issued once for each warp that runs it, so every count of instructions is a sum over blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from gpusim.lower.simt.code import Access, Code
from gpusim.lower.simt.mnemonics import MNEMONICS
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
#: floating-point operations of one lane; a matrix instruction is 2 * 16 * 8 * 16 for 32 lanes
FLOPS = {"FADD": 1, "FMUL": 1, "FFMA": 2, "DADD": 1, "DMUL": 1, "DFMA": 2, "HADD2": 2, "HMUL2": 2, "HFMA2": 4, "HFMA2.MMA": 4, "HMMA": 128}

#: (space, kinds of access) -> prefix of the counters; what is counted by which suffix
PLACES: dict[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {
    ("global", ("load", "copy")): ("l1_load", ("requests", "sectors")),
    ("global", ("store",)): ("l1_store", ("requests", "sectors")),
    ("global", ("atomic",)): ("global_atomic", ("requests", "sectors")),
    ("global", ("red",)): ("global_red", ("requests", "sectors")),
    ("local", ("load",)): ("local_load", ("requests", "sectors")),
    ("local", ("store",)): ("local_store", ("requests", "sectors")),
    ("shared", ("load", "ldmatrix")): ("shared_load", ("requests", "wavefronts", "conflicts")),
    ("shared", ("store",)): ("shared_store", ("requests", "wavefronts", "conflicts")),
    ("shared", ("atomic", "red")): ("shared_atomic", ("requests", "wavefronts")),
}
#: counters that stay in the report even where they are 0, because the kernel could have had them
ALWAYS = ("l1_load_sectors", "l1_store_sectors")


def counters(code: Code, counts: Counts) -> Counters:
    """Every counter that follows from the path alone."""
    out: Counters = {"instructions": 0, "thread_instructions": 0, "branches": 0} | dict.fromkeys(PIPES, 0)
    for block, warps, lanes in _blocks(code, counts):
        mix = Counter(MNEMONICS[i.op][0] for i in block.instrs)
        out["instructions"] += warps * len(block.instrs)
        out["thread_instructions"] += lanes * len(block.instrs)
        out["branches"] += warps * sum(i.op in BRANCHES for i in block.instrs)
        for name, pipes in PIPES.items():
            out[name] += warps * sum(mix[p] for p in pipes)
    out |= _memory(access_costs(code, counts))
    return {name: value for name, value in out.items() if value or name in ALWAYS or name in ("instructions", "thread_instructions")}


def _blocks(code: Code, counts: Counts) -> Iterable[tuple[Any, int, int]]:
    return zip(code.blocks, counts.warps.tolist(), counts.lanes.tolist(), strict=True)


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
    return sum(lanes * sum(FLOPS.get(i.op, 0) for i in block.instrs) for block, _, lanes in _blocks(code, counts))


def access_costs(code: Code, counts: Counts) -> tuple[AccessCost, ...]:
    """One row for each access. What side-by-side lanes would need follows from the mean number of active lanes in the block."""
    return tuple(_access(a, i, counts) for i, a in enumerate(code.accesses))


def _access(a: Access, i: int, counts: Counts) -> AccessCost:
    requests, warps = int(counts.requests[i]), int(counts.warps[a.block])
    lanes = counts.lanes[a.block] / warps if warps else 0.0
    sectors = requests * max(1, int(np.ceil(lanes * a.bytes / SECTOR)))
    passes = requests * max(1, int(np.ceil(lanes * a.bytes / WAVEFRONT)))
    wavefronts = int(counts.wavefronts[i]) if a.space == "shared" else 0
    return AccessCost(
        a.line, a.kind, a.space, a.buffer, a.bytes, requests, int(counts.sectors[i]), sectors, wavefronts, min(passes, wavefronts)
    )  # fmt: skip


def line_counts(code: Code, counts: Counts) -> dict[int, tuple[int, int]]:
    """Source line -> (warp instructions, thread instructions)."""
    out: dict[int, tuple[int, int]] = {}
    for block, warps, lanes in _blocks(code, counts):
        for line, n in Counter(i.line for i in block.instrs).items():
            was = out.get(line, (0, 0))
            out[line] = (was[0] + n * warps, was[1] + n * lanes)
    return dict(sorted(out.items()))


def path_instructions(code: Code, paths: Iterable[CtaPath]) -> list[int]:
    """Warp instructions of each CTA."""
    sizes = [len(block.instrs) for block in code.blocks]
    return [sum(sizes[b] for warp in path.warps for b in warp.blocks) for path in paths]


def thread_instructions(code: Code, counts: Counts) -> int:
    """Active lanes, summed over the instructions."""
    return sum(lanes * len(block.instrs) for block, _, lanes in _blocks(code, counts))


def warp_instructions(code: Code, counts: Counts) -> int:
    """Instructions of warps."""
    return sum(warps * len(block.instrs) for block, warps, _ in _blocks(code, counts))
