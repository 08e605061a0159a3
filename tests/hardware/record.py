"""Writes the table of errors that reports print beside a prediction: `python -m tests.hardware.record` (from the root, minutes)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

import gpusim.report
from gpusim.launch.run import simulate
from gpusim.launch.simt.run import simulate_simt
from gpusim.report.confidence import CLASSES, family, kernel_class
from gpusim.spec.load import load_spec
from gpusim.validate.cases import Case, read
from gpusim.validate.mapping import DEFAULT_GPU, KERNELS, has_program, map_case
from gpusim.validate.outcome import Outcome
from gpusim.validate.protocol import MEASURES
from gpusim.validate.simt.launches import is_measured_launch, launch_of
from gpusim.validate.stats import statistics

TABLE = Path(gpusim.report.__file__).with_name("errors.json")
PROTOCOL = (
    "cycles at each case's clock, L2 cold, launch out, against sm_cycles (threads: time with a clean L2 and launch in, against clean_ns); "
    "cases of 10 us and more; simulated / measured - 1"
)
#: every so manieth case is noted alone, so that a test can tell a stale table without simulating all
NOTED_EVERY = 62


def measured() -> list[Case]:
    """The cases that have a program, cycles, and a length of at least 10 us; of kernels of threads, those with a time of that length."""
    cases = read(DEFAULT_GPU)
    tiles = [c for c in cases if has_program(c) and c.number("sm_cycles") and (c.number("gpu_ns") or 0) >= 10_000]
    return tiles + [c for c in cases if is_measured_launch(c) and (c.number(*MEASURES["clean"].truth) or 0) >= 10_000]


def outcome(case: Case) -> tuple[str, str, Outcome]:
    """(family, class, outcome) of a case."""
    return _tiles(case) if case.kernel in KERNELS else _threads(case)


def _threads(case: Case) -> tuple[str, str, Outcome]:
    measure, launch = MEASURES["clean"], launch_of(case)
    options: dict[str, Any] = {"registers": launch.registers, "values": False, "l2": measure.l2, "launch": measure.launch}
    run = simulate_simt(launch.kernel, launch.geometry, launch.args, load_spec(DEFAULT_GPU), **options).run
    truth, value = case.number(*measure.truth), measure.simulated(run)
    assert truth is not None
    return family(run), kernel_class(run), Outcome(case.id, case.group, case.family, truth, value, "ns", value / truth - 1, "ok", None)


def _tiles(case: Case) -> tuple[str, str, Outcome]:
    mapped = map_case(case, MEASURES["cycles"])
    run = simulate(mapped.program, load_spec(DEFAULT_GPU), **mapped.options)
    truth = case.number("sm_cycles")
    assert truth is not None
    return family(run), kernel_class(run), Outcome(case.id, case.group, case.family, truth, run.cycles, "cycles", run.cycles / truth - 1, "ok", None)


def main() -> None:
    cases = measured()
    found = Parallel(n_jobs=-1)(delayed(outcome)(case) for case in cases)
    kernels: dict[str, Any] = {}
    for kernel in sorted({k for k, _, _ in found}):
        for name, _ in CLASSES:
            s = statistics(o for k, c, o in found if (k, c) == (kernel, name))
            if s.cases:
                row = {"cases": s.cases} | {key: round(getattr(s, key), 4) for key in ("mape", "signed_mean", "p90", "worst")}
                kernels.setdefault(kernel, {})[name] = row
    noted = {o.id: round(o.error, 6) for _, _, o in found[::NOTED_EVERY]}
    table = {"protocol": PROTOCOL, "gpus": {load_spec(DEFAULT_GPU).name: kernels}, "noted": noted}
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
    print(TABLE.read_text())


if __name__ == "__main__":
    main()
