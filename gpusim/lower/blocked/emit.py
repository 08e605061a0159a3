"""What collects the statements of one thread: registers, operations, nested bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gpusim.ir.simt.nodes import Arg, Buffer, If, Imm, Op, Param, Reg, Stmt, Value
from gpusim.ir.simt.walk import itemsize

#: types of indices and of what stands in registers
INDEX, INT, BOOL, FLOAT, WORD = "int64", "int32", "bool", "float32", "uint32"


class Later:
    """Something that is emitted when it is first needed, as a compiler puts what has no effect near its use."""

    __slots__ = ("_make", "_made")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def get(self) -> Any:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made


#: an element of a tile: in a register, or not emitted yet
Element = Value | Later


def now(element: Element) -> Value:
    """The register or constant of an element."""
    value: Value = element.get() if isinstance(element, Later) else element
    return value


class Emitter:
    """Statements, registers and arguments of a program of threads that is being made."""

    def __init__(self) -> None:
        self.args: list[Arg] = []
        self.params: list[Param] = []
        self.buffers: list[Buffer] = []
        self.registers = 0
        self.line = 0
        self.shared_bytes = 0
        self._bodies: list[list[Stmt]] = [[]]

    def reg(self, dtype: str, name: str = "") -> Reg:
        self.registers += 1
        return Reg(self.registers - 1, dtype, name)

    def emit(self, stmt: Stmt) -> None:
        self._bodies[-1].append(stmt)

    def op(self, op: str, dtype: str, *args: Value) -> Reg:
        """A fresh register with the result of a pure operation."""
        dst = self.reg(dtype)
        self.emit(Op(dst, op, args, self.line))
        return dst

    def later(self, make: Callable[[], Any]) -> Later:
        """`make` for later, on the line where it stands now."""
        line = self.line

        def there() -> Any:
            self.line, here = line, self.line
            made = make()
            self.line = here
            return made

        return Later(there)

    def cast(self, value: Value, dtype: str) -> Value:
        if value.dtype == dtype:
            return value
        return Imm(int(value.value), dtype) if isinstance(value, Imm) and "int" in dtype else self.op("cvt", dtype, value)

    def add(self, a: Value, b: Value) -> Value:
        """a + b of integers; constants are added up here, and zero adds nothing."""
        if isinstance(a, Imm) and isinstance(b, Imm):
            return Imm(int(a.value) + int(b.value), a.dtype)
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Imm) and not one.value:
                return other
        return self.op("add", a.dtype, a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """a * b of integers; constants are multiplied here."""
        if isinstance(a, Imm) and isinstance(b, Imm):
            return Imm(int(a.value) * int(b.value), a.dtype)
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Imm) and one.value in (0, 1):
                return other if one.value else one
        return self.op("mul", a.dtype, a, b)

    @contextmanager
    def body(self) -> Iterator[list[Stmt]]:
        """Statements emitted inside go to the list that it gives."""
        made: list[Stmt] = []
        self._bodies.append(made)
        yield made
        self._bodies.pop()

    @contextmanager
    def when(self, cond: Value | None) -> Iterator[None]:
        """Statements emitted inside run where `cond` holds; None: everywhere."""
        if cond is None:
            yield
            return
        with self.body() as made:
            yield
        self.emit(If(cond, tuple(made), (), self.line))

    def scalar(self, name: str, dtype: str) -> Reg:
        """A scalar argument of the kernel."""
        self.args.append(Arg(name, dtype))
        made = self.reg(dtype, name)
        self.params.append(Param(made, len(self.args) - 1, "value"))
        return made

    def array(self, name: str, dtype: str) -> Buffer:
        """An array argument of the kernel."""
        self.args.append(Arg(name, dtype, 1))
        return self._buffer(name, "global", dtype, None, len(self.args) - 1, 0)

    def shared(self, name: str, dtype: str, elements: int) -> Buffer:
        """An array in shared memory."""
        at = self.shared_bytes
        self.shared_bytes = -(-(at + elements * itemsize(dtype)) // 16) * 16
        return self._buffer(name, "shared", dtype, (elements,), None, at)

    def _buffer(self, name: str, space: str, dtype: str, shape: tuple[int, ...] | None, arg: int | None, offset: int) -> Buffer:
        made = Buffer(len(self.buffers), name, space, dtype, shape, arg, offset)
        self.buffers.append(made)
        return made

    def finished(self) -> tuple[Stmt, ...]:
        """All statements, when every body is closed."""
        assert len(self._bodies) == 1
        return tuple(self._bodies[0])
