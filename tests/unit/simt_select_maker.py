"""Programs of threads for tests of selection, statement by statement."""

from __future__ import annotations

from typing import Any

from gpusim.ir.simt.nodes import Arg, Buffer, Imm, Load, Op, Param, Reg, SimtProgram, Stmt, Store, Value
from gpusim.lower.simt import cfg
from gpusim.lower.simt.code import Code
from gpusim.lower.simt.select import select
from gpusim.lower.simt.vectorise import vectorise


class Maker:
    """Programs by hand: registers, arguments and arrays are numbered here."""

    def __init__(self) -> None:
        self.count = 0
        self.params: list[Param] = []
        self.buffers: list[Buffer] = []
        self.args: list[Arg] = []
        self.body: list[Stmt] = []

    def reg(self, dtype: str = "int32", name: str = "") -> Reg:
        self.count += 1
        return Reg(self.count - 1, dtype, name)

    def param(self, dtype: str = "int32") -> Reg:
        reg = self.reg(dtype)
        self.args.append(Arg(f"p{len(self.args)}", dtype))
        self.params.append(Param(reg, len(self.args) - 1, "value"))
        return reg

    def buffer(self, dtype: str = "float32", shared: int = 0, offset: int = 0) -> Buffer:
        number = len(self.buffers)
        if shared:
            made = Buffer(number, f"s{number}", "shared", dtype, (shared,), None, offset)
        else:
            self.args.append(Arg(f"a{len(self.args)}", dtype, 1))
            made = Buffer(number, f"a{number}", "global", dtype, None, len(self.args) - 1)
        self.buffers.append(made)
        return made

    def op(self, name: str, *args: Value, body: list[Stmt] | None = None, dst: Reg | None = None, dtype: str = "") -> Reg:
        plain = args[0].dtype if args else "int32"
        dst = dst or self.reg(dtype or ("bool" if name in ("lt", "le", "gt", "ge", "eq", "ne") else plain))
        (self.body if body is None else body).append(Op(dst, name, args))
        return dst

    def load(self, buffer: Buffer, index: Value, body: list[Stmt] | None = None) -> Reg:
        dst = self.reg(buffer.dtype)
        (self.body if body is None else body).append(Load((dst,), buffer, index))
        return dst

    def store(self, buffer: Buffer, index: Value, value: Value, body: list[Stmt] | None = None) -> None:
        (self.body if body is None else body).append(Store(buffer, index, (value,)))

    def grid(self) -> Reg:
        return self.op("add", self.op("mul", self.op("ctaid.x"), self.op("ntid.x")), self.op("tid.x"))

    def program(self, **extra: Any) -> SimtProgram:
        return SimtProgram("k", tuple(self.args), tuple(self.params), tuple(self.buffers), tuple(self.body), self.count, **extra)

    def select(self, **extra: Any) -> Code:
        return select(vectorise(cfg.build(self.program(**extra))))


def f32(value: float) -> Imm:
    return Imm(value, "float32")


def i32(value: int) -> Imm:
    return Imm(value, "int32")
