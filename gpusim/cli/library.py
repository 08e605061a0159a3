"""`gpusim run saxpy --n 1048576`: one launch of a CUDA kernel of the library, its options made from its parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli.kernels import with_options
from gpusim.cli.options import L2, Clock, Data, Exact, Launch, Without, costs
from gpusim.cli.reporting import Json, Outputs, Picture, Registers, Source, Trace, Verbose

if TYPE_CHECKING:
    from gpusim.kernels.simt.entry import Entry
    from gpusim.report.report import Report

Values = Annotated[bool, typer.Option("--values", help="Also compute the values and print their error against NumPy.")]


def names() -> list[str]:
    """The kernels, in the order of the library."""
    from gpusim.kernels.simt import LIBRARY

    return list(LIBRARY)


def command(name: str) -> Any:
    """The click command of kernel `name`."""
    from gpusim.kernels.simt import LIBRARY

    entry = LIBRARY[name]
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(name, help=_headline(entry))(with_options(_runner(name, entry), _options(entry)))
    return typer.main.get_command(app)


def _headline(entry: Entry) -> str:
    """What the kernel, or the function that makes it, says of itself."""
    return (entry.build(entry.params).__doc__ or entry.kernel.__doc__ or "").strip().split("\n")[0]


def _options(entry: Entry) -> list[inspect.Parameter]:
    made = []
    for name, default in entry.params.items():
        option = typer.Option(f"--{name.replace('_', '-')}", help=f"[default: {default}]", show_default=False)
        kind = Annotated[type(default) | None, option]  # type: ignore[valid-type]
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind))
    return made


def _runner(name: str, entry: Entry) -> Any:
    def run(
        given: dict[str, Any],
        *,
        gpu: Annotated[str, typer.Option(help="A name from `gpusim devices`, or the path of a YAML file.")] = "h100",
        registers: Registers = None,
        l2: L2 = "cold",
        launch: Launch = "out",
        clock: Clock = None,
        data: Data = "random",
        exact: Exact = False,
        without: Without = "",
        values: Values = False,
        source: Source = False,
        trace: Trace = None,
        divergence: Picture = None,
        json: Json = None,
        verbose: Verbose = False,
    ) -> None:
        outputs = Outputs(source, verbose, json, trace, divergence)
        protocol = {"gpu": gpu, "registers": registers, "l2": l2, "launch": launch, "clock": clock, "data": data, "exact": exact, "without": costs(without)}
        report, errors = launched(entry, {**entry.params, **given}, values, protocol)
        outputs.give(report, errors)

    return run


def launched(entry: Entry, params: dict[str, Any], values: bool, protocol: dict[str, Any]) -> tuple[Report, str]:
    """The report of one launch with random arguments, and, if `values`, how far its results are from NumPy's."""
    import numpy as np

    from gpusim import api

    arguments = _arguments(entry, params, values)
    before = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in arguments.items()} if values else {}
    shape = entry.launch(params)
    report = api.run(entry.build(params), grid=shape.grid, block=shape.block, shared=shape.shared, args=list(arguments.values()), values=values, **protocol)
    return report, _errors(entry.expected(params, before), arguments) if values else ""


def _arguments(entry: Entry, params: dict[str, Any], values: bool) -> dict[str, Any]:
    """Random ones. Of arrays that no time depends on only the pages are there, unless `values` are wanted."""
    import numpy as np

    from gpusim.kernels.simt.entry import Array, materialise, numpy_dtype

    given = entry.args(params)
    idle = {n for n, arg in given.items() if isinstance(arg, Array) and not values and n not in entry.data}
    made = materialise({n: arg for n, arg in given.items() if n not in idle}, np.random.default_rng(0))
    return {n: np.zeros(arg.shape, numpy_dtype(arg.dtype)) if n in idle and isinstance(arg, Array) else made[n] for n, arg in given.items()}


def _errors(expected: dict[str, Any], found: dict[str, Any]) -> str:
    import numpy as np

    from gpusim.report.text import wrap

    told = []
    for name, right in expected.items():
        off = np.abs(found[name].astype(np.float64) - right)
        told.append(f"{name}: largest absolute error {off.max(initial=0.0):.2e} where values reach {np.abs(right).max(initial=0.0):.3g}")
    return "\n".join(wrap("values", f"computed for random inputs, against NumPy: {'; '.join(told)}"))
