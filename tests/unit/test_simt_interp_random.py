"""Random structured programs: the batched interpreter against one lane after the other in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel

REGS = 4
CTAS = 3
WRAP = 1 << 32
OPS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "xor": lambda a, b: a ^ b,
    "min": min,
    "max": max,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "mod": lambda a, b: a % b if b else 0,
    "mov": lambda a: a,
}


def wrapped(x: int) -> int:
    return (x + WRAP // 2) % WRAP - WRAP // 2


class Lane:
    """One thread: runs the tree of statements. Memory is shared by all lanes."""

    def __init__(self, memory: list[int], **coordinates: int) -> None:
        self.memory, self.coordinates = memory, coordinates
        self.values: dict[int, int] = {}

    def get(self, value: n.Value) -> int:
        return int(value.value) if isinstance(value, n.Imm) else self.values.get(value.id, 0)

    def run(self, body: tuple[Any, ...]) -> str:
        for stmt in body:
            how = getattr(self, type(stmt).__name__.lower())(stmt)
            if how:
                return how
        return ""

    def op(self, stmt: n.Op) -> str:
        args = [self.get(a) for a in stmt.args]
        self.values[stmt.dst.id] = self.coordinates[stmt.op[:-2]] if not args else wrapped(int(OPS[stmt.op](*args)))
        return ""

    def load(self, stmt: n.Load) -> str:
        self.values[stmt.dst[0].id] = self.memory[self.get(stmt.index)]
        return ""

    def store(self, stmt: n.Store) -> str:
        self.memory[self.get(stmt.index)] = self.get(stmt.values[0])
        return ""

    def if_(self, stmt: n.If) -> str:
        return self.run(stmt.then if self.get(stmt.cond) else stmt.orelse)

    def for_(self, stmt: n.For) -> str:
        for i in range(self.get(stmt.start), self.get(stmt.stop), self.get(stmt.step)):
            self.values[stmt.var.id] = i
            how = self.run(stmt.body)
            if how == "break":
                break
            if how == "return":
                return how
        return ""

    def __getattr__(self, name: str) -> Any:
        if name in ("if", "for"):
            return getattr(self, name + "_")
        return lambda stmt: name


@st.composite
def programs(draw: st.DrawFn) -> Kernel:
    k = Kernel()
    memory = k.array("memory", "int32")
    tid, cta = k.op("tid.x"), k.op("ctaid.x")
    regs = [k.op("mov", k.imm(3 * i + 1)) for i in range(REGS)]
    regs[0] = k.op("add", tid, 0)
    regs[1] = k.op("add", cta, 5)
    base = k.op("mul", k.op("add", k.op("mul", cta, k.op("ntid.x")), tid), 8)

    def value() -> Any:
        return draw(st.sampled_from(regs + [k.imm(j) for j in (0, 1, 2, 5, -3)]))

    def straight(depth: int, inside: str) -> None:
        kind = draw(st.sampled_from(("op", "op", "op", "load", "store")))
        if kind == "op":
            k.op(draw(st.sampled_from(("add", "sub", "mul", "xor", "min", "max"))), value(), value(), to=draw(st.sampled_from(regs)), dtype="int32")
        elif kind == "load":
            dst = k.load(memory, k.op("add", base, draw(st.integers(0, 7))))
            k.op("mov", dst, to=draw(st.sampled_from(regs)))
        else:
            k.store(memory, k.op("add", base, draw(st.integers(0, 7))), draw(st.sampled_from(regs)))

    def branch(depth: int, inside: str) -> None:
        cond = k.op(draw(st.sampled_from(("lt", "eq"))), k.op("mod", draw(st.sampled_from(regs)), draw(st.integers(2, 5))), draw(st.integers(0, 3)))
        predicated = draw(st.booleans()) and depth > 0
        deeper = "predicated" if predicated else inside
        with k.when(cond, predicated):
            statements(depth + 1, deeper)
        if draw(st.booleans()):
            with k.otherwise():
                statements(depth + 1, deeper)

    def loop(depth: int, inside: str) -> None:
        trips = k.op("mod", draw(st.sampled_from(regs)), draw(st.integers(1, 6)))
        with k.loop(k.reg(), trips):
            statements(depth + 1, "loop")

    def leave(depth: int, inside: str) -> None:
        with k.when(k.op("eq", k.op("mod", draw(st.sampled_from(regs)), draw(st.integers(2, 4))), 1)):
            k.add(draw(st.sampled_from((n.Break, n.Continue, n.Return) if inside == "loop" else (n.Return,))))

    def statements(depth: int, inside: str) -> None:
        for _ in range(draw(st.integers(1, 4 if depth < 3 else 2))):
            choices = [straight, straight]
            if depth < 3:
                choices += [branch] if inside == "predicated" else [branch, loop, leave]
            draw(st.sampled_from(choices))(depth, inside)

    statements(0, "")
    statements(0, "")
    for j, reg in enumerate(regs):
        k.store(memory, k.op("add", base, j), reg)
    return k


@pytest.mark.parametrize("threads", [32, 50])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(kernel=programs())
def test_lanes_do_what_a_lane_alone_does(threads: int, kernel: Kernel) -> None:
    before = (np.arange(CTAS * threads * 8) * 7 % 23).astype(np.int32)
    got, want = before.copy(), before.tolist()
    kernel.run(CTAS, threads, got)
    for lane in range(CTAS * threads):
        Lane(want, ctaid=lane // threads, tid=lane % threads, ntid=threads).run(kernel.program().body)
    assert got.tolist() == want
