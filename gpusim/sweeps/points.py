"""The points of a sweep: each a program on a spec, with the key under which its result is kept."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gpusim
from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.options import Options
from gpusim.report.data import flat, plain
from gpusim.report.report import Report
from gpusim.spec.kinds import Device
from gpusim.sweeps.axes import Grid

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """One simulation to do."""

    program: Program
    spec: Device
    options: Options
    key: str


def make_points(kernel: Callable[..., Program], grid: Grid, options: Options) -> list[Point]:
    """All points of `grid`, programs built, so that a mistake is told before anything is simulated."""
    from gpusim.spec.load import load_spec

    specs = {id(gpu): load_spec(gpu) for gpu in grid.gpus}
    machine = {key: spec.model_dump_json(exclude={"provenance", "aliases", "note", "validated"}) for key, spec in specs.items()}
    points = []
    for gpu, given in grid.combinations():
        program = _build(kernel, given)
        points.append(Point(program, specs[id(gpu)], options, _key(machine[id(gpu)], program, options)))
    return points


def simulate_point(point: Point) -> Row:
    """The row of one point. What the device cannot run becomes a row with the reason under "error"."""
    from gpusim.launch.run import simulate

    try:
        run = simulate(point.program, point.spec, **point.options.for_launch())
    except GpusimError as error:
        return {"gpu": point.spec.name, "kernel": point.program.name, **plain(point.program.params), "error": str(error)}
    return flat(Report(run, point.spec))


def _build(kernel: Callable[..., Program], given: dict[str, Any]) -> Program:
    missing = [n for n, p in inspect.signature(kernel).parameters.items() if p.default is p.empty and n not in given and p.kind is not p.VAR_KEYWORD]
    if missing:
        raise GpusimError(f"the kernel needs a value for {', '.join(missing)}.", where="sweep", hint="Give it as an axis or as one value.")
    return kernel(**given)


def _key(machine: str, program: Program, options: Options) -> str:
    text = "\n".join((machine, repr(program), "tile left to the device" if program.retile else "", repr(options), gpusim.__version__, source_digest()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@cache
def source_digest() -> str:
    """A digest of the simulator's own source: whoever changes the model must not get yesterday's results."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
