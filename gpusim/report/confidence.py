"""How far a prediction is to be trusted: errors of measured cases of the same class, from a table that ships with the package.

`python -m tests.hardware.record` writes the table; a test fails when it is stale.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gpusim.trace.run import Run

#: resources outside of the SMs' cores: how a kernel of threads does there is known less well
MEMORY = frozenset({"DRAM", "L2 read", "L2 write", "L2 intake", "SM fill", "SM store"})

#: class -> whether a run belongs to it; the first that holds. What decides the error is how the kernel is fed, not its size.
CLASSES: tuple[tuple[str, Callable[[Run], bool]], ...] = (
    ("threads, memory busiest", lambda run: run.profile is not None and _busiest(run) in MEMORY),
    ("threads, SMs busiest", lambda run: run.profile is not None),
    ("warps with roles", lambda run: run.params.get("roles", "none") != "none"),
    ("narrow copies", lambda run: bool(run.notes)),
    ("no pipeline", lambda run: run.params.get("stages") == 1),
    ("pipelined, one CTA per SM", lambda run: run.occupancy.ctas_per_sm == 1),
    ("pipelined, several CTAs per SM", lambda run: True),
)


@dataclass(frozen=True, slots=True)
class Errors:
    """Of `cases` measured cases of a class: mean absolute error, signed mean, the error that nine in ten do not exceed, the
    worst; simulated / measured - 1, in cycles."""

    cases: int
    mape: float
    signed_mean: float
    p90: float
    worst: float


def kernel_class(run: Run) -> str:
    """The class of `run` among those that errors are known for."""
    return next(name for name, holds in CLASSES if holds(run))


def family(run: Run) -> str:
    """What an error is said of: a kernel of tiles by its name, kernels of threads all together."""
    return run.kernel if run.profile is None else "threads"


def _busiest(run: Run) -> str:
    return max(run.bounds, key=run.bounds.__getitem__, default="")


def errors_of(run: Run) -> Errors | None:
    """The errors of the class of `run` on its GPU; None where nothing was measured."""
    found = _table().get(run.gpu, {}).get(family(run), {}).get(kernel_class(run))
    return Errors(int(found["cases"]), found["mape"], found["signed_mean"], found["p90"], found["worst"]) if found else None


@cache
def _table() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    table: dict[str, dict[str, dict[str, dict[str, float]]]] = json.loads((files("gpusim.report") / "errors.json").read_text())["gpus"]
    return table
