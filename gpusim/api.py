"""The Python interface: run one program, sweep many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.options import Options
from gpusim.report.report import Report
from gpusim.spec.kinds import Device
from gpusim.spec.load import list_specs, load_gpu, load_spec

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from gpusim.cuda.dispatcher import Dispatcher
    from gpusim.cuda.launching import How, Launch
    from gpusim.report.program import ProgramReport
    from gpusim.report.side_by_side import Comparison

__all__ = ["compare", "list_specs", "load_spec", "program", "run", "sweep"]


def run(
    program: Program | Dispatcher,
    gpu: str | Path | Device = "h100",
    *,
    inputs: Mapping[str, np.ndarray] | None = None,
    grid: int | Sequence[int] | None = None,
    block: int | Sequence[int] | None = None,
    args: Sequence[Any] = (),
    shared: int = 0,
    cluster: int | Sequence[int] = 1,
    registers: int | None = None,
    values: bool = True,
    l2: str = "cold",
    launch: str = "out",
    clock: float | str | None = None,
    data: str = "random",
    exact: bool = False,
    without: Sequence[str] = (),
    timeline: bool = False,
) -> Report:
    """Simulate one launch of `program` and report its time and traffic.

    program: what a function of `gs.kernels` returns, or a kernel under `@cuda.jit` or `@triton.jit`. gpu: a name ("h100"), the path of a YAML file, or
    a loaded specification; a TPU ("tpu-v5e") runs programs of tiles only. l2: before the launch: "cold", "foreign-clean", "foreign-dirty",
    or "warm" (after an identical launch); launch: overhead "in" or "out"; clock: SM clock in MHz, or "boost" (the highest that such a launch
    gets, as None), "load" (what this one gets under its own load), "sustained" (what it keeps for seconds); data: what the arrays are supposed
    to hold, "random" or "zeros", which tells power and clock; exact: simulate every block and step instead of reusing equal ones;
    without: costs to take away from the machine, such as ["bank-conflicts", "l2-misses"], or ["all"]: `report.saved` says what each of them saves.

    Programs of tiles: inputs are tensor name -> array of the tensor's shape; if given, the values are computed as well and stand in
    `report.values`; timeline: keep what `report.plot_timeline()` draws. CUDA kernels: grid, block and cluster are integers or up to three of
    them, args the arguments in order, shared the bytes of dynamic shared memory, cluster the blocks that run side by side and reach each
    other's shared memory, registers those of a thread (None: estimated). Arrays hold the results afterwards, also in `report.values`; with
    values=False they stay as they are, and only what time and counters need is computed.
    Triton kernels: grid, and args in their order or by name ({"x": x, "n": n, "BLOCK": 1024, "num_warps": 8}).
    Raises GpusimError for what the device cannot do, and for what the sanitizer finds.
    """
    from gpusim.launch.run import simulate

    options = Options(l2, launch, clock, exact, (without,) if isinstance(without, str) else tuple(without), data)
    if hasattr(program, "kernel_function"):
        _only_for_kernels(inputs=inputs, block=block, shared=shared or None, registers=registers, cluster=None if cluster == 1 else cluster)
        return _run_tiles(program, load_spec(gpu), options, grid, args, values)
    if not isinstance(program, Program):
        from gpusim.cuda.launching import How

        return _run_simt(program, inputs, args, (grid, block, shared), How(load_gpu(gpu), registers, options), values, cluster)
    _only_for_kernels(grid=grid, block=block, args=args or None, shared=shared or None, registers=registers, cluster=None if cluster == 1 else cluster)
    spec = load_spec(gpu)
    done = simulate(program, spec, **options.for_launch(), **({"timeline": True} if timeline else {}))
    if inputs is None:
        return Report(done, spec)
    from gpusim.interp.tile import compute

    return Report(done, spec, compute(program, dict(inputs)))


def compare(program: Program, gpu: Iterable[str | Path | Device], *, launch: str = "out", clock: float | None = None) -> Comparison:
    """Simulate one launch of `program` on each device of `gpu`; print the result to see them side by side.

    A tile that the program leaves open is chosen for each device: on GPUs the quickest of a few, on TPUs the one that suits the sizes.
    launch: overhead "in" or "out"; clock: in MHz, of all of them (None: each model's own). A device that cannot run the program stands in
    `refused` with the reason. Raises GpusimError if none can.

    >>> print(gs.compare(gs.kernels.gemm(4096, 4096, 4096), ["a100", "h100", "tpu-v4", "tpu-v5p"]))  # doctest: +SKIP
    """
    from gpusim.launch.compared import simulate_compared
    from gpusim.report.side_by_side import Comparison

    options = Options("cold", launch, clock)
    specs = [load_spec(name) for name in gpu]
    reports, refused = [], {}
    for spec in specs:
        try:
            reports.append(Report(simulate_compared(program, spec, **options.for_launch()), spec))
        except GpusimError as error:
            refused[spec.name] = str(error)
    if not reports:
        first = next(iter(refused.values()), "no device is given.")
        raise GpusimError(f"there is nothing to compare: {first}", hint="Give several devices of `gpusim devices`.")
    return Comparison(tuple(reports), refused)


def program(
    launches: Iterable[Launch | Program],
    gpu: str | Path | Device = "h100",
    *,
    values: bool = True,
    l2: str = "cold",
    launch: str = "out",
    submit: str = "graph",
    clock: float | str | None = None,
    data: str = "random",
    exact: bool = False,
) -> ProgramReport:
    """Simulate several launches in this order; L2 keeps between them what it holds. The report has a line for each.

    launches: `gs.Launch` of kernels, or programs of `gs.kernels`, which are timed apart: their L2 begins as that of the first launch. values:
    compute what the kernels compute; arrays hold it afterwards. l2: before the first launch: "cold", "foreign-clean" or "foreign-dirty".
    launch: "out" adds the launches up; "in" is the time between events around all of them: the overhead of one launch, and what the device
    needs between two that are nodes of a graph (submit="graph") or that the host brings one by one (submit="stream"). clock, data, exact: as in `gs.run`.

    >>> gs.program([gs.Launch(fill, grid=64, block=256, args=(x,)), gs.Launch(scale, grid=64, block=256, args=(x, y))])  # doctest: +SKIP
    """
    from gpusim.cuda.sequence import run_program

    return run_program(tuple(launches), load_gpu(gpu), Options(l2, launch, clock, exact, data=data), submit, values)


def _only_for_kernels(**given: Any) -> None:
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise GpusimError(f"{', '.join(named)}: for CUDA kernels only.", hint="Leave it out: a program of tiles knows its own grid and arguments.")


def _run_tiles(kernel: Any, spec: Any, options: Options, grid: Any, args: Any, values: bool) -> Report:
    from gpusim.cuda.launching import How

    if grid is None:
        raise GpusimError("no grid was given.", hint="Give grid as a tuple of up to three integers, or as a function of the arguments.")
    named = dict(args) if isinstance(args, Mapping) else {}
    report: Report = kernel.run(*(() if named else args), grid=grid, how=How(spec, None, options), values=values, **named).report
    return report


def _run_simt(kernel: Any, inputs: Any, args: Sequence[Any], shape: tuple[Any, Any, int], how: How, values: bool, cluster: Any) -> Report:
    from gpusim.cuda.dispatcher import Dispatcher
    from gpusim.cuda.launching import run_kernel

    if inputs is not None:
        raise GpusimError("`inputs` is for programs of tiles.", hint="Give the arguments of a CUDA kernel in their order: args=(x, y, n).")
    if not isinstance(kernel, Dispatcher):
        raise GpusimError(
            f"gs.run needs a program or a CUDA kernel, not {kernel!r}.",
            hint="Call a kernel of the library first: gs.run(gs.kernels.gemm(m=1024, n=1024, k=1024)); or put @cuda.jit above your own.",
        )
    return run_kernel(kernel, args, *shape, how, values, cluster)


def sweep(
    kernel: Callable[..., Program],
    gpu: Any = "h100",
    *,
    l2: str = "cold",
    launch: str = "out",
    clock: float | str | None = None,
    data: str = "random",
    exact: bool = False,
    cache: str | Path | None = None,
    jobs: int = 1,
    plot: str | Path | None = None,
    **axes: Any,
) -> pd.DataFrame:
    """Simulate `kernel` at every combination of `axes`; one row a point, in the order of the axes, `gpu` outermost.

    gpu: one GPU or a list of them. axes: the kernel's own parameters; a range, list or array is an axis, the name of another
    parameter follows it (`n="m"`), anything else is one value for all points. A point that a device cannot run has its reason in
    the column `error`. cache: a file of JSON lines to which every finished point is added at once; a point that is in it already
    is not simulated again. jobs: processes. plot: where to draw the result (.png, .svg, .pdf).
    Raises GpusimError for an axis that is empty or unknown, and if no point at all can run.

    >>> gs.sweep(gs.kernels.gemm, gpu=["a100", "h100"], m=range(1024, 4096, 256), n="m", k=4096)  # doctest: +SKIP
    """
    from gpusim.sweeps.axes import from_python
    from gpusim.sweeps.execute import execute
    from gpusim.sweeps.points import make_points
    from gpusim.sweeps.table import draw, frame, plotted_axis

    options = Options(l2, launch, clock, exact, data=data)
    grid = from_python(kernel, gpu, axes)
    if plot is not None:
        plotted_axis(grid)
    rows = execute(make_points(kernel, grid, options), cache=cache, jobs=jobs)
    if plot is not None:
        draw(rows, grid, plot)
    return frame(rows)
