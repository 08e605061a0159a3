"""How ops that are written as plain calls look: one row each, from which `show` writes and `parse` reads.

A row lists the fields in the order of the text: those without a default stand by position, the others as name=value where they differ from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.ir.functions import ATOMICS, SCANS
from gpusim.ir.ops import (
    Atomic,
    Broadcast,
    Cast,
    Check,
    Gather,
    Histogram,
    Index,
    Join,
    Part,
    Print,
    Read,
    Reshape,
    Scan,
    Scatter,
    Sort,
    Take,
    Transpose,
    Update,
)  # fmt: skip

_REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Field:
    """name of the node's field; kind: how its value is written (a key of `show.WRITTEN` and `parse.READ`); default: None of it is written."""

    name: str
    kind: str
    default: Any = _REQUIRED

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED


@dataclass(frozen=True, slots=True)
class Form:
    """word: what is called, or a prefix to which the node's `fn` is appended; target: the field that the call's value goes to, "" if none."""

    word: str
    node: type
    fields: tuple[Field, ...]
    target: str = "dst"
    functions: frozenset[str] = frozenset()

    def words(self) -> tuple[str, ...]:
        return tuple(self.word + fn for fn in sorted(self.functions)) or (self.word,)


_SRC = Field("src", "tile")
_MASK = Field("mask", "tile", "")

FORMS = (
    Form("read", Read, (_SRC,), "name"),
    # "type" is the pair of dtype and shape
    Form("index", Index, (Field("type", "type"), Field("start", "expr"), Field("steps", "exprs", ()))),
    Form("reshape", Reshape, (_SRC, Field("shape", "integers"))),
    Form("broadcast", Broadcast, (_SRC, Field("shape", "integers"))),
    Form("transpose", Transpose, (_SRC, Field("order", "integers"))),
    Form("join", Join, (Field("a", "tile"), Field("b", "tile"))),
    Form("part", Part, (_SRC, Field("axis", "integer"), Field("index", "integer"))),
    Form("take", Take, (_SRC, Field("index", "tile"), Field("axis", "integer"))),
    Form("sort", Sort, (_SRC, Field("axis", "integer"), Field("descending", "flag", False))),
    Form("histogram", Histogram, (_SRC, Field("bins", "integer"))),
    Form("scan_", Scan, (_SRC, Field("axis", "integer"), Field("reverse", "flag", False)), functions=SCANS),
    Form("cast", Cast, (_SRC, Field("dtype", "dtype"), Field("bits", "flag", False))),
    Form("gather", Gather, (Field("tensor", "tile"), Field("index", "tile"), _MASK, Field("other", "number", 0.0))),
    Form(
        "atomic_", Atomic, (Field("tensor", "tile"), Field("index", "tile"), _SRC, _MASK, Field("compare", "tile", "")), functions=ATOMICS
    ),
    Form("scatter", Scatter, (Field("tensor", "tile"), Field("index", "tile"), _SRC, _MASK), ""),
    Form("update", Update, (Field("dst", "tile"), _SRC), ""),
    Form("check", Check, (_SRC, Field("message", "string")), ""),
    Form("print", Print, (Field("text", "string"), Field("args", "tiles", ())), ""),
)  # fmt: skip

BY_NODE = {form.node: form for form in FORMS}
BY_WORD = {word: form for form in FORMS for word in form.words()}
