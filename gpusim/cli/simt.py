"""`gpusim run mine.py:kernel`: simulate one launch of a CUDA kernel in a file of one's own."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli.arguments import parse_arguments, parse_extents
from gpusim.cli.kernels import KernelGroup
from gpusim.cli.options import L2, Clock, Data, Exact, Launch, Without, costs
from gpusim.cli.reporting import Json, Outputs, Picture, Registers, Source, Trace, Verbose
from gpusim.errors import GpusimError

if TYPE_CHECKING:
    from gpusim.cuda.dispatcher import Dispatcher
    from gpusim.triton.kernel import Runnable

NONE = "It holds none: put @cuda.jit above a function, with `from gpusim import cuda`, or @triton.jit, with `import gpusim.triton as triton`."
#: options that take no value
SWITCHES = ("--exact", "--verbose", "--source", "--values", "--help")
#: how the command is listed; `RunGroup` leads every mine.py:kernel here
COMMAND = "FILE.py:KERNEL"
HELP = """Simulate a kernel of your own.

FILE.py:KERNEL names a file and a function in it under @cuda.jit (`from gpusim import cuda`) or @triton.jit (`import gpusim.triton as triton`,
which needs no --block; --grid may be a formula of the arguments, such as 'cdiv(n, BLOCK)', and --args may set num_warps and num_stages). What stands under
`if __name__ == "__main__"` is not run. --args gives every parameter a value:
'x=f32[1048576]:rand y=f32[1024,1024]:zeros i=i32[100]:randint(0,9) z=data.npy a=2.0 n=i32:1000'; arrays begin as rand, normal,
zeros, ones, arange, randint(low,high), full(value) or a .npy file."""


class RunGroup(KernelGroup):
    """The kernels of tiles, those of CUDA (loaded when one is asked for), and `mine.py:kernel`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        free = [i for i in range(len(args)) if not _is_value(args, i)]
        if not any(args[i] in self.commands for i in free):
            own = next((i for i in free if re.search(r"\.py(:\w*)?$", args[i])), None)
            if own is not None:
                args = [COMMAND, args[own], *args[:own], *args[own + 1 :]]
            elif "--help" not in args or any(not args[i].startswith("-") for i in free):
                self._load()
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        self._load()
        return list(self.commands)

    def _load(self) -> None:
        from gpusim.cli import library

        self.commands.update({name: library.command(name) for name in library.names() if name not in self.commands})


def _is_value(args: list[str], i: int) -> bool:
    """Whether args[i] belongs to an option before it."""
    return i > 0 and args[i - 1].startswith("--") and "=" not in args[i - 1] and args[i - 1] not in SWITCHES


def run_file(
    kernel: Annotated[str, typer.Argument(metavar=COMMAND, help="The file, and the function in it.")],
    *,
    gpu: Annotated[str, typer.Option(help="A name from `gpusim devices`, or the path of a YAML file.")] = "h100",
    grid: Annotated[str, typer.Option(help="Blocks: 4096, or 64x64.", show_default=False)] = "",
    block: Annotated[str, typer.Option(help="Threads of a block: 256, or 16x16.", show_default=False)] = "",
    cluster: Annotated[str, typer.Option(help="Blocks of a cluster: 2, or 2x1; 1 is none.")] = "1",
    args: Annotated[str, typer.Option("--args", help="A value for every parameter.", show_default=False)] = "",
    shared: Annotated[int, typer.Option(help="Bytes of dynamic shared memory.")] = 0,
    registers: Registers = None,
    seed: Annotated[int, typer.Option(help="Of the random values.")] = 0,
    l2: L2 = "cold",
    launch: Launch = "out",
    clock: Clock = None,
    data: Data = "random",
    exact: Exact = False,
    without: Without = "",
    source: Source = False,
    trace: Trace = None,
    divergence: Picture = None,
    json: Json = None,
    verbose: Verbose = False,
) -> None:
    from gpusim import api
    from gpusim.cuda.dispatcher import Dispatcher

    outputs = Outputs(source, verbose, json, trace, divergence)
    found = load_kernel(kernel)
    if not isinstance(found, Dispatcher):
        from gpusim.cli.tiles import run_tiles

        outputs.give(run_tiles(found, grid, args, seed, gpu, {"l2": l2, "launch": launch, "clock": clock, "exact": exact, "without": costs(without)}))
        return
    blocks, threads = parse_extents(grid, "--grid"), parse_extents(block, "--block")
    together = parse_extents(cluster, "--cluster")
    values = parse_arguments(args, found.names, seed)
    protocol: dict[str, Any] = {"l2": l2, "launch": launch, "clock": clock, "data": data, "exact": exact, "without": costs(without)}
    report = api.run(found, gpu, grid=blocks, block=threads, cluster=together, args=values, shared=shared, registers=registers, **protocol)
    outputs.give(report)


def load_kernel(text: str) -> Dispatcher | Runnable:
    """The kernel that "mine.py:kernel" names; "mine.py" alone if the file holds one kernel only. GpusimError if there is no such kernel."""
    from gpusim.cuda.dispatcher import Dispatcher
    from gpusim.triton.kernel import Runnable

    path, _, name = text.rpartition(":") if ":" in text else (text, "", "")
    module = _module(Path(path))
    kernels = {n: k for n, k in vars(module).items() if isinstance(k, Runnable) or (isinstance(k, Dispatcher) and not k.device)}
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    if name in kernels:
        return kernels[name]
    listed = f"Kernels of this file: {', '.join(kernels)}." if kernels else NONE
    raise GpusimError(_missing(module, name), where=path, hint=listed)


def _missing(module: ModuleType, name: str) -> str:
    if not name:
        return "no kernel is named; write FILE.py:KERNEL."
    if not hasattr(module, name):
        return f"there is no '{name}' in it."
    other = type(getattr(module, name))
    if other.__module__.startswith("triton."):
        return f"'{name}' is a kernel of the triton package; import gpusim.triton as triton instead."
    if other.__module__.startswith("numba"):
        return f"'{name}' is a kernel of Numba; import cuda from gpusim instead."
    return f"'{name}' is not a kernel but a {other.__name__}."


def _module(path: Path) -> ModuleType:
    """The file as a module that is not `__main__`; the files beside it can be imported."""
    if not path.is_file():
        raise GpusimError(f"there is no file {path}.", hint="Give the path of a Python file, as in mine.py:kernel.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except GpusimError:
        raise
    except SyntaxError as error:
        raise GpusimError(f"{error.msg}.", where=f"{path}:{error.lineno}", hint="Correct the file first; `python FILE.py` shows the place.") from None
    except Exception as error:
        raise GpusimError(f"running it ended with {type(error).__name__}: {error}.", where=_place(path, error), hint="Correct the file first.") from error
    finally:
        sys.path.pop(0)
    return module


def _place(path: Path, error: Exception) -> str:
    """The last line of the file itself that led to `error`."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path.resolve():
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else str(path)
