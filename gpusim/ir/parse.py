"""The text of a program, as `show` writes it, back to the program."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir import grammar as g
from gpusim.ir.forms import BY_WORD
from gpusim.ir.functions import ARGS, MAPS, REDUCES
from gpusim.ir.ops import Dot, Fold, Full, If, Let, Load, Loop, Map, Op, Reduce, Store, While
from gpusim.ir.pipeline import told_by
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
    made = Program(g.string(found["name"]), tensors, g.integers(grid), body, g.integer(warps), params, g.integer(flops))
    return replace(made, pipeline=told_by(params))


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
    found = g.arguments(node.value, ("role",), ("pitch", "bound", "of"))
    pitch = g.required(node.value, found, "pitch")
    bound = g.integer(found["bound"]) if "bound" in found else 0
    view = g.string(found["of"]) if "of" in found else ""
    return Tensor(g.name(node.target), of, shape, g.integer(pitch), g.string(found["role"]), bound, view)


#: kind of a field in `forms` -> its value
READ: dict[str, Callable[[ast.expr], Any]] = {
    "tile": g.name,
    "tiles": g.names,
    "expr": g.expression,
    "exprs": lambda node: tuple(g.expression(e) for e in g.items(node)),
    "type": g.tile_type,
    "integer": g.integer,
    "integers": g.integers,
    "number": g.number,
    "flag": g.flag,
    "string": g.string,
    "dtype": g.element_type,
}


def _formed(word: str, call: ast.Call, target: str, line: int) -> Op:
    """The op of a call that `forms` describes."""
    form = BY_WORD[word]
    found = g.arguments(call, tuple(f.name for f in form.fields if f.required), tuple(f.name for f in form.fields if not f.required))
    values = {f.name: READ[f.kind](found[f.name]) for f in form.fields if f.name in found}
    if "type" in values:
        values["dtype"], values["shape"] = values.pop("type")
    values |= {form.target: target} if form.target else {}
    values |= {"fn": word.removeprefix(form.word)} if form.functions else {}
    made: Op = form.node(**values, line=line)
    return made


class _Body:
    """Reads statements to ops. `lines` is the text, for the `# line N` comments that `ast` does not keep."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.statements: dict[type, Callable[[Any], Op]] = {
            ast.Assign: self.assign,
            ast.AugAssign: self.dot,
            ast.For: self.loop,
            ast.If: self.branch,
            ast.Expr: self.statement,
            ast.While: self.endless,
            ast.With: self.fold,
        }
        self.calls: dict[str, Callable[[str, ast.Call], Op]] = {"load": self.load, "full": self.full}

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
        if word in BY_WORD and BY_WORD[word].target:
            return _formed(word, call, dst, self.source_line(call))
        if word in REDUCES | ARGS:
            found = g.arguments(call, ("tile",), ("axis", "keep"))
            axis, keep = g.integer(g.required(call, found, "axis")), "keep" not in found or g.flag(found["keep"])
            return Reduce(dst, word, g.name(found["tile"]), axis, self.source_line(call), keep)
        if word not in MAPS:
            g.fail(call, f"'{word}' is not a function.", g.suggest(word, {*MAPS, *REDUCES, *ARGS, *self.calls, *BY_WORD}))
        found = g.arguments(call, tuple(f"tile {n}" for n in range(1, len(MAPS[word].takes) + 1)))
        return Map(dst, word, tuple(g.name(a) for a in found.values()), self.source_line(call))

    def load(self, dst: str, call: ast.Call) -> Op:
        found = g.arguments(call, ("box",), ("masked", "limits", "axes", "edges", "other"))
        other = g.number(found["other"]) if "other" in found else 0.0
        return Load(dst, g.box(found["box"], found), other, self.source_line(call))

    def full(self, dst: str, call: ast.Call) -> Op:
        found = g.arguments(call, ("type", "value"))
        of, shape = g.tile_type(found["type"])
        return Full(dst, shape, of, g.number(found["value"]), self.source_line(call))

    def dot(self, node: ast.AugAssign) -> Op:
        if not isinstance(node.op, ast.Add) or not isinstance(node.value, ast.Call) or g.called(node.value) != "dot":
            g.fail(node, "only products accumulate.", "Write it like t0 += dot(t1, t2).")
        found = g.arguments(node.value, ("a", "b"))
        return Dot(g.name(node.target), g.name(found["a"]), g.name(found["b"]), self.source_line(node))

    def statement(self, node: ast.Expr) -> Op:
        call = node.value
        word = g.called(call)
        if isinstance(call, ast.Call) and word in BY_WORD and not BY_WORD[word].target:
            return _formed(word, call, "", self.source_line(node))
        if not isinstance(call, ast.Call) or word != "store":
            g.fail(node, f"'{ast.unparse(node)}' is not an op.", "An op that gives no value is store(box, tile).")
        found = g.arguments(call, ("box", "tile"), ("masked", "limits", "axes", "edges"))
        return Store(g.box(found["box"], found), g.name(found["tile"]), self.source_line(node))

    def endless(self, node: ast.While) -> Op:
        """while True: before; if not (cond): break; body."""
        at = next((i for i, s in enumerate(node.body) if isinstance(s, ast.If) and [type(x) for x in s.body] == [ast.Break]), None)
        leave = node.body[at] if at is not None else None
        if not isinstance(leave, ast.If) or not isinstance(leave.test, ast.UnaryOp) or not isinstance(leave.test.op, ast.Not) or node.orelse or at is None:
            g.fail(node, "an open loop is written as while True: ... if not (condition): break ...")
        return While(self.block(node.body[:at]), g.expression(leave.test.operand), self.block(node.body[at + 1 :]), self.source_line(node))

    def fold(self, node: ast.With) -> Op:
        call = node.items[0].context_expr
        if not isinstance(call, ast.Call) or g.called(call) != "fold" or len(node.items) != 1 or node.items[0].optional_vars is None:
            g.fail(node, "a fold is written as with fold((t0,), axis=0, left=(a,), right=(b,), results=(c,)) as (t1,):")
        found = g.arguments(call, ("tiles",), ("axis", "left", "right", "results", "scan", "reverse"))
        axis, left, right, results = (g.required(call, found, key) for key in ("axis", "left", "right", "results"))
        scan, reverse = ("scan" in found and g.flag(found["scan"])), ("reverse" in found and g.flag(found["reverse"]))
        dsts, srcs, body = g.names(node.items[0].optional_vars), g.names(found["tiles"]), self.block(node.body)
        return Fold(dsts, srcs, g.integer(axis), g.names(left), g.names(right), body, g.names(results), scan, reverse, self.source_line(node))

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
