"""Random small SIMT programs, and two slow executors, one thread after the other: of statements and of blocks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import (
    Arg,
    Break,
    Buffer,
    Continue,
    For,
    If,
    Imm,
    Load,
    Op,
    Param,
    Reg,
    Return,
    SimtProgram,
    Stmt,
    Store,
    Value,
    While,
)
from gpusim.lower.simt.code import Branch, Code, Jump
from tests.unit.simt_threads import GEOMETRY, Left, Thread, rounded, wrapped


def _fresh_memory(program: SimtProgram, seed: int) -> dict[str, list[Any]]:
    memory: dict[str, list[Any]] = {}
    for b in program.buffers:
        rng = random.Random(f"{seed} {b.name}")
        size = 16
        integer = [wrapped(rng.choice([rng.randrange(-9, 9), rng.randrange(-(1 << 31), 1 << 31)]), b.dtype) for _ in range(size)] if "int" in b.dtype else []
        memory[b.name] = integer or [rounded(rng.uniform(-4, 4), b.dtype) for _ in range(size)]
    return memory


def _threads(program: SimtProgram, params: dict[tuple[int, str], Any], seed: int, go: Callable[[Thread], None]) -> tuple[dict[str, list[Any]], list[Thread]]:
    memory = _fresh_memory(program, seed)
    threads = []
    for cta in range(GEOMETRY.grid[0]):
        for tid in range(GEOMETRY.block[0]):
            local = {b.name: [0] * len(memory[b.name]) for b in program.buffers if b.space == "local"}
            thread = Thread(tid, cta, memory | local)
            for p in program.params:
                thread.assign(p.reg, params[p.arg, p.what])
            go(thread)
            threads.append(thread)
    seen = {b.name for b in program.buffers if b.space != "local"}
    return {name: [repr(v) for v in data] for name, data in memory.items() if name in seen}, threads


def run_program(program: SimtProgram, params: dict[tuple[int, str], Any], seed: int = 0) -> tuple[dict[str, list[Any]], list[Thread]]:
    """Memory (as text, so that -0.0 is not 0.0) and the threads after the program."""

    def go(thread: Thread) -> None:
        try:
            thread.run(program.body)
        except Left as left:
            assert left.args[0] == "Return"

    return _threads(program, params, seed, go)


def run_code(code: Code, params: dict[tuple[int, str], Any], seed: int = 0) -> tuple[dict[str, list[Any]], list[Thread]]:
    """The same by blocks."""

    def go(thread: Thread) -> None:
        at: int | None = 0
        while at is not None:
            block = code.blocks[at]
            thread.run(block.ops)
            end = block.end
            if isinstance(end, Branch):
                at = end.yes if thread.value(end.cond) else end.no
            else:
                at = end.to if isinstance(end, Jump) else None

    return _threads(code.program, params, seed, go)


@dataclass
class Maker:
    """A random program in the form the front end gives: every intermediate in a fresh register, variables assigned by mov."""

    rng: random.Random
    count: int = 0
    loops: int = 0
    line: int = 1

    def __post_init__(self) -> None:
        self.out = Buffer(0, "out", "global", "int32", None, 0)
        self.data = Buffer(1, "data", "global", "int32", None, 1)
        self.tile = Buffer(2, "tile", "shared", "int32", (16,))
        self.own = Buffer(3, "own", "local", "int32", (16,))
        self.real = Buffer(4, "real", "global", "float32", None, 2)
        types = ["int32", "int32", "int64", "int64", "uint32", "float32", "bool", "int64"]
        self.params = (Param(self.reg("int32", "n"), 3, "value"), Param(self.reg("int64", "m"), 4, "value"))
        self.variables = [self.reg(t, f"v{i}") for i, t in enumerate(types)] + [p.reg for p in self.params]

    def reg(self, dtype: str, name: str = "") -> Reg:
        self.count += 1
        return Reg(self.count - 1, dtype, name)

    def op(self, into: list[Stmt], dtype: str, op: str, *args: Value) -> Reg:
        dst = self.reg(dtype)
        into.append(Op(dst, op, args, self.line))
        return dst

    def expr(self, into: list[Stmt], dtype: str, depth: int = 2) -> Value:
        pick = self.rng.random()
        same = [v for v in self.variables if v.dtype == dtype]
        if depth == 0 or pick < 0.25:
            return self.rng.choice(same) if same and self.rng.random() < 0.7 else self.constant(dtype)
        if dtype == "bool":
            return self.condition(into, depth)
        if pick < 0.35:
            return self.op(into, dtype, "select", self.expr(into, "bool", depth - 1), self.expr(into, dtype, depth - 1), self.expr(into, dtype, depth - 1))
        if dtype == "float32":
            if pick < 0.45:
                return self.load(into, self.real, depth)
            x, y = self.expr(into, dtype, depth - 1), self.expr(into, dtype, depth - 1)
            return self.op(into, dtype, self.rng.choice(["add", "sub", "mul"]), x, y)
        return self.integer(into, dtype, depth)

    def integer(self, into: list[Stmt], dtype: str, depth: int) -> Value:
        pick = self.rng.random()
        if pick < 0.25:
            other = self.rng.choice([t for t in ("int32", "int64", "uint32", "bool") if t != dtype])
            return self.op(into, dtype, "cvt", self.expr(into, other, depth - 1))
        if pick < 0.35 and dtype == "int32":
            return self.load(into, self.rng.choice([self.out, self.data, self.tile, self.own]), depth)
        if pick < 0.45:
            place = self.op(into, "int32", self.rng.choice(["tid.x", "ctaid.x", "ntid.x"]))
            return place if dtype == "int32" else self.op(into, dtype, "cvt", place)
        x = self.expr(into, dtype, depth - 1)
        if pick < 0.6:
            op = self.rng.choice(["floordiv", "mod", "div", "rem"])
            return self.op(into, dtype, op, x, Imm(self.rng.choice([1, 2, 3, 8, 10]), dtype))
        if pick < 0.7:
            return self.op(into, dtype, self.rng.choice(["shl", "shr"]), x, Imm(self.rng.randrange(5), dtype))
        if pick < 0.75:
            return self.op(into, dtype, self.rng.choice(["neg", "abs", "not"]) if dtype != "uint32" else "not", x)
        y = self.expr(into, dtype, depth - 1)
        return self.op(into, dtype, self.rng.choice(["add", "add", "sub", "mul", "min", "max", "and", "or", "xor"]), x, y)

    def condition(self, into: list[Stmt], depth: int = 1) -> Value:
        if self.rng.random() < 0.2:
            return self.op(into, "bool", self.rng.choice(["and", "or"]), self.condition(into, 1), self.condition(into, 1))
        dtype = self.rng.choice(["int32", "int64", "uint32", "float32"])
        op = self.rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        return self.op(into, "bool", op, self.expr(into, dtype, depth - 1), self.expr(into, dtype, depth - 1))

    def constant(self, dtype: str) -> Imm:
        if dtype == "bool":
            return Imm(self.rng.random() < 0.5, dtype)
        if dtype == "float32":
            return Imm(self.rng.choice([0.0, -0.0, 1.0, 0.5, -2.0]), dtype)
        value = self.rng.choice([0, 1, 2, 3, 4, 7, 100, -1, -5, 2147483647])
        return Imm(wrapped(value, dtype), dtype)

    def index(self, into: list[Stmt], depth: int) -> Value:
        dtype = self.rng.choice(["int32", "int64"])
        if self.rng.random() < 0.5:
            return Imm(self.rng.randrange(16), dtype)
        return self.op(into, dtype, "and", self.expr(into, dtype, depth), Imm(15, dtype))

    def load(self, into: list[Stmt], buffer: Buffer, depth: int = 1) -> Reg:
        at = self.index(into, max(0, depth - 1))
        dst = self.reg(buffer.dtype)
        into.append(Load((dst,), buffer, at, self.line))
        return dst

    def body(self, size: int, depth: int) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for _ in range(self.rng.randrange(1, size + 1)):
            self.line += 1
            self.statement(out, depth)
        return tuple(out)

    def statement(self, out: list[Stmt], depth: int) -> None:
        pick = self.rng.random()
        if pick < 0.45 or depth == 0:
            target = self.rng.choice([v for v in self.variables if v not in [p.reg for p in self.params]])
            out.append(Op(target, "mov", (self.expr(out, target.dtype, 3),), self.line))
        elif pick < 0.6:
            buffer = self.rng.choice([self.out, self.tile, self.own])
            out.append(Store(buffer, self.index(out, 1), (self.expr(out, "int32"),), self.line))
        elif pick < 0.75:
            cond = self.condition(out, 2)
            leave = self.rng.random()
            kinds = ([Break, Continue] if self.loops else []) + [Return]
            tail = (self.rng.choice(kinds)(self.line),) if leave < 0.25 else ()
            orelse = self.body(2, depth - 1) if self.rng.random() < 0.5 else ()
            out.append(If(cond, self.body(3, depth - 1) + tail, orelse, self.line))
        else:
            self.loop(out, depth)

    def loop(self, out: list[Stmt], depth: int) -> None:
        self.loops += 1
        if self.rng.random() < 0.6:
            dtype = self.rng.choice(["int32", "int64"])
            var = self.rng.choice([self.reg(dtype, "k"), *[v for v in self.variables if v.dtype == dtype and v.name.startswith("v")]])
            bound = next(p.reg for p in self.params if p.reg.dtype == dtype)
            start, stop, step = self.rng.choice([(0, 4, 1), (0, 3, 1), (1, bound, 1), (0, bound, 2), (5, 0, -2), (0, 0, 1)])
            stop_value = stop if isinstance(stop, Reg) else Imm(stop, dtype)
            unroll = self.rng.choice([None, 0, 1, 2, 4])
            out.append(For(var, Imm(start, dtype), stop_value, Imm(step, dtype), self.body(3, depth - 1), self.line, unroll))
        else:
            counter = self.reg(self.rng.choice(["int32", "int64"]), "c")
            out.append(Op(counter, "mov", (Imm(0, counter.dtype),), self.line))
            head: list[Stmt] = []
            bound = next(p.reg for p in self.params if p.reg.dtype == counter.dtype)
            cond = self.op(head, "bool", "lt", counter, self.rng.choice([bound, Imm(3, counter.dtype)]))
            step: list[Stmt] = []
            step.append(Op(counter, "mov", (self.op(step, counter.dtype, "add", counter, Imm(1, counter.dtype)),), self.line))
            out.append(While(tuple(head), cond, tuple(step) + self.body(3, depth - 1), self.line))
        self.loops -= 1


PARAMS: dict[tuple[int, str], Any] = {(3, "value"): 3, (4, "value"): 5}
FACTS = LaunchFacts(GEOMETRY, PARAMS)


def random_program(seed: int) -> SimtProgram:
    make = Maker(random.Random(seed))
    first: list[Stmt] = []
    for v in make.variables[: -len(make.params)]:
        start: Value = make.constant(v.dtype)
        if v.dtype == "int32":
            start = make.op(first, "int32", "tid.x")
        first.append(Op(v, "mov", (start,), 1))
    body = first + list(make.body(5, 3))
    for i, v in enumerate(make.variables):
        if v.dtype == "float32":
            continue
        last = v if v.dtype == "int32" else make.op(body, "int32", "cvt", v)
        body.append(Store(make.out, Imm(i, "int32"), (last,), 99))
    args = (Arg("out", "int32", 1), Arg("data", "int32", 1), Arg("real", "float32", 1), Arg("n", "int32"), Arg("m", "int64"))
    buffers = (make.out, make.data, make.tile, make.own, make.real)
    return SimtProgram("random", args, make.params, buffers, tuple(body), make.count, file="random.py")
