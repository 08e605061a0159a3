"""What tests of the front end share: looking into programs, and running them as they leave it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gpusim.frontend.translate import translate
from gpusim.interp.simt.execute import execute
from gpusim.ir.simt import nodes as n
from gpusim.lower.simt.cfg import build

F32 = n.Arg("x", "float32", 1)
F64 = n.Arg("x", "float64", 1)
I64 = n.Arg("x", "int64", 1)
I32 = n.Arg("x", "int32")


def walk(node: Any) -> Iterator[Any]:
    """All nodes of a program, depth first."""
    yield node
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node) and not isinstance(node, n.Buffer | n.Reg | n.Imm):
        for f in fields(node):
            yield from walk(getattr(node, f.name))


def found(program: n.SimtProgram, kind: type) -> list[Any]:
    return [s for s in walk(program.body) if isinstance(s, kind)]


def dtypes_of(program: n.SimtProgram, name: str) -> set[str]:
    """The types that the registers of a variable have."""
    return {s.dst.dtype for s in found(program, n.Op) if s.dst.name == name}


def run(function: Any, arrays: list[Any], threads: int = 32) -> None:
    """Execute the program as it leaves the front end, in one block."""
    args = tuple(n.Arg("", str(np.asarray(a).dtype), np.ndim(a)) for a in arrays)
    execute(build(translate(function, args)), n.Geometry((1, 1, 1), (threads, 1, 1)), arrays)
