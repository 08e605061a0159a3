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
from gpusim.ir.forms import BY_NODE, Form
from gpusim.ir.ops import Box, Dot, Fold, Full, If, Let, Load, Loop, Map, Op, Reduce, Store, While
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DType

WIDTH = 110
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

#: operator -> how tightly it binds in Python; those not here are written as calls
BINDING = {"<": 0, "<=": 0, "==": 0, "|": 1, "^": 2, "&": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5}


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
    return _call(op, BY_NODE[type(op)]) if type(op) in BY_NODE else _TEXT[type(op)](op)


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
    return f"({text})" if isinstance(e, Bin) and BINDING.get(e.op, 99) < at_least else text


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
    view = f", of={t.of!r}" if t.of else ""
    return f"{legal(t.name)}: {_type(t.dtype, t.shape)} = tensor({t.role!r}, pitch={t.pitch}{bound}{view})"


def _type(of: DType, shape: tuple[int, ...]) -> str:
    return f"{of}[{', '.join(map(str, shape)) or '()'}]"


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _tiles(names: tuple[str, ...]) -> str:
    return _tuple([legal(n) for n in names])


#: kind of a field in `forms` -> its text
WRITTEN: dict[str, Callable[[Any], str]] = {
    "tile": lambda v: legal(v),
    "tiles": _tiles,
    "expr": lambda v: show_expr(v),
    "exprs": lambda v: _tuple([show_expr(e) for e in v]),
    "type": lambda v: _type(*v),
    "integer": str,
    "integers": lambda v: _tuple([str(n) for n in v]),
    "number": lambda v: _number(v),
    "flag": repr,
    "string": repr,
    "dtype": str,
}


def _call(op: Any, form: Form) -> str:
    """`dst = word(a, b, option=c)`."""
    parts = []
    for f in form.fields:
        value = (op.dtype, op.shape) if f.kind == "type" else getattr(op, f.name)
        if f.required:
            parts.append(WRITTEN[f.kind](value))
        elif value != f.default:
            parts.append(f"{f.name}={WRITTEN[f.kind](value)}")
    word = form.word + (op.fn if form.functions else "")
    return (f"{legal(getattr(op, form.target))} = " if form.target else "") + f"{word}({', '.join(parts)})"


def _box(box: Box) -> str:
    if not box.shape or len(box.origin) != len(box.shape):
        what = f"a box of '{box.tensor}' has {len(box.origin)} origin(s) and {len(box.shape)} extent(s)."
        raise GpusimError(what, where="IR", hint="Give one of each for every dimension.")
    spans = (f"{show_expr(o)} :+ {extent}" for o, extent in zip(box.origin, box.shape, strict=True))
    return f"{legal(box.tensor)}[{', '.join(spans)}]"


def _placed(box: Box) -> str:
    """The options of a box."""
    options = ", masked=True" if box.masked else ""
    if box.limits:
        options += f", limits={_tuple(['None' if limit is None else show_expr(limit) for limit in box.limits])}"
    options += f", edges={_tuple([repr(e) for e in box.edges])}" if box.edges else ""
    return options + (f", axes={_tuple([str(a) for a in box.axes])}" if box.axes is not None else "")


def _load(op: Load) -> str:
    other = f", other={_number(op.other)}" if op.box.masked or op.other != 0 else ""
    return f"{legal(op.dst)} = load({_box(op.box)}{_placed(op.box)}{other})"


def _fold(op: Fold) -> str:
    options = (", scan=True" if op.scan else "") + (", reverse=True" if op.reverse else "")
    sides = f"left={_tiles(op.left)}, right={_tiles(op.right)}, results={_tiles(op.results)}"
    return f"with fold({_tiles(op.srcs)}, axis={op.axis}, {sides}{options}) as {_tiles(op.dsts)}:"


def _loop(op: Loop) -> str:
    stages = "'auto'" if op.stages is None else op.stages
    return f"for {legal(op.var)} in range({show_expr(op.start)}, {show_expr(op.stop)}, stages={stages}):"


#: op -> its line
_TEXT: dict[type, Callable[[Any], str]] = {
    Let: lambda op: f"{legal(op.name)} = {show_expr(op.value)}",
    Loop: _loop,
    If: lambda op: f"if {show_expr(op.cond)}:",
    Load: _load,
    While: lambda op: "while True:",
    Fold: _fold,
    Store: lambda op: f"store({_box(op.box)}, {legal(op.src)}{_placed(op.box)})",
    Full: lambda op: f"{legal(op.dst)} = full({_type(op.dtype, op.shape)}, {_number(op.value)})",
    Dot: lambda op: f"{legal(op.acc)} += dot({legal(op.a)}, {legal(op.b)})",
    Map: lambda op: f"{legal(op.dst)} = {legal(op.fn)}({', '.join(map(legal, op.args))})",
    Reduce: lambda op: f"{legal(op.dst)} = {legal(op.fn)}({legal(op.src)}, axis={op.axis}{'' if op.keep else ', keep=False'})",
}


def _block(body: tuple[Op, ...], depth: int) -> Iterator[str]:
    pad = "    " * depth
    if not body and depth:
        yield f"{pad}pass"
    for op in body:
        yield f"{pad}{show_op(op)}" + (f"  # line {op.line}" if op.line else "")
        if isinstance(op, Loop | Fold):
            yield from _block(op.body, depth + 1)
        elif isinstance(op, While):
            yield from _block(op.before, depth + 1) if op.before else ()
            yield f"{pad}    if not ({show_expr(op.cond)}):"
            yield f"{pad}        break"
            yield from _block(op.body, depth + 1) if op.body else ()
        elif isinstance(op, If):
            yield from _block(op.then, depth + 1)
            if op.orelse:
                yield f"{pad}else:"
                yield from _block(op.orelse, depth + 1)
