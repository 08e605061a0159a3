"""`kernel.overloads`: the kernel for given argument types, and what it needs of an SM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from gpusim.cuda.devices import current_spec
from gpusim.cuda.signatures import flat
from gpusim.cuda.types import BY_DTYPE, ArrayType, as_signature
from gpusim.ir.simt.nodes import Arg, Geometry, SimtProgram

if TYPE_CHECKING:
    from gpusim.cuda.dispatcher import Dispatcher
    from gpusim.launch.simt.prepare import Ready

#: what an array's shape and a number are taken as where no launch says more
NOMINAL = 1024


@dataclass(frozen=True, slots=True)
class Overload:
    """The kernel for arguments of types `args`. Names of attributes are Numba's."""

    program: SimtProgram

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks that the current GPU holds at once."""
        return self._ready(blockdim, dynsmemsize).slots

    @property
    def regs_per_thread(self) -> int:
        return self._ready(32).code.registers

    @property
    def shared_mem_per_block(self) -> int:
        """Bytes of the arrays whose size the kernel gives."""
        return self._ready(32).code.shared_bytes

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of spilled registers and of local arrays; those with constant indices live in registers."""
        code = self._ready(32).code
        return 4 * code.spills + _bytes(code.program, "local")

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant arrays."""
        return _bytes(self.program, "const")

    @property
    def max_threads_per_block(self) -> int:
        """Threads of the largest block that fits the current GPU with these registers."""
        spec = current_spec()
        return min(1024, spec.sm.registers // max(self.regs_per_thread, 1) // 32 * 32)

    def _ready(self, blockdim: Any, shared: int = 0) -> Ready:
        from gpusim.cuda.launching import geometry
        from gpusim.launch.simt.args import ArraySpec
        from gpusim.launch.simt.prepare import prepare

        shape = replace(geometry(1, blockdim, shared), grid=(NOMINAL, 1, 1))
        values = [ArraySpec((NOMINAL,) * a.ndim, a.dtype) if a.ndim else NOMINAL for a in self.program.args]
        return prepare(self.program, Geometry(shape.grid, shape.block, shared), values, current_spec(), None, None)


def _bytes(program: SimtProgram, space: str) -> int:
    from gpusim.frontend.typing import itemsize

    return sum(prod(b.shape or ()) * itemsize(b.dtype) for b in program.buffers if b.space == space)


class Overloads(Mapping[tuple[Any, ...], Overload]):
    """Argument types, as a signature writes them, -> Overload. Types that were not launched yet are translated when they are asked for."""

    def __init__(self, kernel: Dispatcher, programs: Mapping[tuple[Arg, ...], SimtProgram]) -> None:
        self._kernel, self._programs = kernel, programs

    def __getitem__(self, types: Any) -> Overload:
        wanted = flat(as_signature(types).args)
        args = tuple(
            Arg(name, t.element.dtype, t.ndim, "C" if t.layout == "C" else "A") if isinstance(t, ArrayType) else Arg(name, t.dtype)
            for name, t in zip(self._kernel.names, wanted, strict=True)
        )
        return Overload(self._kernel.program_for(args))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._types())

    def __len__(self) -> int:
        return len(self._types())

    def _types(self) -> list[tuple[Any, ...]]:
        """Of the declared signatures, or else of the launches so far."""
        declared = [signature.args for signature in self._kernel.signatures]
        return declared or [tuple(ArrayType(BY_DTYPE[a.dtype], a.ndim, a.layout) if a.ndim else BY_DTYPE[a.dtype] for a in args) for args in self._programs]
