"""The order of issue inside a block: a list scheduler, longest way to the end first, as compilers hoist loads.

An instruction moves ahead of a limited number of others: a compiler that hoists further runs out of registers. Latencies only rank
instructions here; the cost table of the machine is elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpusim.lower.simt.code import Instr
from gpusim.lower.simt.mnemonics import MATRIX, WARPGROUP

#: how far instructions may move ahead, loads of global memory and what their addresses need farther: from the order that hides most latency
#: to the one that needs fewest registers
REACHES = ((24, 96), (12, 48), (8, 48), (4, 48))

#: what else a compiler tries that knows how many threads a CTA has, and so what one more of them needs. Evidence: registers of the compiled row kernels
#: (counters.json) are just below what lets another CTA be resident: 34 and 40 of layernorm, 32 of sig_bwd, where all loads together need 58 and 45
CLOSE = ((4, 16), (4, 8))

_LATENCY = {
    "LDG": 60, "LDL": 60, "ATOMG": 60, "LDS": 24, "LDSM": 30, "ATOMS": 30, "ATOMS.CAS": 40, "ATOMS.CAST.SPIN": 40, "SHFL": 24, "LDC": 12,
    "S2R": 20, "S2UR": 20, "S2R.CTAID": 20, "I2F": 16, "F2I": 16, "POPC": 16, "FLO": 16, "DADD": 12, "DMUL": 12, "DFMA": 12, "BAR": 1, "ULDC": 3,
}  # fmt: skip
_FENCES = frozenset(
    "BAR BAR.RED BAR.GRID NOP WARPSYNC MEMBAR MEMBAR.SYS ERRBAR CCTL LDGDEPBAR DEPBAR BSYNC WARPGROUP.ARRIVE WARPGROUP.DEPBAR FENCE.ASYNC UBLKCP CGAERRBAR "
    "SYNCS.EXCH SYNCS.ARRIVE SYNCS.PHASECHK UCGABAR_ARV UCGABAR_WAIT".split()
)
#: of these, what only memory accesses and other fences keep their side of
_LOOSE = frozenset(("NOP", "MEMBAR", "MEMBAR.SYS", "ERRBAR", "CCTL", "WARPGROUP.ARRIVE", "WARPGROUP.DEPBAR"))
_READS = frozenset("LDG LDS LDL LDSM LD".split())
_WRITES = frozenset(("STG", "STS", "STL", "RED", "ATOMG", "ATOMS", "ATOMS.CAS", "ATOMS.CAST.SPIN", "ATOMS.POPC", "LDGSTS", "ST", "ATOM", *WARPGROUP))
_MEMORY = _READS | _WRITES
_SPACE = {
    "LDG": "g", "STG": "g", "RED": "g", "ATOMG": "g", "LDS": "s", "STS": "s", "ATOMS": "s", "ATOMS.CAS": "s", "ATOMS.CAST.SPIN": "s", "ATOMS.POPC": "s",
    "LDSM": "s", "LDGSTS": "s", "LDL": "l", "STL": "l", "LD": "s", "ST": "s", "ATOM": "s", **dict.fromkeys(WARPGROUP, "s"),
}  # fmt: skip


def latency(op: str) -> int:
    if op in MATRIX:
        return 20
    return _LATENCY.get(op, 18 if op.startswith("MUFU") else 4)


def schedule(rows: Sequence[Instr], reach: tuple[int, int] = REACHES[0], apart: Mapping[int, str] | None = None) -> list[Instr]:
    """`rows` in the order of issue; reach: one of `REACHES`. Keeps dependencies through registers and memory, and everything on its side of a barrier.

    apart: number of an Access to global memory -> name of an array that no other one overlaps; other accesses may be to the same memory.
    """
    if len(rows) < 3:
        return list(rows)
    succ, waits = _dependences(rows, apart or {})
    height = [0] * len(rows)
    for i in reversed(range(len(rows))):
        height[i] = latency(rows[i].op) + max((height[j] for j in succ[i]), default=0)
    ahead = _ahead(rows, succ, *reach)
    free = [0] * len(rows)
    ready = [i for i in range(len(rows)) if not waits[i]]
    order: list[Instr] = []
    done = [False] * len(rows)
    clock = oldest = 0
    while ready:
        near = [i for i in ready if i < oldest + ahead[i]] or [min(ready)]
        chosen = min(near, key=lambda i: (max(free[i] - clock, 0), -height[i], i))
        clock = max(clock, free[chosen]) + 1
        ready.remove(chosen)
        done[chosen] = True
        order.append(rows[chosen])
        while oldest < len(rows) and done[oldest]:
            oldest += 1
        for j in succ[chosen]:
            free[j] = max(free[j], clock - 1 + latency(rows[chosen].op))
            waits[j] -= 1
            if not waits[j]:
                ready.append(j)
    return order


def _ahead(rows: Sequence[Instr], succ: Sequence[set[int]], near: int, far: int) -> list[int]:
    """How far each instruction may move ahead."""
    ahead = [near] * len(rows)
    for i in reversed(range(len(rows))):
        if rows[i].op == "LDG" or any(ahead[j] > near for j in succ[i]):
            ahead[i] = far
    return ahead


def _dependences(rows: Sequence[Instr], apart: Mapping[int, str]) -> tuple[list[set[int]], list[int]]:
    succ: list[set[int]] = [set() for _ in rows]
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    touched: dict[str, list[int]] = {}
    fence = -1
    for i, row in enumerate(rows):
        before = {writer[r] for r in (*row.srcs, *row.dst) if r in writer}
        before.update(j for r in row.dst for j in readers.get(r, ()))
        if row.op in _FENCES:
            before.update(range(fence + 1, i) if row.op not in _LOOSE else (j for j in range(fence + 1, i) if rows[j].op in _MEMORY))
        if fence >= 0 and (row.op in _MEMORY or row.op in _FENCES or rows[fence].op not in _LOOSE):
            before.add(fence)
        space = _SPACE.get(row.op)
        if space == "g" and row.access is not None and row.access in apart:
            space = f"g {apart[row.access]}"
        if space:
            before.update(j for j in touched.get(space, ()) if row.op in _WRITES or rows[j].op in _WRITES)
            touched.setdefault(space, []).append(i)
        for j in before - {i}:
            succ[j].add(i)
        for r in row.srcs:
            readers.setdefault(r, []).append(i)
        for r in row.dst:
            writer[r], readers[r] = i, []
        if row.op in _FENCES:
            fence, touched = i, {}
    waits = [0] * len(rows)
    for targets in succ:
        for j in targets:
            waits[j] += 1
    return succ, waits
