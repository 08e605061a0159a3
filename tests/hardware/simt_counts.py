"""Executed warp instructions of every measured SIMT kernel against Nsight's, with the rows that are farthest off first.

Run it as a program: `python tests/hardware/simt_counts.py counters.json [case ids]`. A launch is sampled (a few CTAs), because the CTAs of these kernels
are alike up to their data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

import numpy as np

from gpusim.interp.simt.execute import execute
from gpusim.launch.simt.args import describe, facts
from gpusim.lower.simt import lower
from gpusim.lower.simt.code import Code
from gpusim.lower.simt.mnemonics import MNEMONICS
from gpusim.validate.cases import Case, read
from gpusim.validate.simt.launches import is_measured_launch, launch_of

PIPES = {"alu": ("alu",), "fma": ("fma", "fmaheavy"), "lsu": ("lsu",)}
BRANCHES = ("BRA", "EXIT", "BSYNC")
WARP_SIZE = 32


@dataclass(frozen=True, slots=True)
class Row:
    """One case. simulated and measured: "all", a pipe, "branch" -> instructions per warp; "active" -> lanes per instruction."""

    id: str
    simulated: dict[str, float]
    measured: dict[str, float]
    registers: tuple[int, int]
    seconds: float

    @property
    def error(self) -> float:
        return self.simulated["all"] / self.measured["all"] - 1


def lowered(case: Case) -> tuple[Code, Any, list[Any]]:
    """The code of a case, its geometry, its arguments with arrays of zeros where values do not matter."""
    launch = launch_of(case)
    args = [np.zeros(a.shape, _dtype(a.dtype)) if hasattr(a, "dtype") and not isinstance(a, (np.ndarray, np.generic)) else a for a in launch.args]
    program = launch.kernel.program_for(describe(args))
    return lower(program, facts(program, launch.geometry, args)), launch.geometry, args


def compare(case: Case, counters: dict[str, Any]) -> Row:
    """`case` simulated on a sample of its CTAs (more where data decides); `counters`: of its one launch."""
    begin = time.perf_counter()
    code, geometry, args = lowered(case)
    ctas = 512 if case.family in ("divergence", "spmv") else 12
    sample = np.sort(np.random.default_rng(0).choice(geometry.ctas, min(ctas, geometry.ctas), replace=False))
    done = execute(code, geometry, args, ctas=sample, sanitize=False).counts
    warps = len(sample) * geometry.warps
    total = dict.fromkeys(("all", "branch", *PIPES), 0.0)
    lanes = 0.0
    for block in code.blocks:
        n, syncs = float(done.warps[block.id]), sum(row.op == "BSYNC" for row in block.instrs)
        alone = syncs * (float(done.arrivals[block.id]) - n)  # lanes that come one group after the other execute BSYNC apart
        total["all"] += n * len(block.instrs) + alone
        lanes += float(done.lanes[block.id]) * len(block.instrs)
        total["branch"] += n * sum(row.op in BRANCHES for row in block.instrs) + alone
        for name, pipes in PIPES.items():
            total[name] += n * sum(MNEMONICS[row.op][0] in pipes for row in block.instrs)
    simulated = {k: v / warps for k, v in total.items()} | {"active": lanes / max(1.0, total["all"])}
    return Row(case.id, simulated, measured(counters, geometry), (code.registers, int(counters["launch__registers_per_thread"])), time.perf_counter() - begin)


def measured(counters: dict[str, Any], geometry: Any) -> dict[str, float]:
    warps = geometry.ctas * geometry.warps
    names = {"all": "", "branch": "_op_branch", **{name: f"_pipe_{name}" for name in PIPES}}
    found = {k: counters.get(f"smsp__inst_executed{n}.sum", 0.0) / warps for k, n in names.items()}
    return found | {"active": counters["smsp__thread_inst_executed.sum"] / counters["smsp__inst_executed.sum"]}


def table(rows: Sequence[Row]) -> str:
    lines = []
    for row in sorted(rows, key=lambda r: -abs(r.error)):
        parts = " ".join(f"{k} {row.simulated[k]:.1f}/{row.measured[k]:.1f}" for k in row.simulated)
        lines.append(f"{row.id:34s} {100 * row.error:+6.1f} % {parts} regs {row.registers[0]}/{row.registers[1]} {row.seconds:.1f} s")
    errors = [r.error for r in rows]
    lines.append(f"{len(rows)} cases: median {median(map(abs, errors)):.3f} mean {mean(errors):+.3f} worst {max(map(abs, errors)):.3f}")
    return "\n".join(lines)


def _dtype(name: Any) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def cases(path: str) -> list[tuple[Case, dict[str, Any]]]:
    """The profiled cases of one launch whose kernel is in the library."""
    found = [c for c in read(path) if c.group == "simt" and len(c.record.get("launches", ())) == 1]
    return [(c, c.record["launches"][0]) for c in found if is_measured_launch(c)]


def main(path: str, wanted: Sequence[str], most: int = 1 << 24) -> None:
    """Compare the wanted cases (all by default, but for arrays of more than `most` elements)."""
    rows = []
    for case, counters in cases(path):
        size = max((float(v) for k, v in case.params.items() if k in ("n", "rows")), default=0)
        if case.id in wanted or not wanted and size <= most:
            rows.append(compare(case, counters))
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
