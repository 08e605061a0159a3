"""A program as text that a person can read and `parse` can read back: Python's grammar, one op a line, never executed.

A box `a[pm * 128 :+ 128, ks * 64 :+ 64]` starts at row pm * 128 and column ks * 64 and has 128 rows and 64 columns.
"""

from __future__ import annotations

import keyword
import math
import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.expr import Bin, Const, Expr, Name
from gpusim.ir.ops import Box, Cast, Dot, Full, If, Let, Load, Loop, Map, Op, Reduce, Store
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DType

WIDTH = 110
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

#: operator -> how tightly it binds in Python; those not here are written as calls
BINDING = {"<": 0, "<=": 0, "==": 0, "+": 1, "-": 1, "*": 2, "//": 2, "%": 2}


def show(program: Program) -> str:
    """The text of `program`; equal programs give equal text, and `parse(show(p)) == p`.

    Raises GpusimError for what has no text: a name that is no identifier, a param that is no literal.
    """
    lines = [f"program({program.name!r}, grid={tuple(map(int, program.grid))!r}, warps={program.warps}, flops={program.flops})"]
    lines += _params(program.params)
    lines += [_tensor(t) for t in program.tensors]
    lines += ["", *_block(program.body, 0)]
    return "\n".join(lines) + "\n"


def show_op(op: Op) -> str:
    """The first line of `op`, as it stands in the text of its program."""
    return _TEXT[type(op)](op)


def show_expr(e: Expr) -> str:
    """`e` in Python's notation, with as few parentheses as Python needs."""
    if isinstance(e, Const):
        return str(e.value)
    if isinstance(e, Name):
        return legal(e.name)
    assert isinstance(e, Bin)
    if e.op not in BINDING:
        return f"{e.op}({show_expr(e.a)}, {show_expr(e.b)})"
    mine = BINDING[e.op]
    # Python chains comparisons, so a comparison inside a comparison needs parentheses on either side.
    return f"{_operand(e.a, mine if mine else 1)} {e.op} {_operand(e.b, mine + 1)}"


def _operand(e: Expr, at_least: int) -> str:
    text = show_expr(e)
    return f"({text})" if isinstance(e, Bin) and BINDING.get(e.op, 9) < at_least else text


def legal(name: str) -> str:
    """`name`, if it is a plain identifier; GpusimError otherwise."""
    if not is_name(name):
        raise GpusimError(f"'{name}' is not a name.", where="IR", hint="Use letters, digits and _, and no Python keyword.")
    return name


def is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not keyword.iskeyword(name)


def _params(params: dict[str, Any]) -> Iterator[str]:
    """params(...), broken into lines of at most WIDTH where it can be."""
    if not params:
        return
    line = "params("
    for n, (key, value) in enumerate(params.items(), 1):
        item = f"{legal(key)}={_literal(key, value)}" + (")" if n == len(params) else ",")
        if len(line) + len(item) > WIDTH and line.strip():
            yield line.rstrip()
            line = "       "
        line += item + " "
    yield line.rstrip()


def _literal(key: str, value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return _number(value)
    text = repr(value)
    try:
        if literal_eval(text) == value:
            return text
    except (ValueError, SyntaxError):
        pass
    raise GpusimError(f"{key} = {text} cannot be written as text.", where="params", hint="Give numbers, strings, None, or tuples of them.")


def _number(value: float) -> str:
    if isinstance(value, int):
        return repr(int(value))
    return repr(float(value)) if math.isfinite(value) else str(float(value))


def _tensor(t: Tensor) -> str:
    bound = f", bound={t.bound}" if t.bound else ""
    return f"{legal(t.name)}: {_type(t.dtype, t.shape)} = tensor({t.role!r}, pitch={t.pitch}{bound})"


def _type(of: DType, shape: tuple[int, ...]) -> str:
    return f"{of}[{', '.join(map(str, shape))}]"


def _box(box: Box) -> str:
    if not box.shape or len(box.origin) != len(box.shape):
        what = f"a box of '{box.tensor}' has {len(box.origin)} origin(s) and {len(box.shape)} extent(s)."
        raise GpusimError(what, where="IR", hint="Give one of each for every dimension.")
    spans = (f"{show_expr(o)} :+ {extent}" for o, extent in zip(box.origin, box.shape, strict=True))
    return f"{legal(box.tensor)}[{', '.join(spans)}]"


def _load(op: Load) -> str:
    options = ", masked=True" if op.box.masked else ""
    if op.box.masked or op.other != 0:
        options += f", other={_number(op.other)}"
    return f"{legal(op.dst)} = load({_box(op.box)}{options})"


def _loop(op: Loop) -> str:
    stages = "'auto'" if op.stages is None else op.stages
    return f"for {legal(op.var)} in range({show_expr(op.start)}, {show_expr(op.stop)}, stages={stages}):"


#: op -> its line
_TEXT: dict[type, Callable[[Any], str]] = {
    Let: lambda op: f"{legal(op.name)} = {show_expr(op.value)}",
    Loop: _loop,
    If: lambda op: f"if {show_expr(op.cond)}:",
    Load: _load,
    Store: lambda op: f"store({_box(op.box)}, {legal(op.src)}{', masked=True' if op.box.masked else ''})",
    Full: lambda op: f"{legal(op.dst)} = full({_type(op.dtype, op.shape)}, {_number(op.value)})",
    Dot: lambda op: f"{legal(op.acc)} += dot({legal(op.a)}, {legal(op.b)})",
    Map: lambda op: f"{legal(op.dst)} = {legal(op.fn)}({', '.join(map(legal, op.args))})",
    Reduce: lambda op: f"{legal(op.dst)} = {legal(op.fn)}({legal(op.src)}, axis={op.axis})",
    Cast: lambda op: f"{legal(op.dst)} = cast({legal(op.src)}, {op.dtype})",
}


def _block(body: tuple[Op, ...], depth: int) -> Iterator[str]:
    pad = "    " * depth
    if not body and depth:
        yield f"{pad}pass"
    for op in body:
        yield f"{pad}{show_op(op)}" + (f"  # line {op.line}" if op.line else "")
        if isinstance(op, Loop):
            yield from _block(op.body, depth + 1)
        elif isinstance(op, If):
            yield from _block(op.then, depth + 1)
            if op.orelse:
                yield f"{pad}else:"
                yield from _block(op.orelse, depth + 1)
