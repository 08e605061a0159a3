"""The state of one translation: what was emitted so far, and the function being read. Only this object is changed on the way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gpusim.frontend.folding import converted, fold
from gpusim.frontend.operands import Bound, Conflict, Env, Extent, Operand, Scalar, described, is_complex
from gpusim.frontend.refusals import refuse
from gpusim.frontend.source import Source
from gpusim.frontend.typing import UNSIGNED
from gpusim.ir.simt.nodes import Arg, Buffer, Imm, Op, Param, Reg, Stmt, Value

Key = tuple[Any, ...]


@dataclass(slots=True)
class LoopEdges:
    """What is known of the variables at the edges of a loop. `header`: what each stands for there. `wider`: what has to change there
    because an edge brings another type. `assigned`: names the loop gives values. `flag`: variable set by break, for a loop's else."""

    header: Env
    assigned: frozenset[str]
    wider: Env = field(default_factory=dict)
    late: dict[str, Bound] = field(default_factory=dict)
    guessed: bool = False
    broken: bool = False
    flag: str = ""


@dataclass(slots=True)
class Frame:
    """One function being translated: the kernel, or a device function at one place of its use (`path`)."""

    source: Source
    path: Key
    locals: frozenset[str]
    env: Env = field(default_factory=dict)
    live: bool = True
    inlined: bool = False
    flagged: bool = False
    loops: list[LoopEdges] = field(default_factory=list)
    call_line: int = 0


@dataclass(slots=True)
class Context:
    args: tuple[Arg, ...]
    frame: Frame
    evaluate: Callable[[Context, ast.expr], Operand]
    block: Callable[[Context, list[ast.stmt]], None]
    dynamic_offset: int = 0
    out: list[Stmt] = field(default_factory=list)
    next_register: int = 0
    variables: dict[Key, Reg] = field(default_factory=dict)
    params: dict[tuple[int, str], Param] = field(default_factory=dict)
    buffers: dict[Key, Buffer] = field(default_factory=dict)
    shared_bytes: int = 0
    local_bytes: int = 0
    headers: dict[Key, Env] = field(default_factory=dict)
    line: int = 0
    wanted_name: str = ""
    files: dict[str, tuple[int, int]] = field(default_factory=dict)

    # --- emission
    def emit(self, stmt: Stmt) -> None:
        if self.frame.live:
            self.out.append(stmt)

    def temp(self, dtype: str) -> Reg:
        self.next_register += 1
        return Reg(self.next_register - 1, dtype)

    def variable(self, name: str, dtype: str) -> Reg:
        """The register of a user's variable while it has this type."""
        key = (self.frame.path, name, dtype)
        if key not in self.variables:
            self.next_register += 1
            self.variables[key] = Reg(self.next_register - 1, dtype, name)
        return self.variables[key]

    def op(self, name: str, args: tuple[Value, ...], dtype: str) -> Value:
        """Emit dst = name(args); constants are folded."""
        if args and all(isinstance(a, Imm) for a in args):
            done = fold(name, tuple(a for a in args if isinstance(a, Imm)), dtype)
            if done is not None:
                return done
        dst = self.temp(dtype)
        self.emit(Op(dst, name, args, self.line))
        return dst

    def cast(self, value: Value, dtype: str) -> Value:
        """`value` as another type."""
        if value.dtype == dtype:
            return value
        if isinstance(value, Imm):
            done = converted(value, dtype)
            if done is not None:
                return done
        if dtype == "bool":
            return self.op("ne", (value, Imm(0.0 if "float" in value.dtype else 0, value.dtype)), "bool")
        return self.op("cvt", (value,), dtype)

    def move(self, dst: Reg, value: Value) -> None:
        """dst = value in dst's type. A result that was just computed goes to dst directly."""
        value = self.cast(value, dst.dtype)
        if value == dst:
            return
        last = self.out[-1] if self.out else None
        if isinstance(value, Reg) and not value.name and isinstance(last, Op) and last.dst == value and self.frame.live:
            self.out[-1] = Op(dst, last.op, last.args, last.line)
        else:
            self.emit(Op(dst, "mov", (value,), self.line))

    @contextmanager
    def collect(self) -> Iterator[list[Stmt]]:
        """Statements emitted inside go to the list."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    # --- names and values
    def extent(self, extent: int | Extent | Value) -> Value:
        """A size or stride as a value; parameters are declared when they are first used."""
        if isinstance(extent, Reg | Imm):
            return extent
        return Imm(extent, "int64") if isinstance(extent, int) else self.param(extent.arg, extent.what, "int64")

    def param(self, arg: int, what: str, dtype: str) -> Reg:
        if (arg, what) not in self.params:
            name = self.args[arg].name if what == "value" else f"{self.args[arg].name}.{what}"
            self.next_register += 1
            self.params[arg, what] = Param(Reg(self.next_register - 1, dtype, name), arg, what)
        return self.params[arg, what].reg

    def scalar(self, operand: Operand, node: ast.AST, role: str = "") -> Scalar:
        """The operand as a number, or a refusal that says what it is."""
        if isinstance(operand, Scalar):
            return operand
        if isinstance(operand, Conflict):
            self.conflict(operand, node)
        kind, hint = ("real number", "Take a part of it: z.real, z.imag, abs(z).") if is_complex(operand) else ("number", "")
        self.refuse(node, f"{role or 'This'} is a {described(operand)}, but a {kind} is needed here.", hint)

    def conflict(self, operand: Conflict, node: ast.AST) -> NoReturn:
        what = f"The variable is a {operand.first} (line {operand.first_line}) on one path and a {operand.second} (line {operand.second_line}) on another."
        self.refuse(node, what, "Use two variables, one for each.")

    def refuse(self, node: ast.AST, what: str, hint: str = "") -> NoReturn:
        refuse(self.frame.source, node, what, hint)

    def at(self, node: ast.AST) -> None:
        """Statements emitted from here on carry the line of `node` (of the call, for a function of another file)."""
        self.line = self.frame.call_line or self.frame.source.line_of(node)

    def touch_source(self, source: Source) -> None:
        """Note the lines of a file that the program comes from."""
        first, last = self.files.get(source.file, (source.first, source.last))
        self.files[source.file] = (min(first, source.first), max(last, source.last))


def is_nonneg(scalar: Scalar) -> bool:
    """Whether the number is known not to be negative."""
    if isinstance(scalar.value, Imm):
        return scalar.value.value >= 0
    return scalar.nonneg or scalar.dtype in UNSIGNED or scalar.dtype == "bool"
