"""`gpusim probe`: groups of microbenchmarks simulated, in tables, JSON and pictures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from gpusim.errors import GpusimError
from gpusim.probe.compare import Compared, compare, joined, to_dict
from gpusim.probe.plan import Excluded
from gpusim.probe.records import Record, read
from gpusim.probe.registry import MODULES, group, simulation, unit
from gpusim.probe.table import compared_text, simulated_text
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_gpu

#: records that one process takes at once: those of one name share compiled programs
BATCH = 8


def probe(
    name: str,
    *,
    gpu: str,
    compare_with: str | None = None,
    plots: str | None = None,
    json_out: str | None = None,
    record: str | None = None,
    jobs: int | None = None,
    worst: int = 0,
) -> dict[str, list[Compared]]:
    """Simulate the group `name` ("all": every one), print tables, write JSON to `json_out` ("-": stdout) and pictures into the folder `plots`.

    compare_with: a file of measured records; None: the group's own points are simulated, and nothing is compared. record: only records of
    that name. Raises GpusimError for a group, GPU, file or record name that does not exist.
    """
    names = tuple(MODULES) if name == "all" else (group(name).name,)
    spec = load_gpu(gpu)
    found = _by_group(names, _all(_wanted(names, compare_with, record), spec, jobs))
    text = compared_text(spec.name, found, worst) if compare_with else simulated_text(spec.name, found)
    print(text, file=sys.stderr if json_out == "-" else sys.stdout)
    if json_out is not None:
        written = json.dumps(to_dict(found), indent=1, allow_nan=False)
        print(written) if json_out == "-" else Path(json_out).write_text(written + "\n", encoding="utf-8")
    if plots is not None:
        from gpusim.probe.plot import draw

        for path in draw(found, Path(plots), spec.name):
            print(path, file=sys.stderr)
    return found


def _wanted(names: Sequence[str], compare_with: str | None, record: str | None) -> list[Record]:
    records = _points(names) if compare_with is None else [r for r in read(compare_with) if r.group in names]
    chosen = [r for r in records if record is None or r.name == record]
    if not chosen:
        known = ", ".join(dict.fromkeys(r.name for r in records)) or "none"
        what = f"no record '{record}'." if record is not None else f"no record of {', '.join(names)}."
        raise GpusimError(what, where=compare_with or f"probe {' '.join(names)}", hint=f"Records there: {known}.")
    return chosen


def _points(names: Sequence[str]) -> list[Record]:
    pairs = [(name, point) for name in names for point in group(name).points]
    return [Record(f"{name}/{point}#{i}", name, point, params, unit(name, point, params)) for i, (name, (point, params)) in enumerate(pairs)]


def run_record(record: Record, spec: GpuSpec) -> Compared:
    """Simulate one record and compare it with what was measured, if anything was."""
    failed = Compared(record, None, (), "unsupported")
    try:
        if record.error:
            raise Excluded(f"{record.name}: the measurement failed: {record.error}")
        split = group(record.group).split.get(record.name)
        if split is None or record.values is None:
            return _one(record, spec)
        points = [replace(record, params=params, value=value, values=None) for params, value in split(record.params, record.values)]
        return joined(record, [_one(point, spec) for point in points])
    except Excluded as why:
        return replace(failed, status="excluded", reason=str(why))
    except GpusimError as why:
        return replace(failed, reason=str(why))
    except Exception as unforeseen:
        unforeseen.add_note(f"while simulating {record.id}: {record.title}")
        raise


def _one(record: Record, spec: GpuSpec) -> Compared:
    value = simulation(record.group, record.name, record.params)(spec)
    measured = record.value is not None or record.values is not None
    return compare(record, value) if measured else Compared(record, value, (), "ok", "simulated only")


def _run_batch(first: int, records: Sequence[Record], spec: GpuSpec) -> list[tuple[int, Compared]]:
    return [(first + i, _timed(record, spec)) for i, record in enumerate(records)]


def _timed(record: Record, spec: GpuSpec) -> Compared:
    begin = perf_counter()
    row = run_record(record, spec)
    return replace(row, seconds=perf_counter() - begin)


def _all(records: Sequence[Record], spec: GpuSpec, jobs: int | None) -> list[Compared]:
    """Every record, in order, on `jobs` processes (None: one a core)."""
    if jobs is not None and jobs < 1:
        raise GpusimError(f"{jobs} processes cannot do anything.", where="--jobs", hint="Give 1 or more.")
    workers = min(jobs or os.cpu_count() or 1, len(records))
    found: dict[int, Compared] = {}
    for number, row in _with_bar(_rows(records, spec, workers), len(records)):
        found[number] = row
    return [found[i] for i in range(len(records))]


def _rows(records: Sequence[Record], spec: GpuSpec, workers: int) -> Iterator[tuple[int, Compared]]:
    if workers <= 1:
        for i, record in enumerate(records):
            yield i, _timed(record, spec)
        return
    from joblib import Parallel, delayed

    batches = (delayed(_run_batch)(i, records[i : i + BATCH], spec) for i in range(0, len(records), BATCH))
    for rows in Parallel(n_jobs=workers, return_as="generator_unordered")(batches):
        yield from rows


def _with_bar(rows: Iterator[tuple[int, Compared]], total: int) -> Iterator[tuple[int, Compared]]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(rows, "simulating probes", total=total, console=console, transient=True, disable=not console.is_terminal)


def _by_group(names: Sequence[str], rows: Sequence[Compared]) -> dict[str, list[Compared]]:
    found: dict[str, Any] = {name: [row for row in rows if row.record.group == name] for name in names}
    return {name: members for name, members in found.items() if members}
