"""SIMT code and paths made by hand: the launch and the report are tested without front end, lowering and interpreter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Arg, Barrier, Buffer, Geometry, Imm, Op, Reg, SimtProgram
from gpusim.launch.simt.prepare import Ready, ready
from gpusim.lower.simt.code import Access, Block, Branch, Code, Exit, Instr
from gpusim.spec.load import load_spec
from gpusim.trace.simt import Counts, CtaPath, Touch, WarpPath

FULL = 0xFFFFFFFF
SPEC = "h200"
TRUE = Imm(True, "bool")

SOURCE = (
    "@cuda.jit",
    "def ways(x, y):",
    "    i = cuda.grid(1)",
    "    if x[i] > 0:",
    "        y[i] = costly(x[i])",
    "    else:",
    "        y[i] = 0.0",
    "    tail(y)",
)
PROGRAM = SimtProgram(
    name="ways",
    args=(Arg("x", "float32", 1), Arg("y", "float32", 1)),
    params=(),
    buffers=(Buffer(0, "x", "global", "float32", arg=0), Buffer(1, "y", "global", "float32", arg=1)),
    body=(),
    registers=8,
    file="ways.py",
    first_line=10,
    source=SOURCE,
)


def instrs(line: int, *ops: str) -> tuple[Instr, ...]:
    """A chain: every instruction reads the result of the one before."""
    return tuple(Instr(op, (i + 1,), (i,), line) for i, op in enumerate(ops))


def ways_code() -> Code:
    """Block 0 loads and branches; 1 costly, 2 cheap; 3 meets, stores and ends."""
    load = Instr("LDG", (3,), (2,), 13, access=0)
    store = Instr("STG", (), (3,), 17, access=1)
    blocks = (
        Block(0, (), Branch(TRUE, 1, 2, 13), (0,), (*instrs(12, "S2R", "IMAD"), load, Instr("FSETP", (4,), (3,), 13), Instr("BRA", (), (4,), 13)), 12),
        Block(1, (), Exit_to(3), (), instrs(14, *["FFMA"] * 12), 14),
        Block(2, (), Exit_to(3), (), instrs(16, "MOV"), 16),
        Block(3, (), Exit(), (1,), (store, Instr("EXIT", line=17)), 17),
    )
    accesses = (Access("load", "global", "x", 4, 0, 13), Access("store", "global", "y", 4, 3, 17))
    return Code(PROGRAM, blocks, accesses, machine_registers=16, registers=32)


def Exit_to(block: int) -> Any:
    from gpusim.lower.simt.code import Jump

    return Jump(block)


def ways_path(cta: int, warps: int, mask: int = 0x0000FFFF) -> CtaPath:
    """Lanes of `mask` take the costly side, the others the cheap one."""
    out = []
    for w in range(warps):
        first = (cta * warps + w) * 4
        touch = Touch(0, 32, tuple(range(first, first + 4)))
        stored = Touch(1, 32, tuple(range(1 << 20 | first, (1 << 20 | first) + 4)))
        steps = [(0, FULL, (touch,)), *((b, m, ()) for b, m in ((1, mask), (2, ~mask & FULL)) if m), (3, FULL, (stored,))]
        out.append(WarpPath([s[0] for s in steps], [s[1] for s in steps], [s[2] for s in steps]))
    return CtaPath(cta, out)


def loop_code(barrier: bool = False) -> Code:
    """Block 0 begins, 1 is a loop (with a barrier if asked), 2 ends."""
    meet = (Barrier("cta", line=14),) if barrier else ()
    body = (*instrs(13, "FFMA", "FFMA", "IADD3"), *((Instr("BAR", line=14),) if barrier else ()), Instr("ISETP", (6,), (3,), 15), Instr("BRA", (), (6,), 15))
    blocks = (
        Block(0, (), Exit_to(1), (), instrs(12, "S2R", "IMAD"), 12),
        Block(1, meet, Branch(TRUE, 1, 2, 15), (), body, 13),
        Block(2, (Op(Reg(7, "int32"), "mov", (Imm(0, "int32"),)),), Exit(), (), (*instrs(16, "MOV"), Instr("EXIT", line=16)), 16),
    )
    return Code(PROGRAM, blocks, (), machine_registers=16, registers=32)


def loop_path(cta: int, trips: list[int]) -> CtaPath:
    """Warp w runs the loop trips[w] times."""
    return CtaPath(cta, [WarpPath([0, *[1] * n, 2], [FULL] * (n + 2), [()] * (n + 2)) for n in trips])


def counts_of(code: Code, paths: list[CtaPath]) -> Counts:
    """What the value pass counts while it makes these paths."""
    out = Counts.zero(len(code.blocks), len(code.accesses))
    for warp in (w for p in paths for w in p.warps):
        for block, mask, touches in zip(warp.blocks, warp.masks, warp.touches, strict=True):
            out.warps[block] += 1
            out.lanes[block] += mask.bit_count()
            for t in touches:
                out.requests[t.access] += 1
                out.sectors[t.access] += len(t.sectors)
                out.wavefronts[t.access] += t.wavefronts
                out.lines[t.access] += len({s >> 2 for s in t.sectors})
    return out


def made_ready(code: Code, ctas: int, threads: int) -> Ready:
    geometry = Geometry((ctas, 1, 1), (threads, 1, 1))
    return ready(code, LaunchFacts(geometry), geometry, load_spec(SPEC), None, None)


def made_args(ctas: int, threads: int) -> list[np.ndarray]:
    return [np.zeros(ctas * threads, np.float32) for _ in range(2)]


def executed(code: Code, paths: list[CtaPath], record: Any = None) -> Any:
    kept = {p.cta: p for p in paths if record is None or p.cta in record}
    return SimpleNamespace(counts=counts_of(code, paths), paths=kept, notes=(), printed="")
