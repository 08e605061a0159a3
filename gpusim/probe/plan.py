"""What a group of probes consists of.

A module of a group has
- `PLANS`: name of a record -> function of its params that gives the simulation;
- `POINTS`: the (name, params) that are simulated where no file of measurements gives others;
- `CURVES`: what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.spec.device import GpuSpec

Params = Mapping[str, Any]
#: a number in the record's unit, or a list where the record is one
Value = float | list[float]
Simulation = Callable[[GpuSpec], Value]
Plan = Callable[[Params], Simulation]
Point = tuple[str, dict[str, Any]]


class Excluded(Exception):
    """The record says something about the run that was measured, not about the machine; the text says what."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One picture: records `name` that agree with `where`, value over the param `x`, a line for each combination of the params `series`."""

    title: str
    name: str
    x: str
    x_label: str
    y_label: str
    series: tuple[str, ...] = ()
    where: tuple[tuple[str, Any], ...] = ()
    log_x: bool = True
    log_y: bool = False
