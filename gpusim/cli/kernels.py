"""Options from a kernel's signature: a new kernel gets its commands without a line here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Optional, get_type_hints

import typer
import typer.core

from gpusim.errors import GpusimError
from gpusim.ir.program import Program

Kernel = Callable[..., Program]

#: parameter -> what --help says; the default follows
HELP = {
    "m": "Rows of A and C.",
    "n": "Columns of B and C.",
    "k": "Columns of A, rows of B.",
    "tile": "Tile of a CTA, or block of a TPU's grid step, BMxBNxBK.",
    "warps": "Warps of a CTA.",
    "stages": "Depth of the software pipeline.",
    "group_m": "Tile rows that are rasterised together.",
    "dtype": "Element type.",
    "ld": "Leading dimensions: padded to 16 elements, or packed.",
    "lda": "Leading dimension of A, in elements.",
    "ldb": "Leading dimension of B, in elements.",
    "ldc": "Leading dimension of C, in elements.",
    "roles": "Division of labour: none, producer-consumer, ping-pong, cooperative.",
    "cluster": "Tiles of a cluster, rows x columns; with roles.",
    "schedule": "persistent: a CTA takes tile after tile; or grid; with roles.",
    "mma_rows": "Side of C along which the rows of matrix instructions lie, m or n; with roles.",
    "split": "What cooperating warpgroups share of a tile, rows or columns.",
    "splits": "Shares of k, each with CTAs of its own.",
    "raster": "Side of C along which tiles follow each other, m or n; with roles.",
    "layout": "N or T (stored transposed) for A and B; with roles.",
    "epilogue": "Some of bias, relu, gelu, silu, residual, joined with +; with roles.",
    "rows": "Rows of the matrix.",
    "cols": "Elements of a row.",
    "variant": "How it is computed.",
    "fn": "What is computed for each element.",
    "block": "Elements of a tile, a power of two; of attention queries and keys, BrxBc.",
    "batch": "Sequences.",
    "heads": "Heads of queries.",
    "seq": "Keys of a head, and queries.",
    "head_dim": "Elements of a head.",
    "kv_heads": "Heads of keys and values.",
    "queries": "Queries of a head, the last ones.",
    "causal": "A query sees the keys up to its own.",
    "window": "Of these, the last ones; 0: all.",
    "dropout": "Share of the weights that are dropped.",
    "seed": "Which weights are dropped.",
    "direction": "forward or backward.",
}
#: (kernel, parameter) -> what stands for the default where the kernel or the device decides
DECIDED = {
    ("gemm", "tile"): "128x128x64 on GPUs; on TPUs the one that suits the size",
    ("gemm", "warps"): "4 up to 128x128, else 8",
    ("gemm", "stages"): "the most up to 4 that fit",
    ("gemm", "lda"): "by --ld",
    ("gemm", "ldb"): "by --ld",
    ("gemm", "ldc"): "by --ld",
    ("softmax", "block"): "the whole row, or 1024",
    **{(name, "warps"): "4 to 16, by the length of a row" for name in ("softmax", "layernorm", "rmsnorm")},
    **{(name, "block"): "the whole row" for name in ("layernorm", "rmsnorm")},
    ("attention", "kv_heads"): "as many as heads",
    ("attention", "queries"): "as many as keys",
    ("attention", "block"): "128x64, on a TPU what suits it",
    ("attention", "stages"): "the most up to 4 that fit",
}


#: parameter -> other names of its option
ALIASES = {"tile": ("--block",)}


class KernelGroup(typer.core.TyperGroup):
    """Commands that are kernels: `gpusim run KERNEL`; options may stand before the name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = next((i for i, a in enumerate(args) if a in self.commands), None)
        if named is not None:
            args = [args[named], *args[:named], *args[named + 1 :]]
        elif args and "--help" not in args:
            raise unknown_kernel(args[0], list(self.commands))
        return super().parse_args(ctx, args)


def unknown_kernel(name: str, known: list[str]) -> GpusimError:
    """The error for a kernel that does not exist, with the nearest name."""
    from difflib import get_close_matches

    if name.startswith("-"):
        return GpusimError("no kernel is named.", hint=f"Kernels: {', '.join(known)}.")
    near = get_close_matches(name, known, 1, 0.4)
    return GpusimError(f"unknown kernel '{name}'.", hint=(f"Did you mean '{near[0]}'? " if near else "") + f"Kernels: {', '.join(known)}.")


def text_of(value: Any) -> str:
    """A parameter's value as it is written on the command line."""
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def options(kernel: Kernel, *, as_text: bool) -> list[inspect.Parameter]:
    """One option for each parameter of `kernel`, None if not given. as_text: any text (an axis of a sweep), else the parameter's own type."""
    hints = get_type_hints(kernel)
    made = []
    for name, parameter in inspect.signature(kernel).parameters.items():
        kind = str if as_text else _kind(hints.get(name))
        help_text = f"{HELP.get(name, '')} [default: {default_of(kernel, parameter)}]".strip()
        option = typer.Option(*ALIASES.get(name, ()), f"--{name.replace('_', '-')}", help=help_text, show_default=False, metavar="AXIS" if as_text else None)
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Optional[kind], option]))  # noqa: UP045
    return made


def default_of(kernel: Kernel, parameter: inspect.Parameter) -> str:
    """The default of a kernel's parameter in words."""
    if parameter.default is parameter.empty:
        return "none, must be given"
    return DECIDED.get((kernel.__name__, parameter.name), "none") if parameter.default is None else text_of(parameter.default)


def with_options(function: Callable[..., Any], kernel_options: Iterable[inspect.Parameter]) -> Callable[..., Any]:
    """`function(given, *, ...)` as a command: `kernel_options` first, gathered into `given`, then its own keyword options."""
    signature = inspect.signature(function, eval_str=True)
    own = [p for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    extra = list(kernel_options)

    def command(**arguments: Any) -> Any:
        given = {p.name: arguments.pop(p.name) for p in extra}
        return function({name: value for name, value in given.items() if value is not None}, **arguments)

    command.__signature__ = inspect.Signature([*extra, *own])  # type: ignore[attr-defined]
    command.__doc__ = function.__doc__
    return command


def _kind(hint: Any) -> type:
    """The type that the command line reads: a switch, a number, or text."""
    return next((kind for kind in (bool, int, float) if hint in (kind, kind | None)), str)
