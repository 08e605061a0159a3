"""The text of a program, as `show` writes it, back to the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir import grammar as g
from gpusim.ir.functions import MAPS, REDUCES
from gpusim.ir.ops import Cast, Dot, Full, If, Let, Load, Loop, Map, Op, Reduce, Store
from gpusim.ir.program import Program, Tensor

_LINE = re.compile(r"#\s*line\s+(\d+)\s*$")


def parse(text: str) -> Program:
    """The program that `text` describes: equal to the one that `show` printed.

    Raises GpusimError with the line of `text` for what it cannot read. It does not check that the program makes sense: that is `check`.
    """
    try:
        statements = ast.parse(text).body
    except SyntaxError as e:
        raise GpusimError(f"{e.msg}.", where=f"line {e.lineno or 1}", hint="The text of a program has Python's grammar.") from None
    except (ValueError, RecursionError) as e:
        raise GpusimError(f"this is no text of a program: {e}.", where="line 1") from None
    header, params, tensors, rest = _split(statements)
    lines = text.splitlines()
    body = _Body(lines).block(rest)
    found = g.arguments(header, ("name",), ("grid", "warps", "flops"))
    grid, warps, flops = (g.required(header, found, key) for key in ("grid", "warps", "flops"))
    return Program(g.string(found["name"]), tensors, g.integers(grid), body, g.integer(warps), params, g.integer(flops))


def _split(statements: list[ast.stmt]) -> tuple[ast.Call, dict[str, Any], tuple[Tensor, ...], list[ast.stmt]]:
    """The program(...) call, the params, the tensors, and the statements that are ops."""
    header = _call(statements, "program")
    if header is None:
        where = statements[0] if statements else ast.Pass(lineno=1)
        g.fail(where, "a program begins with program('name', grid=(...), warps=..., flops=...).")
    rest = statements[1:]
    params: dict[str, Any] = {}
    if (call := _call(rest, "params")) is not None:
        params = {k.arg: g.literal(k.value) for k in call.keywords if k.arg}
        if call.args or len(params) != len(call.keywords):
            g.fail(call, "params takes name=value only.")
        rest = rest[1:]
    count = 0
    while count < len(rest) and isinstance(rest[count], ast.AnnAssign):
        count += 1
    return header, params, tuple(_tensor(s) for s in rest[:count]), rest[count:]


def _call(statements: list[ast.stmt], word: str) -> ast.Call | None:
    """The first statement, if it calls `word`."""
    first = statements[0] if statements else None
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Call) and g.called(value) == word else None


def _tensor(node: ast.stmt) -> Tensor:
    """`a: bf16[64, 64] = tensor('in', pitch=64)`."""
    assert isinstance(node, ast.AnnAssign)
    of, shape = g.tile_type(node.annotation)
    if not isinstance(node.value, ast.Call) or g.called(node.value) != "tensor":
        g.fail(node, "a tensor is declared like a: bf16[64, 64] = tensor('in', pitch=64).")
    found = g.arguments(node.value, ("role",), ("pitch", "bound"))
    pitch = g.required(node.value, found, "pitch")
    bound = g.integer(found["bound"]) if "bound" in found else 0
    return Tensor(g.name(node.target), of, shape, g.integer(pitch), g.string(found["role"]), bound)


class _Body:
    """Reads statements to ops. `lines` is the text, for the `# line N` comments that `ast` does not keep."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.statements: dict[type, Callable[[Any], Op]] = {
            ast.Assign: self.assign,
            ast.AugAssign: self.dot,
            ast.For: self.loop,
            ast.If: self.branch,
            ast.Expr: self.store,
        }
        self.calls: dict[str, Callable[[str, ast.Call], Op]] = {"load": self.load, "full": self.full, "cast": self.cast}

    def block(self, statements: list[ast.stmt]) -> tuple[Op, ...]:
        return tuple(self.op(s) for s in statements if not isinstance(s, ast.Pass))

    def op(self, node: ast.stmt) -> Op:
        if type(node) not in self.statements:
            g.fail(node, f"'{ast.unparse(node).splitlines()[0]}' is not an op.")
        return self.statements[type(node)](node)

    def source_line(self, node: ast.AST) -> int:
        found = _LINE.search(self.lines[getattr(node, "lineno", 1) - 1])
        return int(found[1]) if found else 0

    def assign(self, node: ast.Assign) -> Op:
        if len(node.targets) != 1:
            g.fail(node, "one name is assigned at a time.")
        dst, word = g.name(node.targets[0]), g.called(node.value)
        if not word or (word in g.CALLED and not _has_axis(node.value)):
            return Let(dst, g.expression(node.value), self.source_line(node))
        assert isinstance(node.value, ast.Call)
        return self.calls.get(word, self.function)(dst, node.value)

    def function(self, dst: str, call: ast.Call) -> Op:
        word = g.called(call)
        if word in REDUCES:
            found = g.arguments(call, ("tile",), ("axis",))
            return Reduce(dst, word, g.name(found["tile"]), g.integer(g.required(call, found, "axis")), self.source_line(call))
        if word not in MAPS:
            g.fail(call, f"'{word}' is not a function.", g.suggest(word, {*MAPS, *REDUCES, *self.calls}))
        found = g.arguments(call, tuple(f"tile {n}" for n in range(1, len(MAPS[word].takes) + 1)))
        return Map(dst, word, tuple(g.name(a) for a in found.values()), self.source_line(call))

    def load(self, dst: str, call: ast.Call) -> Op:
        found = g.arguments(call, ("box",), ("masked", "other"))
        masked = "masked" in found and g.flag(found["masked"])
        other = g.number(found["other"]) if "other" in found else 0.0
        return Load(dst, g.box(found["box"], masked), other, self.source_line(call))

    def full(self, dst: str, call: ast.Call) -> Op:
        found = g.arguments(call, ("type", "value"))
        of, shape = g.tile_type(found["type"])
        return Full(dst, shape, of, g.number(found["value"]), self.source_line(call))

    def cast(self, dst: str, call: ast.Call) -> Op:
        found = g.arguments(call, ("tile", "dtype"))
        return Cast(dst, g.name(found["tile"]), g.element_type(found["dtype"]), self.source_line(call))

    def dot(self, node: ast.AugAssign) -> Op:
        if not isinstance(node.op, ast.Add) or not isinstance(node.value, ast.Call) or g.called(node.value) != "dot":
            g.fail(node, "only products accumulate.", "Write it like t0 += dot(t1, t2).")
        found = g.arguments(node.value, ("a", "b"))
        return Dot(g.name(node.target), g.name(found["a"]), g.name(found["b"]), self.source_line(node))

    def store(self, node: ast.Expr) -> Op:
        if not isinstance(node.value, ast.Call) or g.called(node.value) != "store":
            g.fail(node, f"'{ast.unparse(node)}' is not an op.", "An op that gives no value is store(box, tile).")
        found = g.arguments(node.value, ("box", "tile"), ("masked",))
        masked = "masked" in found and g.flag(found["masked"])
        return Store(g.box(found["box"], masked), g.name(found["tile"]), self.source_line(node))

    def loop(self, node: ast.For) -> Op:
        if not isinstance(node.iter, ast.Call) or g.called(node.iter) != "range" or node.orelse:
            g.fail(node, "a loop is written like for k in range(0, 64, stages=1):")
        found = g.arguments(node.iter, ("start", "stop"), ("stages",))
        stages = g.required(node.iter, found, "stages")
        depth = None if isinstance(stages, ast.Constant) and stages.value == "auto" else g.integer(stages)
        start, stop = g.expression(found["start"]), g.expression(found["stop"])
        return Loop(g.name(node.target), start, stop, self.block(node.body), depth, self.source_line(node))

    def branch(self, node: ast.If) -> Op:
        return If(g.expression(node.test), self.block(node.body), self.block(node.orelse), self.source_line(node))


def _has_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and any(k.arg == "axis" for k in node.keywords)
