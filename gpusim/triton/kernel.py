"""`@triton.jit`: a Python function as a kernel of tiles, and `kernel[grid](...)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gpusim.cuda.devices import current_spec
from gpusim.cuda.launching import How, Launched, caller
from gpusim.cuda.streams import TIMELINE
from gpusim.errors import GpusimError
from gpusim.frontend.tiles.values import BlockPointer, Pointer, Scalar
from gpusim.ir.expr import Const
from gpusim.triton.addresses import find
from gpusim.triton.arguments import Bound, bind, is_array
from gpusim.triton.markers import constexpr
from gpusim.triton.tools.tensor_descriptor import TensorDescriptor

if TYPE_CHECKING:
    from gpusim.ir.program import Program
    from gpusim.report.report import Report

#: options of a launch -> what they are unless given. The others change nothing here.
OPTIONS = {"num_warps": 4, "num_stages": 3}
WITHOUT_EFFECT = frozenset(
    "num_ctas maxnreg enable_fp_fusion launch_cooperative_grid launch_pdl warp_specialize num_consumer_groups num_buffers_warp_spec waves_per_eu "
    "matrix_instr_nonkdim kpack debug sanitize_overflow allow_fp8e4nv extern_libs stream device ir_override pre_hook".split()
)


#: programs of one kernel that are remembered
MOST_PROGRAMS = 256


class Runnable:
    """What `kernel[grid](...)` needs: kernels, and what chooses some of their arguments."""

    fn: Any

    def __getitem__(self, grid: Any) -> Configured:
        return Configured(self, grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, how: How | None = None, values: bool = True, **kwargs: Any) -> Handle:
        raise NotImplementedError

    @property
    def kernel(self) -> Kernel:
        """The kernel itself."""
        return self if isinstance(self, Kernel) else self.fn.kernel

    @property
    def kernel_function(self) -> FunctionType:
        """What kernels that call this one translate."""
        return self.kernel.py_func

    @property
    def arg_names(self) -> list[str]:
        return list(self.kernel.names)

    @property
    def report(self) -> Report:
        """The report of the last launch. Time is simulated when this is first read."""
        last = self.kernel.last
        if last is None:
            hint = f"Launch it first: {self.kernel.__name__}[grid](...)."
            raise GpusimError(f"kernel {self.kernel.__name__} has no report: it was not launched yet.", where=caller(), hint=hint)
        return last.report

    def warmup(self, *args: Any, grid: Any, **kwargs: Any) -> Handle:
        """The kernel for these arguments, without a launch. Types (or `MockTensor`s) do not stand for arrays here."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.kernel.__name__
        raise GpusimError(f"kernel {name} was called without a grid.", where=caller(), hint=f"Write {name}[grid](...).")


@dataclass(frozen=True, slots=True)
class Configured:
    """A kernel with a grid."""

    kernel: Runnable
    grid: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Handle:
        return self.kernel.run(*args, grid=self.grid, **kwargs)


class Kernel(Runnable):
    """A function under `@triton.jit`. `py_func` is the function itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not isinstance(function, FunctionType):
            raise GpusimError(f"triton.jit takes a function, not {function!r}.", where=caller(), hint="Put @triton.jit above a def.")
        update_wrapper(self, function)
        self.__name__: str = function.__name__
        self.py_func = self.fn = function
        self.signature = inspect.signature(function)
        self.names = tuple(self.signature.parameters)
        self.last: Handle | None = None
        self._programs: dict[Any, Program] = {}

    def run(self, *args: Any, grid: Any, warmup: bool = False, how: How | None = None, values: bool = True, **kwargs: Any) -> Handle:
        """Launch on `args`. values: compute them; else arrays stay as they are."""
        where = caller()
        options = {name: kwargs.get(name, default) for name, default in OPTIONS.items()}
        kwargs = {k: v for k, v in kwargs.items() if k in self.names or k not in (*OPTIONS, *WITHOUT_EFFECT)}
        arguments = self._arguments(args, kwargs, where)
        bounds = self._bounds(arguments, where)
        seen = {n: _seen(arguments[n], b) for n, b in bounds.items()}
        program = self._program({**arguments, **seen}, _extents(grid, arguments, where), options, where)
        made = Handle(self.__name__, program, how or How(current_spec()), {n: _base(arguments[n]) for n in bounds})
        if warmup or program is None:
            return made
        if values:
            _execute(program, bounds, where)
        self.last = made
        TIMELINE.add(lambda: made.report.time_us)
        return made

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any], where: str) -> dict[str, Any]:
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            hint = f"Its parameters: {', '.join(self.names)}; options of a launch: {', '.join(OPTIONS)}."
            raise GpusimError(f"kernel {self.__name__}: {error}.", where=where, hint=hint) from None
        bound.apply_defaults()
        return {name: value.value if isinstance(value, constexpr) else value for name, value in bound.arguments.items()}

    def _bounds(self, arguments: Mapping[str, Any], where: str) -> dict[str, Bound]:
        arrays = {name: _base(value) for name, value in arguments.items()}
        return {name: bind(value, name, where) for name, value in arrays.items() if is_array(value)}

    def _program(self, arguments: dict[str, Any], grid: tuple[int, ...], options: dict[str, Any], where: str) -> Program | None:
        """The program of a launch, from an earlier one of the same arguments if there was one; None for a grid without blocks."""
        from gpusim.frontend.tiles.translate import translate

        if 0 in grid:
            return None
        warps, stages = (options[name].value if isinstance(options[name], constexpr) else options[name] for name in OPTIONS)
        if warps not in (1, 2, 4, 8, 16, 32):
            raise GpusimError(f"num_warps = {warps} is not possible.", where=where, hint="Give 1, 2, 4, 8, 16 or 32.")
        plain = {name: _plain(value) for name, value in arguments.items()}
        key = (tuple((n, type(v).__name__, v if _hashable(v) else id(v)) for n, v in plain.items()), grid, warps, stages)
        if len(self._programs) >= MOST_PROGRAMS:
            self._programs.clear()
        if key not in self._programs:
            params = {n: v for n, v in plain.items() if isinstance(v, bool | int | float | str)}
            self._programs[key] = translate(self.py_func, plain, grid, warps, stages, params | {"num_warps": warps, "num_stages": stages})
        return self._programs[key]

    def program(self, *args: Any, grid: Any, **kwargs: Any) -> Program:
        """The program of tiles of a launch with these arguments, without launching it."""
        made = self.run(*args, grid=grid, warmup=True, **kwargs).program
        if made is None:
            raise GpusimError(f"grid {grid} has no blocks.", where=caller(), hint="Give extents of 1 or more.")
        return made

    def __repr__(self) -> str:
        code = self.py_func.__code__
        return f"<kernel {self.__name__} at {code.co_filename}:{code.co_firstlineno}>"


def _base(value: Any) -> Any:
    return value.base if isinstance(value, TensorDescriptor) else value


def _seen(given: Any, bound: Bound) -> Any:
    """What the front end sees of an array argument: the array, or a block of it that a descriptor bounds."""
    if not isinstance(given, TensorDescriptor):
        return bound.array
    pointer = Pointer(bound.array, Scalar(Const(0)))
    shape, strides, block = (tuple(int(n) for n in v) for v in (given.shape, given.strides, given.block_shape))
    return BlockPointer(pointer, shape, strides, (0,) * len(shape), block, True)


#: the name under which scripts test for kernels
JITFunction = Kernel


def _plain(value: Any) -> Any:
    """Numbers of NumPy as numbers of Python."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) and not isinstance(value, type) else value


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _extents(grid: Any, arguments: Mapping[str, Any], where: str) -> tuple[int, ...]:
    """The grid as up to three extents; a function of the arguments gives it from them."""
    given = grid(dict(arguments)) if callable(grid) else grid
    parts = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not 1 <= len(parts) <= 3 or any(isinstance(p, bool) or not hasattr(p, "__index__") or int(p) < 0 for p in parts):
        raise GpusimError(f"grid = {given!r} is not one to three extents.", where=where, hint="Give a tuple such as (triton.cdiv(n, BLOCK),).")
    whole = [int(p) for p in parts]
    while len(whole) > 1 and whole[-1] == 1:
        whole.pop()
    return tuple(whole)


def _execute(program: Program, bounds: Mapping[str, Bound], where: str) -> None:
    from gpusim.interp.flat import FlatMemory
    from gpusim.interp.tile import execute
    from gpusim.ir.check import check

    check(program)
    written = {t.of or t.name for t in program.tensors if t.role != "in"}
    for name in written & bounds.keys():
        if bounds[name].refuse:
            raise GpusimError(f"the kernel writes to argument '{name}', but {bounds[name].refuse}.", where=where, hint="Pass an array that can be written.")
    memory = FlatMemory(program, {name: b.flat for name, b in bounds.items()}, lambda address: find(address, where))
    execute(program, memory)
    memory.finish()
    for name in written & bounds.keys():
        after = bounds[name].after
        if after is not None:
            after()


class Handle(Launched):
    """A launch whose values are there: `report` says how long it takes, `program` what is launched (None for a grid without blocks)."""

    def __init__(self, name: str, program: Program | None, how: How, arrays: dict[str, Any]) -> None:
        super().__init__(self._simulated)
        self.name, self.program, self.how, self.arrays = name, program, how, arrays

    def _simulated(self) -> Report:
        from gpusim.launch.run import simulate
        from gpusim.report.report import Report

        if self.program is None:
            raise GpusimError(f"kernel {self.name} was launched on no blocks and has no report.", where=caller())
        return Report(simulate(self.program, self.how.spec, **self.how.options.for_launch()), self.how.spec, self.arrays)

    @property
    def n_regs(self) -> int:
        """Registers of a thread, as the model estimates them."""
        return int(self.report.run.occupancy.registers_per_thread)

    @property
    def n_spills(self) -> int:
        """Registers of a thread that do not fit."""
        return int(self.report.run.occupancy.spilled_registers)

    @property
    def metadata(self) -> Metadata:
        held = self.report.run.occupancy
        return Metadata(int(held.shared_bytes_per_cta), int(held.warps_per_cta))

    def _init_handles(self) -> None:
        """Nothing to load."""


@dataclass(frozen=True, slots=True)
class Metadata:
    shared: int
    num_warps: int


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Turns a Python function into a kernel, or into a function that kernels call. Options only steer a compiler and change nothing here."""
    return Kernel(fn) if fn is not None else Kernel
