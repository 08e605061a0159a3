"""`gpusim validate`: files of measured cases in, tables and JSON of errors out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.spec.load import load_gpu
from gpusim.trace.nsight import OF_THREADS
from gpusim.validate.cases import Case, read
from gpusim.validate.clocks import ClockError, clock_errors
from gpusim.validate.evaluate import evaluate_all
from gpusim.validate.mapping import DEFAULT_GPU
from gpusim.validate.metrics import MetricError, compare_metrics
from gpusim.validate.outcome import Outcome
from gpusim.validate.pairs import PairStatistics, pair_statistics
from gpusim.validate.protocol import Measure, measure_of
from gpusim.validate.rank import rank as rank_of
from gpusim.validate.selection import select
from gpusim.validate.simt.counters import CounterError, beside, compare, metrics
from gpusim.validate.simt.expand import expand
from gpusim.validate.stats import Statistics, by, statistics
from gpusim.validate.table import clock_table, counter_table, metric_table, pair_table, rank_table, reasons, statistics_table, worst_table


@dataclass(frozen=True)
class Validation:
    """The outcome of every case, and its statistics per group and per family. `rank` is empty and `pairs` None unless asked for."""

    gpu: str
    measure: Measure
    min_us: float
    outcomes: tuple[Outcome, ...]
    rank: dict[str, dict[str, Any]] = field(default_factory=dict)
    counters: tuple[CounterError, ...] = ()
    metrics: dict[str, MetricError] = field(default_factory=dict)
    pairs: dict[str, PairStatistics] | None = None

    @property
    def groups(self) -> dict[str, Statistics]:
        return {group: statistics(members) for group, members in by(lambda o: o.group, self.outcomes).items()}

    @property
    def families(self) -> dict[str, Statistics]:
        return {family: statistics(members) for family, members in by(lambda o: o.family, self.outcomes).items()}

    @property
    def clocks(self) -> dict[str, ClockError]:
        return clock_errors(self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` writes: fractions, not percent; None where nothing counts."""
        return {
            "measure": self.measure.name,
            "groups": {name: s.to_dict() for name, s in self.groups.items()},
            "families": {name: s.to_dict() for name, s in self.families.items()},
            "rank": self.rank,
            **({"clock": {name: e.to_dict() for name, e in clocks.items()}} if (clocks := self.clocks) else {}),
            **({"counters": [asdict(c) for c in self.counters]} if self.counters else {}),
            **({"metrics": {name: e.to_dict() for name, e in self.metrics.items()}} if self.metrics else {}),
            **({"pairs": {name: p.to_dict() for name, p in self.pairs.items()}} if self.pairs is not None else {}),
            "cases": [o.to_dict() for o in self.outcomes],
        }

    def text(self, worst: int = 0) -> str:
        """The tables, with the `worst` cases of largest error spelled out."""
        head = f"{self.gpu}, {self.measure.text}; cases under {self.min_us:g} us do not count; error = simulated / measured - 1"
        parts = [head, statistics_table("group", self.groups), statistics_table("family", self.families), reasons(self.outcomes)]
        parts += [counter_table(self.counters)] if self.counters else []
        parts += [metric_table(self.metrics)] if self.metrics else []
        parts += [clock_table(self.clocks)] if self.clocks else []
        parts += [rank_table(self.rank)] if self.rank else []
        parts += [pair_table(self.pairs)] if self.pairs is not None else []
        parts += [worst_table(self.outcomes, worst)] if worst else []
        return "\n\n".join(part for part in parts if part)


def validate(
    files: Sequence[str],
    *,
    groups: Iterable[str] = (),
    families: Iterable[str] = (),
    ids: Iterable[str] = (),
    gpu: str = DEFAULT_GPU,
    measure: str = "cycles",
    min_us: float = 10.0,
    jobs: int | None = None,
    json_out: str | None = None,
    worst: int = 0,
    rank: bool = False,
    counters: str | None = None,
    pairs: bool = False,
) -> Validation:
    """Simulate the measured cases of `files` that pass the filters, print the tables, write JSON to `json_out` ("-": to stdout, and the tables
    to stderr). counters: a file of profiled launches to compare counters with, by id; None: counters.json beside a file, if there.
    pairs: also compare every two cases of one family and size.

    Raises GpusimError for a file that cannot be read, a filter that matches nothing, a GPU or measure that does not exist."""
    _check(files, min_us, worst, json_out)
    protocol = measure_of(measure)
    spec = load_gpu(gpu)
    everything = expand(read_all(files))
    cases = select(everything, groups, families, ids)
    outcomes = tuple(evaluate_all(cases, spec, protocol, min_us, jobs))
    ranks = {group: rank_of(members) for group, members in by(lambda o: o.group, outcomes).items()} if rank else {}
    told = _counters(outcomes, everything, counters or beside(files), protocol)
    found = Validation(spec.name, protocol, min_us, outcomes, ranks, *told, pair_statistics(outcomes) if pairs else None)
    print(found.text(worst), file=sys.stderr if json_out == "-" else sys.stdout)
    if json_out is not None:
        _write(json_out, json.dumps(found.to_dict(), indent=1, allow_nan=False))
    return found


def _counters(
    outcomes: Sequence[Outcome], cases: Sequence[Case], more: str | None, protocol: Measure
) -> tuple[tuple[CounterError, ...], dict[str, MetricError]]:
    """Counters of the outcomes against those that the cases hold themselves, or the file `more`: by our names where threads were simulated,
    and by the profiler's names for all launches."""
    if not any(o.counters for o in outcomes):
        return (), {}
    profiles = metrics([*(read(more) if more else ()), *cases])
    threads = [o for o in outcomes if OF_THREADS in o.counters]
    return tuple(compare(threads, profiles)), compare_metrics(outcomes, profiles, behind=protocol.l2 in ("cold", "foreign-clean"))


def read_all(files: Sequence[str]) -> list[Case]:
    """The cases of all files, in order. A file that is named twice would count twice, so it is an error."""
    for i, name in enumerate(files):
        if any(Path(name).resolve() == Path(other).resolve() for other in files[:i]):
            raise GpusimError("is named twice.", where=name, hint="Its cases would count twice.")
    return [case for name in files for case in read(name)]


def _check(files: Sequence[str], min_us: float, worst: int, json_out: str | None) -> None:
    """Mistakes that would only show after minutes of simulation."""
    if not files:
        raise GpusimError("no file of measured cases.", where="validate", hint="Give a file, or the name of a shipped set.")
    if not min_us >= 0:
        raise GpusimError(f"{min_us} us is no duration.", where="--min-us", hint="Give 0 or more.")
    if worst < 0:
        raise GpusimError(f"{worst} cases cannot be shown.", where="--worst", hint="Give 0 or more.")
    if json_out not in (None, "-") and not Path(str(json_out)).resolve().parent.is_dir():
        raise GpusimError("its folder does not exist.", where=f"--json {json_out}", hint="Create the folder first.")


def _write(where: str, text: str) -> None:
    if where == "-":
        print(text)
        return
    try:
        Path(where).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise GpusimError(f"cannot be written ({error.strerror or error}).", where=f"--json {where}") from None
