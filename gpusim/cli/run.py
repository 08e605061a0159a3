"""`gpusim run KERNEL`: simulate one launch and print the report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli import simt
from gpusim.cli.files import check_picture, check_writable, write_text
from gpusim.cli.kernels import Kernel, options, with_options
from gpusim.cli.options import L2, Clock, Data, Exact, Launch, Without, costs
from gpusim.kernels import KERNELS

if TYPE_CHECKING:
    from gpusim.ir.program import Program
    from gpusim.report.program import ProgramReport
    from gpusim.report.report import Report

Timeline = Annotated[str | None, typer.Option("--timeline", metavar="FILE", help="Draw what SMs or cores did when (.png, .svg, .pdf).")]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the report as JSON; - is stdout, and nothing else is printed there.")]


def build() -> typer.Typer:
    """The group of kernels."""
    group = typer.Typer(cls=simt.RunGroup, no_args_is_help=True, rich_markup_mode=None, help="Simulate one launch of a kernel.")
    for name, kernel in KERNELS.items():
        group.command(name, help=_headline(kernel))(with_options(_command(kernel), options(kernel, as_text=False)))
    group.command(simt.COMMAND, help=simt.HELP)(simt.run_file)
    return group


def _headline(kernel: Kernel) -> str:
    return (kernel.__doc__ or "").strip().split("\n")[0]


def _command(kernel: Kernel) -> Any:
    def run(
        given: dict[str, Any],
        *,
        gpu: Annotated[str, typer.Option(help="A name from `gpusim devices`, or the path of a YAML file.")] = "h100",
        l2: L2 = "cold",
        launch: Launch = "out",
        clock: Clock = None,
        data: Data = "random",
        exact: Exact = False,
        without: Without = "",
        values: Annotated[bool, typer.Option("--values", help="Also compute the values and print their error against NumPy.")] = False,
        json: Json = None,
        timeline: Timeline = None,
        verbose: Annotated[bool, typer.Option("--verbose", help="Also print every counter with its name in Nsight Compute.")] = False,
    ) -> None:
        from gpusim import api
        from gpusim.report.data import json_text

        check_writable(json, "--json")
        check_picture(timeline, "--timeline")
        program = kernel(**given)
        if isinstance(program, tuple):
            print(_launches(program, gpu, l2=l2, launch=launch, clock=clock, data=data, exact=exact, json=json), file=sys.stderr if json == "-" else sys.stdout)
            return
        report = api.run(program, gpu, l2=l2, launch=launch, clock=clock, data=data, exact=exact, without=costs(without), timeline=timeline is not None)
        options = {"gpu": gpu, "l2": l2, "launch": launch, "clock": clock, "data": data, "exact": exact, "without": without}
        out = sys.stderr if json == "-" else sys.stdout
        print(_text(report, given, options, verbose), file=out)
        if json == "-":
            sys.stdout.write(json_text(report))
        elif json is not None:
            write_text(json, json_text(report))
        if values:
            print(_values(program), file=out)
        if timeline is not None:
            report.plot_timeline(timeline)
            print(f"wrote {timeline}", file=out)

    return run


def _launches(programs: tuple[Program, ...], gpu: str, *, json: str | None, **options: Any) -> ProgramReport:
    """The report of a kernel that is several launches."""
    from gpusim import api

    report = api.program(programs, gpu, **options)
    if json == "-":
        sys.stdout.write(report.json_text())
    elif json is not None:
        write_text(json, report.json_text())
    return report


#: the options of `run` that set the protocol, and what they are unless given
DEFAULTS = {"gpu": "h100", "l2": "cold", "launch": "out", "clock": None, "data": "random", "exact": False, "without": ""}


def _text(report: Report, given: dict[str, Any], options: dict[str, Any], verbose: bool) -> str:
    """Every parameter and option, those that were given apart from the defaults; then the report."""
    from gpusim.report.text import render, wrap

    chosen = {**{n: n in given for n in report.params}, **{n: value != DEFAULTS[n] for n, value in options.items()}}
    shown = report.params | options | ({"clock": "the model's own"} if options["clock"] is None else {})
    lines = []
    for label, wanted in (("given", True), ("defaults", False)):
        text = "  ".join(f"{name}={_plain(shown[name])}" for name in shown if chosen[name] is wanted)
        lines += wrap(label, text) if text else []
    return "\n".join([*lines, "", render(report, detailed=verbose, parameters=False)])


def _plain(value: Any) -> str:
    words = {True: "yes", False: "no", None: "auto"}
    return words[value] if value is None or isinstance(value, bool) else str(value) or "nothing"


def _values(program: Program) -> str:
    """Compute the values of random inputs, and how far they are from NumPy's in float64."""
    from gpusim.interp.tile import compute, error_against, random_inputs
    from gpusim.kernels.reference import REFERENCES
    from gpusim.report.text import wrap

    inputs = random_inputs(program)
    errors = error_against(compute(program, inputs), REFERENCES[program.name](program, inputs))
    text = "; ".join(f"{name}: relative error {e['relative_error']:.2e} (norm), largest absolute error {e['max_abs_error']:.2e}" for name, e in errors.items())
    return "\n".join(wrap("values", f"computed for random inputs, against NumPy in float64: {text}"))
