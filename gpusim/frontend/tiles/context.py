"""The state of one translation of a tile kernel: what was emitted, what names stand for, and which names are taken."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from gpusim.frontend.refusals import refuse
from gpusim.frontend.source import Source
from gpusim.frontend.tiles.ranges import Ranges
from gpusim.frontend.tiles.values import Scalar, Shape, Tile
from gpusim.ir.expr import ExprLike, Name, expr
from gpusim.ir.ops import MADE, Full, Let, Op
from gpusim.ir.types import DTYPES


@dataclass(slots=True)
class Frame:
    """A function being translated: the kernel, or one that it calls. env: what its variables stand for; "return": what it returns."""

    source: Source
    env: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Watch:
    """Values that stand for those of an earlier iteration, and which of them were read."""

    frame: Frame
    values: dict[str, Any]
    used: set[str] = field(default_factory=set)


@dataclass(slots=True)
class State:
    """What a trial translation must not leave behind. `kept`: tiles of constants and formulas that are known where we stand; `fresh`: tiles
    that only one value holds; `accesses`: see `boxes`."""

    count: int = 0
    taken: set[str] = field(default_factory=set)
    kept: dict[Any, Tile] = field(default_factory=dict)
    fresh: set[str] = field(default_factory=set)
    accesses: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> State:
        return State(self.count, set(self.taken), dict(self.kept), set(self.fresh), {k: v.copy() for k, v in self.accesses.items()})


@dataclass(slots=True)
class Context:
    """evaluate and block are the translators of expressions and of statements. stages: depth of pipelines that the launch asks for.
    target: the variable that takes the value of the call being translated, "" if it goes elsewhere."""

    ranges: Ranges
    frame: Frame
    evaluate: Callable[[Context, ast.expr], Any]
    block: Callable[[Context, list[ast.stmt]], None]
    stages: int | None
    grid: tuple[int, ...]
    warps: int
    any_extent: bool = False
    out: list[Op] = field(default_factory=list)
    state: State = field(default_factory=State)
    frames: list[Frame] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    enclosing: list[ast.stmt] = field(default_factory=list)
    line: int = 0
    target: str = ""

    # --- emission
    def emit(self, op: Op) -> None:
        self.out.append(op)

    def define(self, make: Callable[[str], Op], shape: Shape, dtype: str) -> Tile:
        """A new tile, by the op that `make` makes for its name."""
        while (name := f"t{self.state.count}") in self.state.taken:
            self.state.count += 1
        self.state.count += 1
        self.state.taken.add(name)
        op = replace(make(name), line=self.line)
        if isinstance(op, MADE):
            self.state.fresh.add(name)
        self.emit(op)
        return Tile(name, shape, dtype)

    def keep(self, key: Any, make: Callable[[], Tile]) -> Tile:
        """The tile of a constant or formula, made once where it stays known."""
        if key not in self.state.kept:
            self.state.kept[key] = make()
            self.state.fresh.discard(self.state.kept[key].name)
        return self.state.kept[key]

    def constant(self, value: float, dtype: str, shape: Shape = ()) -> Tile:
        return self.keep(("constant", repr(value), dtype, shape), lambda: self.filled(value, dtype, shape))

    def filled(self, value: float, dtype: str, shape: Shape) -> Tile:
        """A tile of its own."""
        return self.define(lambda dst: Full(dst, shape, DTYPES[dtype], value), shape, dtype)

    def let(self, name: str, value: ExprLike, dtype: str) -> Scalar:
        """name = value in the program; the name may get a number."""
        unique = self.unique(name)
        self.ranges.let(unique, expr(value))
        self.emit(Let(unique, expr(value), self.line))
        return Scalar(Name(unique), dtype)

    def unique(self, name: str) -> str:
        """A name that no other scalar or tile of the program has."""
        made, n = name, 1
        while made in self.state.taken or keyword.iskeyword(made):
            n += 1
            made = f"{name}_{n}"
        self.state.taken.add(made)
        return made

    # --- scopes
    @contextmanager
    def collect(self) -> Iterator[list[Op]]:
        """Ops emitted inside go to the list; what they keep is known inside only."""
        outer, kept, self.out = self.out, dict(self.state.kept), []
        try:
            yield self.out
        finally:
            self.out, self.state.kept = outer, kept

    @contextmanager
    def trial(self) -> Iterator[list[Op]]:
        """As `collect`, and nothing stays of it: neither names nor values of variables."""
        state, envs, frame, frames = self.state.copy(), [(f, dict(f.env)) for f in self.live()], self.frame, list(self.frames)
        try:
            with self.collect() as out:
                yield out
        finally:
            self.state, self.frame, self.frames = state, frame, frames
            for f, env in envs:
                f.env = env

    def live(self) -> list[Frame]:
        """The function being translated, and those that called it."""
        return [*self.frames, self.frame]

    # --- variables
    def lookup(self, name: str) -> Any:
        """The value of a variable of the function, which is there."""
        value = self.frame.env[name]
        for watch in self.watches:
            if watch.frame is self.frame and name in watch.values and watch.values[name] is value:
                watch.used.add(name)
        return value

    # --- words
    def at(self, node: ast.AST) -> None:
        self.line = self.frame.source.line_of(node) if not self.frames else self.line

    def refuse(self, node: ast.AST, what: str, hint: str = "") -> NoReturn:
        refuse(self.frame.source, node, what, hint)
