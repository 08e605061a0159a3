"""Points -> rows: those in the cache are taken, the others simulated, in one process or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.sweeps.cache import Cache
from gpusim.sweeps.points import Point, Row, simulate_point

#: called with (points done, of them taken from the cache, points in all)
Progress = Callable[[int, int, int], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep: `rows` are the finished ones, in the order of the points."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__(f"kept {len(rows)} points")
        self.rows = rows


def execute(points: Sequence[Point], *, cache: str | Path | None = None, jobs: int = 1, progress: Progress | None = None) -> list[Row]:
    """One row for each point, in order. Raises Interrupted on Ctrl-C, and GpusimError if not a single point can run."""
    if jobs < 1:
        raise GpusimError(f"jobs = {jobs} is no number of processes.", where="sweep", hint="Give 1 or more.")
    store = Cache(cache) if cache is not None else None
    kept = store.load() if store else {}
    rows = {p.key: kept[p.key] for p in points if p.key in kept}
    todo = list({p.key: p for p in points if p.key not in rows}.values())
    taken, in_all = len(rows), len(rows) + len(todo)
    tell = progress or (lambda done, taken, in_all: None)
    tell(taken, taken, in_all)
    try:
        with store.appending() if store else nullcontext() as appender:
            for point, row in _simulated(todo, jobs):
                rows[point.key] = row
                if appender:
                    appender.add(point.key, row)
                tell(len(rows), taken, in_all)
    except KeyboardInterrupt:
        raise Interrupted(_in_order(points, rows)) from None
    done = _in_order(points, rows)
    if done and all("error" in row for row in done):
        raise GpusimError(f"no point of the sweep can run. The first: {done[0]['error']}")
    return done


def _in_order(points: Sequence[Point], rows: dict[str, Row]) -> list[Row]:
    return [rows[p.key] for p in points if p.key in rows]


def _simulated(points: list[Point], jobs: int) -> Iterator[tuple[Point, Row]]:
    if jobs == 1 or len(points) < 2:
        for point in points:
            yield point, simulate_point(point)
        return
    from joblib import Parallel, delayed

    results: Any = Parallel(n_jobs=min(jobs, len(points)), return_as="generator_unordered", batch_size=1)(delayed(_keyed)(point) for point in points)
    by_key = {point.key: point for point in points}
    for key, row in results:
        yield by_key[key], row


def _keyed(point: Point) -> tuple[str, Row]:
    return point.key, simulate_point(point)
