"""`@cuda.jit`: a Python function as a kernel or a device function, and `kernel[grid, block](...)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from gpusim.cuda.arguments import Bound, bind
from gpusim.cuda.devices import current_spec
from gpusim.cuda.lambdas import with_def
from gpusim.cuda.launching import How, Launched, caller, geometry, launch
from gpusim.cuda.overloads import Overloads
from gpusim.cuda.signatures import check_kernel, choose, parse
from gpusim.cuda.types import BY_DTYPE, ArrayType, Signature
from gpusim.errors import GpusimError

if TYPE_CHECKING:
    from gpusim.ir.simt.nodes import Arg, Geometry, SimtProgram
    from gpusim.launch.simt.prepare import Ready
    from gpusim.launch.simt.repeats import Repeats

#: options of Numba that change nothing here: there is no machine code to keep, values always come with checks, and fast functions have names of their own
WITHOUT_EFFECT = "fastmath inline cache debug opt lineinfo link boundscheck forceinline nopython locals launch_bounds lto output abi abi_info".split()


@dataclass(frozen=True, slots=True)
class Options:
    """device: callable from kernels only. max_registers: per thread, or None."""

    device: bool = False
    max_registers: int | None = None


def jit(func_or_sig: Any = None, *more: Any, device: bool = False, max_registers: int | None = None, **other: Any) -> Any:
    """Turns a Python function into a kernel (or a device function), as Numba's `cuda.jit`.

    Used bare, with options, or with signatures: types, a string such as "void(float32[:], int32)", or a list of these. Scalars are then
    converted to the signature's types, and arrays of other types are refused. Options that only steer a compiler are accepted.
    """
    unknown = [name for name in other if name not in WITHOUT_EFFECT]
    if unknown:
        hint = f"Options: device, max_registers; without effect: {', '.join(WITHOUT_EFFECT)}."
        raise GpusimError(f"cuda.jit has no option '{unknown[0]}'.", where=caller(), hint=hint)
    if max_registers is not None and not 1 <= max_registers <= 255:
        raise GpusimError(f"max_registers = {max_registers}; a thread has 1 to 255.", where=caller())
    options = Options(device, max_registers or _from_bounds(other.get("launch_bounds")))
    if isinstance(func_or_sig, Dispatcher):
        return Dispatcher(func_or_sig.py_func, options)
    if inspect.isfunction(func_or_sig):
        return Dispatcher(func_or_sig, options)
    signatures = parse(func_or_sig, caller()) if func_or_sig is not None else ()

    def wrap(function: Callable[..., Any]) -> Dispatcher:
        if not inspect.isfunction(function):
            raise GpusimError(f"cuda.jit takes a function, not {function!r}.", where=caller(), hint="Put @cuda.jit above a `def`.")
        return Dispatcher(function, options, signatures)

    return wrap


def declare_device(name: str, sig: Any) -> Any:
    """Refused: there is no machine code to link with."""
    raise GpusimError(
        f"declare_device('{name}'): machine code cannot be linked.", where=caller(), hint="Write the function in Python with @cuda.jit(device=True)."
    )


def _from_bounds(bounds: Any) -> int | None:
    """Registers that a thread may have so that blocks of `launch_bounds` (threads, or (threads, CTAs per SM)) fit 65536 of them."""
    if bounds is None:
        return None
    threads, ctas = (bounds, 1) if isinstance(bounds, int) else (bounds[0], bounds[1] if len(bounds) > 1 else 1)
    warps = -(-threads // 32) * max(ctas, 1)
    return min(255, 65536 // (warps * 32) // 8 * 8)


class Dispatcher:
    """A function under `@cuda.jit`. `py_func` is the function itself; `device` whether only kernels may call it."""

    def __init__(self, function: Callable[..., Any], options: Options, signatures: tuple[Signature, ...] = ()) -> None:
        function = with_def(function)
        update_wrapper(self, function)
        self.__name__: str = function.__name__
        self.py_func = function
        self.options = options
        self.signatures = signatures
        self.names = _parameters(function)
        if not options.device:
            check_kernel(signatures, self.names, self.__name__, self.where)
        self._programs: dict[tuple[Arg, ...], SimtProgram] = {}
        self._repeats: dict[int, Repeats] = {}
        self._last: Launched | None = None

    @property
    def device(self) -> bool:
        return self.options.device

    @property
    def where(self) -> str:
        """file:line of the function."""
        code = self.py_func.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def program_for(self, args: tuple[Arg, ...]) -> SimtProgram:
        """The program for arguments of these types (names are the function's own). GpusimError with the source line for what is not supported."""
        from gpusim.frontend.translate import translate

        tuples = any("." in arg.name for arg in args)
        named = args if tuples else tuple(replace(arg, name=name) for arg, name in zip(args, self.names, strict=True))
        if named not in self._programs:
            made = translate(self.py_func, named)
            self._programs[named] = replace(made, max_registers=self.options.max_registers)
        return self._programs[named]

    def __getitem__(self, configuration: Any) -> Configured:
        """kernel[grid, block], and behind them the stream, bytes of dynamic shared memory, blocks of a cluster."""
        self._refuse_device()
        given = configuration if isinstance(configuration, tuple) else (configuration,)
        if not 2 <= len(given) <= 5:
            hint = "Write kernel[grid, block] or kernel[grid, block, stream, shared_bytes, cluster]."
            raise GpusimError(f"{self.__name__}[...] has {len(given)} entries.", where=caller(), hint=hint)
        return self.configure(*given)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0, clustersize: Any = None) -> Configured:
        return Configured(self, griddim, blockdim, sharedmem, clustersize or 1)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_device()
        raise GpusimError(
            f"kernel {self.__name__} was called without grid and block.", where=caller(), hint=f"Write {self.__name__}[blocks, threads_per_block](...)."
        )

    def ready_for(self, bound: Sequence[Bound], shape: Geometry, how: How) -> Ready:
        """The kernel lowered for a launch; launches of which the same is proved share it."""
        from gpusim.launch.simt.args import describe
        from gpusim.launch.simt.repeats import Repeats

        values = [b.value for b in bound]
        program = self.program_for(describe(values, [b.name for b in bound]))
        if id(program) not in self._repeats:
            self._repeats[id(program)] = Repeats(program)
        return self._repeats[id(program)].prepare(shape, values, how.spec, how.registers, how.options.clock)

    def bound(self, given: Sequence[Any], where: str) -> list[Bound]:
        """`given` as the kernel gets it, with numbers converted to the types of the declared signature, if there is one."""
        self._refuse_device()
        made = bind(given, self.names, where)
        return choose(self.signatures, made, self.__name__, where) if self.signatures else made

    def launch(self, given: Sequence[Any], grid: Any, block: Any, shared: int = 0, how: How | None = None, cluster: Any = 1) -> Launched:
        """Runs the kernel on `given` (values only; the report is made when it is read)."""
        self._refuse_device()
        where = caller()
        how = how or How(current_spec())
        self._last = launch(self, self.bound(given, where), geometry(grid, block, shared, where, cluster), how, where)
        return self._last

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A launch of at least `ntasks` threads in one dimension; the kernel still checks its index. tpb: threads per block (0: 256)."""
        if ntasks < 0:
            raise GpusimError(f"forall({ntasks}): the number of tasks is negative.", where=caller(), hint="Give 0 or more.")
        return ForAll(self, int(ntasks), tpb or 256, sharedmem)

    def specialize(self, *args: Any) -> Dispatcher:
        """The kernel for the types of `args` only."""
        from gpusim.launch.simt.args import describe

        bound = bind(args, self.names, caller())
        types = describe([b.value for b in bound], [b.name for b in bound])
        made = tuple(ArrayType(BY_DTYPE[t.dtype], t.ndim, "A") if t.ndim else BY_DTYPE[t.dtype] for t in types)
        return Dispatcher(self.py_func, self.options, (Signature(None, made),))

    @property
    def report(self) -> Any:
        """The report of the last launch. Time is simulated when this is first read."""
        if self._last is None:
            raise GpusimError(
                f"kernel {self.__name__} has no report: it was not launched yet.", where=caller(), hint=f"Launch it first: {self.__name__}[grid, block](...)."
            )
        return self._last.report

    @property
    def extensions(self) -> tuple[Any, ...]:
        return ()

    @property
    def overloads(self) -> Overloads:
        """Argument types, such as (float32[:], int32), -> what the kernel needs of an SM."""
        return Overloads(self, self._programs)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Registers of a thread. Without a signature: of the one declared, or of each by its types."""
        return self._each("regs_per_thread", signature)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of static shared memory, as get_regs_per_thread."""
        return self._each("shared_mem_per_block", signature)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Bytes of spilled registers and local arrays, as get_regs_per_thread."""
        return self._each("local_mem_per_thread", signature)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Bytes of constant arrays, as get_regs_per_thread."""
        return self._each("const_mem_size", signature)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Threads of the largest block, as get_regs_per_thread."""
        return self._each("max_threads_per_block", signature)

    def _each(self, what: str, signature: Any) -> Any:
        if signature is None and len(self.signatures) == 1:
            signature = self.signatures[0]
        if signature is not None:
            return getattr(self.overloads[signature], what)
        return {types: getattr(self.overloads[types], what) for types in self.overloads}

    def inspect_types(self, file: Any = None) -> None:
        """Prints the programs."""
        for program in self._programs.values():
            print(_shown(program), file=file)

    def inspect_asm(self, signature: Any = None) -> Any:
        """The printed program of a signature, or all: argument types -> text. There is no machine code of any other form."""
        if signature is not None:
            return _shown(self.overloads[signature].program)
        return {types: _shown(program) for types, program in self._programs.items()}

    inspect_llvm = inspect_sass = inspect_lto_ptx = inspect_asm

    def _refuse_device(self) -> None:
        if self.device:
            raise GpusimError(
                f"{self.__name__} is a device function; only kernels call it.",
                where=caller(),
                hint=f"Call it in a kernel, or its Python form: {self.__name__}.py_func(...).",
            )

    def __repr__(self) -> str:
        return f"<{'device function' if self.device else 'kernel'} {self.__name__} at {self.where}>"


@dataclass(frozen=True, slots=True)
class Configured:
    """A kernel with grid and block."""

    kernel: Dispatcher
    grid: Any
    block: Any
    shared: int = 0
    cluster: Any = 1

    def __call__(self, *args: Any) -> None:
        self.kernel.launch(args, self.grid, self.block, self.shared, cluster=self.cluster)


@dataclass(frozen=True, slots=True)
class ForAll:
    """`kernel.forall(n)`."""

    kernel: Dispatcher
    tasks: int
    threads: int
    shared: int = 0

    def __call__(self, *args: Any) -> None:
        if self.tasks > 0:
            self.kernel.launch(args, -(-self.tasks // self.threads), self.threads, self.shared)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    found = inspect.signature(function).parameters.values()
    odd = [p for p in found if p.kind is not p.POSITIONAL_OR_KEYWORD]
    if odd:
        what = f"parameter {str(odd[0])!r} of {function.__name__}: kernels and device functions have plain parameters only."
        raise GpusimError(what, where=caller(), hint="List every parameter by its name.")
    return tuple(p.name for p in found)


def _shown(program: SimtProgram) -> str:
    from gpusim.ir.simt.show import show

    return show(program)
