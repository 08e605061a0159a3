"""Counters of a simulated launch against a profiler's: instructions, lanes, requests, sectors, passes through shared memory, occupancy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from gpusim.validate.cases import Case
from gpusim.validate.outcome import Outcome
from gpusim.validate.profiled import profiled

Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """A quantity, as both sides tell it. None: this side does not tell it for this launch. whole: only launches count whose measured value is
    a whole multiple of this counter of ours."""

    name: str
    ours: Callable[[Numbers], float | None]
    theirs: Callable[[Numbers], float | None]
    whole: str = ""


@dataclass(frozen=True, slots=True)
class CounterError:
    """Of one quantity over all launches where the measured one is not 0: how many agree exactly, and the relative errors. `zeros`: of the
    launches where it is 0, those that agree, and how many there are."""

    name: str
    cases: int
    exact: int
    median: float | None
    signed_mean: float | None
    worst: float | None
    worst_id: str | None
    zeros: tuple[int, int]


def _direct(name: str, ours: str, metric: str) -> Compared:
    return Compared(name, lambda c: c.get(ours), lambda m: m.get(metric))


def _whole(name: str, kind: str, what: str, metric: str) -> Compared:
    """Passes of a warp's accesses are a whole number each. A profiler that sums up fractions counts something else beside them."""
    return Compared(f"{name}, whole", lambda c: c.get(f"shared_{kind}_{what}"), lambda m: m.get(metric), f"shared_{kind}_requests")


def _ratio(over: str, under: str) -> Callable[[Numbers], float | None]:
    return lambda n: n[over] / n[under] if n.get(over) is not None and n.get(under) else None


def _limit(metrics: Numbers) -> float | None:
    """CTAs that fit an SM: the least of what each resource allows."""
    limits = [value for key, value in metrics.items() if key.startswith("launch__occupancy_limit_") and value]
    return min(limits) if limits else None


_L1 = "l1tex__{}_pipe_lsu_mem_{}.sum"
_GLOBAL = {"load": ("l1_load", "op_ld"), "store": ("l1_store", "op_st"), "atomic": ("global_atomic", "op_atom"), "reduction": ("global_red", "op_red")}
_LOCAL = {"load": ("local_load", "op_ld"), "store": ("local_store", "op_st")}
_SHARED = {"load": "op_ld", "store": "op_st", "atomic": "op_atom"}
_PIPES = ("alu", "fma", "lsu", "xu", "uniform")

#: every quantity that is compared
ROWS: tuple[Compared, ...] = (
    _direct("instructions", "instructions", "smsp__inst_executed.sum"),
    Compared("threads per instruction", _ratio("thread_instructions", "instructions"), _ratio("smsp__thread_inst_executed.sum", "smsp__inst_executed.sum")),
    _direct("branches", "branches", "smsp__inst_executed_op_branch.sum"),
    *(_direct(f"{pipe} instructions", f"{pipe}_instructions", f"smsp__inst_executed_pipe_{pipe}.sum") for pipe in _PIPES),
    _direct("tensor instructions", "tensor_instructions", "sm__inst_executed_pipe_tensor.sum"),
    *(
        _direct(f"{space} {kind} {what}", f"{ours}_{what}", _L1.format(f"t_{what}", f"{space}_{op}"))
        for space, kinds in (("global", _GLOBAL), ("local", _LOCAL))
        for kind, (ours, op) in kinds.items()
        for what in ("requests", "sectors")
    ),
    _direct("shared wavefronts", "shared_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    *(_direct(f"shared {k} wavefronts", f"shared_{k}_wavefronts", f"l1tex__data_pipe_lsu_wavefronts_mem_shared_{op}.sum") for k, op in _SHARED.items()),
    *(_direct(f"shared {k} conflicts", f"shared_{k}_conflicts", f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_{op}.sum") for k, op in _SHARED.items()),
    *(_whole(f"shared {k} wavefronts", k, "wavefronts", f"l1tex__data_pipe_lsu_wavefronts_mem_shared_{op}.sum") for k, op in _SHARED.items()),
    _direct("active warps, % of most", "warps_active_pct", "sm__warps_active.avg.pct_of_peak_sustained_active"),
    Compared("CTAs per SM", lambda c: c.get("ctas_per_sm"), _limit),
)


def compare(outcomes: Iterable[Outcome], measured: Mapping[str, Numbers]) -> list[CounterError]:
    """One line for each quantity that some launch has. measured: id of a case -> metrics of its launch."""
    pairs = [(o.id, o.counters, measured[o.id]) for o in outcomes if o.counters and o.id in measured]
    found = [_errors(row, pairs) for row in ROWS]
    return [f for f in found if f.cases or f.zeros[1]]


def _errors(row: Compared, pairs: Sequence[tuple[str, Numbers, Numbers]]) -> CounterError:
    pairs = [(name, c, m) for name, c, m in pairs if not row.whole or _is_multiple(row.theirs(m), c.get(row.whole))]
    told = [(name, ours, theirs) for name, c, m in pairs if (ours := row.ours(c)) is not None and (theirs := row.theirs(m)) is not None]
    zeros = [ours for _, ours, theirs in told if theirs == 0]
    errors = {name: ours / theirs - 1 for name, ours, theirs in told if theirs}
    if not errors:
        return CounterError(row.name, 0, 0, None, None, None, None, (sum(z == 0 for z in zeros), len(zeros)))
    worst = max(errors, key=lambda name: abs(errors[name]))
    exact = sum(ours == theirs for _, ours, theirs in told if theirs)
    size = median(abs(e) for e in errors.values())
    return CounterError(row.name, len(errors), exact, size, fmean(errors.values()), errors[worst], worst, (sum(z == 0 for z in zeros), len(zeros)))


def _is_multiple(value: float | None, unit: float | None) -> bool:
    return bool(value and unit and value % unit == 0)


def metrics(cases: Iterable[Case]) -> dict[str, Numbers]:
    """Id -> metrics of the launch, for the cases that a profiler saw as one launch."""
    return {case.id: launch for case in cases if (launch := profiled(case)) is not None}


def beside(files: Iterable[str]) -> str | None:
    """`counters.json` in the folder of one of `files`, where it is none of them."""
    for name in files:
        near = Path(name).parent / "counters.json"
        if Path(name).is_file() and near.is_file() and near.resolve() not in {Path(f).resolve() for f in files}:
            return str(near)
    return None


def rows_of(errors: Sequence[CounterError]) -> list[list[str]]:
    """The table, heading first."""
    head = ["counter", "cases", "exact", "median", "mean", "worst", "zero in both", "worst case"]
    return [head, *(_cells(e) for e in errors)]


def _cells(e: CounterError) -> list[str]:
    return [e.name, str(e.cases), str(e.exact), _pct(e.median), _pct(e.signed_mean, "+"), _pct(e.worst, "+"), _zeros(e), e.worst_id or "-"]


def _pct(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.1%}"


def _zeros(e: CounterError) -> str:
    return f"{e.zeros[0]} of {e.zeros[1]}" if e.zeros[1] else "-"
