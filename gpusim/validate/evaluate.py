"""Simulate measured cases: one, or many in several processes with a progress bar."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from gpusim.errors import GpusimError
from gpusim.launch.run import simulate
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run
from gpusim.validate.cases import Case
from gpusim.validate.clocks import both, mhz_of
from gpusim.validate.mapping import Mapped, Unsupported, map_case
from gpusim.validate.outcome import Outcome
from gpusim.validate.profiled import counted, with_times
from gpusim.validate.protocol import Measure
from gpusim.validate.sequence import simulated
from gpusim.validate.simt.evaluate import evaluate_simt, is_ours


def evaluate(case: Case, spec: GpuSpec, measure: Measure, min_us: float) -> Outcome:
    """Simulate `case` under `measure` and compare. What cannot be mapped or simulated is an outcome too, with its reason."""
    if is_ours(case):
        return evaluate_simt(case, spec, measure, min_us)
    case = with_times(case, spec)
    measured = case.number(*measure.truth)
    try:
        mapped = map_case(case, measure)
        value, run = simulated((mapped.program, *mapped.then), mapped.options, spec, measure) if mapped.then else _alone(mapped, spec, measure)
    except (Unsupported, GpusimError) as reason:
        return Outcome(case.id, case.group, case.family, measured, None, measure.unit, None, "unsupported", str(reason), case.noise, "", case.params)
    except Exception as error:
        error.add_note(f"while simulating the measured case {case.id}")
        raise
    assert measured is not None, "map_case refuses a case without its measured value"
    short = _length_us(case, measure) < min_us
    return Outcome(
        case.id,
        case.group,
        case.family,
        measured,
        value,
        measure.unit,
        value / measured - 1,
        "short" if short else "ok",
        f"shorter than {min_us:g} us" if short else None,
        case.noise,
        mapped.shape,
        case.params,
        counted(run, spec),
        both(case.number("clock_mhz"), mhz_of(run, spec)),
    )


def _alone(mapped: Mapped, spec: GpuSpec, measure: Measure) -> tuple[float, Run]:
    run = simulate(mapped.program, spec, **mapped.options)
    return measure.simulated(run), run


def evaluate_all(cases: Sequence[Case], spec: GpuSpec, measure: Measure, min_us: float, jobs: int | None = None) -> list[Outcome]:
    """`evaluate` for each case, in their order, on `jobs` processes (None: one per core). The bar is drawn on stderr."""
    if jobs is not None and jobs < 1:
        raise GpusimError(f"{jobs} processes cannot do anything.", where="--jobs", hint="Give 1 or more.")
    found: dict[int, Outcome] = {}
    workers = min(jobs or os.cpu_count() or 1, len(cases))
    for index, outcome in _with_bar(_outcomes(cases, spec, measure, min_us, workers), len(cases)):
        found[index] = outcome
    return [found[i] for i in range(len(cases))]


def _outcomes(cases: Sequence[Case], spec: GpuSpec, measure: Measure, min_us: float, workers: int) -> Iterator[tuple[int, Outcome]]:
    if workers <= 1:
        for i, case in enumerate(cases):
            yield i, evaluate(case, spec, measure, min_us)
        return
    from joblib import Parallel, delayed

    work = (delayed(_numbered)(i, case, spec, measure, min_us) for i, case in enumerate(cases))
    yield from Parallel(n_jobs=workers, return_as="generator_unordered")(work)


def _numbered(index: int, case: Case, spec: GpuSpec, measure: Measure, min_us: float) -> tuple[int, Outcome]:
    return index, evaluate(case, spec, measure, min_us)


def _with_bar(outcomes: Iterator[tuple[int, Outcome]], total: int) -> Iterator[tuple[int, Outcome]]:
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(outcomes, "simulating measured cases", total=total, console=console, transient=True, disable=not console.is_terminal)


def _length_us(case: Case, measure: Measure) -> float:
    """How long the case took, in us. A case with cycles and clock but no duration has the quotient."""
    ns = case.number(*measure.length)
    cycles, clock = case.number("sm_cycles"), case.number("clock_mhz")
    if ns is not None:
        return ns / 1000
    return cycles / clock if cycles and clock else float("inf")
