"""`gpusim compare KERNEL`: one kernel on several devices, side by side."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated, Any

import typer

from gpusim.cli import variants
from gpusim.cli.files import check_writable, write_text
from gpusim.cli.kernels import Kernel, KernelGroup, options, with_options
from gpusim.cli.options import Clock, Launch
from gpusim.kernels import KERNELS

HELP = "Simulate one launch of a kernel on several GPUs and TPUs, or several variants of it on one, side by side."
DEVICES = "a100,h100,tpu-v4,tpu-v5p"

Gpus = Annotated[str, typer.Option("--gpu", help="Names from `gpusim devices` or paths of YAML files, separated by commas.")]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the numbers as JSON; - is stdout, and nothing else is printed there.")]
Concepts = Annotated[bool, typer.Option("--concepts/--no-concepts", help="Print which part of a TPU is like which part of a GPU, where both are compared.")]


def build() -> typer.Typer:
    """The group of kernels."""
    group = typer.Typer(cls=KernelGroup, no_args_is_help=True, rich_markup_mode=None, help=HELP)
    for name, kernel in KERNELS.items():
        group.command(name, help=HELP)(with_options(_command(kernel), options(kernel, as_text=False)))
    return group


def _command(kernel: Kernel) -> Any:
    def compare(
        given: dict[str, Any],
        *,
        gpu: Gpus = DEVICES,
        launch: Launch = "out",
        clock: Clock = None,
        json: Json = None,
        concepts: Concepts = True,
    ) -> None:
        from gpusim import api
        from gpusim.report.side_by_side import concepts as table

        check_writable(json, "--json")
        devices = [name.strip() for name in gpu.split(",") if name.strip()]
        ways = variants.named(kernel, given)
        made: Any
        if ways:
            made = variants.side_by_side(kernel, given, ways, variants.DEVICE if gpu == DEVICES else devices[0], launch, clock)
        else:
            made = api.compare(kernel(**given), devices, launch=launch, clock=clock)
        out = sys.stderr if json == "-" else sys.stdout
        print(made, file=out)
        if concepts and not ways and made.mixed:
            print("\n" + table(), file=out)
        text = json_module.dumps(made.to_dict(), indent=2) + "\n"
        if json == "-":
            sys.stdout.write(text)
        elif json is not None:
            write_text(json, text)

    return compare
