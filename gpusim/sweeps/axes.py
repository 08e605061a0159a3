"""Axes of a sweep: what varies, what follows, what is fixed."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.spec.kinds import Device

RANGE_HINT = "Write start:stop:step, for example 1536:2304:16; the stop itself belongs to it when a step hits it."


@dataclass(frozen=True, slots=True)
class Grid:
    """gpus: the outermost axis. values: parameter -> its values, in order. follows: parameter -> the parameter whose value it takes."""

    gpus: tuple[str | Path | Device, ...]
    values: dict[str, tuple[Any, ...]]
    follows: dict[str, str]

    @property
    def varying(self) -> list[str]:
        """The axes with more than one value."""
        return [name for name, values in self.values.items() if len(values) > 1]

    def combinations(self) -> Iterable[tuple[str | Path | Device, dict[str, Any]]]:
        """(gpu, parameters of the kernel) for every point, the last axis fastest."""
        for gpu, *chosen in itertools.product(self.gpus, *self.values.values()):
            given = dict(zip(self.values, chosen, strict=True))
            yield gpu, given | {name: given[leader] for name, leader in self.follows.items()}


def from_python(kernel: Callable[..., Program], gpu: Any, axes: Mapping[str, Any]) -> Grid:
    """The grid of `gs.sweep`: iterables are axes, a parameter's name is followed, the rest are single values."""
    known = inspect.signature(kernel).parameters
    values: dict[str, tuple[Any, ...]] = {}
    follows: dict[str, str] = {}
    for name, given in axes.items():
        if name not in known:
            raise GpusimError(f"'{name}' is no parameter of {_name(kernel)}.", where="sweep", hint=f"Its parameters: {', '.join(known)}.")
        if isinstance(given, str) and given in known:
            follows[name] = given
        else:
            values[name] = _listed(given, may_be_tuple="tuple" in str(known[name].annotation))
    return _checked(Grid(_listed(gpu), values, follows), {name: p.default for name, p in known.items()})


def from_text(kernel: Callable[..., Program], gpu: str, axes: Mapping[str, str]) -> Grid:
    """The grid of the command line: "1536:2304:16", "64,128", "m" (follow the axis m), or one value."""
    known = inspect.signature(kernel).parameters
    values: dict[str, tuple[Any, ...]] = {}
    follows: dict[str, str] = {}
    for name, text in axes.items():
        if text in known:
            follows[name] = text
        else:
            values[name] = parse_axis(name, text, whole="int" in str(known[name].annotation) and "tuple" not in str(known[name].annotation))
    gpus = tuple(part.strip() for part in gpu.split(",") if part.strip())
    return _checked(Grid(gpus, values, follows), {name: p.default for name, p in known.items()})


def parse_axis(name: str, text: str, *, whole: bool) -> tuple[Any, ...]:
    """The values of one axis. whole: they are integers, and "start:stop:step" is a range that includes the stop when hit."""
    values: list[Any] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        values += _range(name, part) if whole else [part]
    return tuple(values)


def _range(name: str, part: str) -> list[int]:
    try:
        numbers = [int(p) for p in part.split(":")]
    except ValueError:
        raise GpusimError(f"'{part}' is neither an integer, a range nor another axis.", where=f"--{name.replace('_', '-')}", hint=RANGE_HINT) from None
    if len(numbers) == 1:
        return numbers
    if len(numbers) > 3:
        raise GpusimError(f"'{part}' has too many colons.", where=f"--{name.replace('_', '-')}", hint=RANGE_HINT)
    start, stop, step = numbers if len(numbers) == 3 else (*numbers, 1)
    if step < 1:
        raise GpusimError(f"the range {part} has the step {step}.", where=f"--{name.replace('_', '-')}", hint="A step is 1 or more.")
    if start > stop:
        raise GpusimError(f"the range {part} is empty: it starts above its stop.", where=f"--{name.replace('_', '-')}", hint=RANGE_HINT)
    return list(range(start, stop + 1, step))


def _listed(given: Any, may_be_tuple: bool = False) -> tuple[Any, ...]:
    single = isinstance(given, str | Path | Device) or not isinstance(given, Iterable) or (may_be_tuple and isinstance(given, tuple))
    if single:
        return (given,)
    return tuple(value.item() if hasattr(value, "item") else value for value in given)


def _checked(grid: Grid, defaults: Mapping[str, Any]) -> Grid:
    """`grid` with a value for every leader; an error for empty axes and for a follower of a follower."""
    if not grid.gpus:
        raise GpusimError("no GPU is given.", where="sweep", hint="Give one name, or several separated by commas.")
    for name, axis in grid.values.items():
        if not axis:
            raise GpusimError(f"the axis '{name}' is empty.", where="sweep", hint=RANGE_HINT)
    values = dict(grid.values)
    for name, leader in grid.follows.items():
        if leader in grid.follows:
            raise GpusimError(f"'{name}' follows '{leader}', which follows another axis itself.", where="sweep", hint="Let both follow one that has values.")
        values.setdefault(leader, (defaults[leader],))
    return Grid(grid.gpus, values, grid.follows)


def _name(kernel: Callable[..., Program]) -> str:
    return getattr(kernel, "__name__", repr(kernel))
