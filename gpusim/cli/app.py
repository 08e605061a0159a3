"""The command `gpusim`: the table of its commands, and how mistakes end.

Exit status: 0 done, 1 the reader of the output has gone, 2 a mistake of the user (one paragraph on stderr), 130 interrupted with Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.core

import gpusim
from gpusim.cli import calibrate, compare, demo, devices, probe, run, show, sweep, systolic, validate
from gpusim.errors import GpusimError


class InOrder(typer.core.TyperGroup):
    """Lists commands in the order in which a newcomer needs them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return ["demo", "run", "compare", "sweep", "probe", "validate", "calibrate", "devices", "show", "systolic"]


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(name="gpusim", cls=InOrder, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback()(_root)
    app.add_typer(run.build(), name="run")
    app.add_typer(compare.build(), name="compare")
    app.add_typer(sweep.build(), name="sweep")
    for command in (probe.probe, validate.validate, calibrate.calibrate, devices.devices, show.show, systolic.systolic, demo.demo):
        app.command()(command)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = build()(args=given, prog_name="gpusim", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except GpusimError as error:
        return _complain(str(error))
    except BrokenPipeError:
        # the reader (head, less) has gone; what it did not read must not be flushed again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}.")
    except KeyboardInterrupt:
        print("gpusim: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        # the parser's own errors, whichever package they come from, can format themselves; anything else is a bug and shows itself
        if not hasattr(error, "format_message"):
            raise
        return _usage(error)


def _usage(error: Exception) -> int:
    """A wrong option or command. An empty message means that help was asked for by giving nothing, and was printed."""
    message = error.format_message().strip()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return 2
    path = context.command_path if context else "gpusim"
    return _complain(" ".join(f"{message.rstrip('.')}. See `{path} --help`.".split()))


def _complain(message: str) -> int:
    """Lines stay lines: a message may quote the source between them."""
    print("gpusim: " + "\n".join(line.rstrip() for line in message.splitlines()), file=sys.stderr)
    return 2


def _version(asked: bool) -> None:
    if asked:
        print(f"gpusim {gpusim.__version__}")
        raise typer.Exit


def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    """How long a GPU kernel takes, and why, without the GPU."""
