"""`gpusim compare KERNEL --variant a,b,c`: the variants of a kernel on one device, side by side."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from gpusim.cli.kernels import Kernel
from gpusim.errors import GpusimError
from gpusim.ir.program import Program

if TYPE_CHECKING:
    from gpusim.report.variants import Variants

#: kernel -> variants that are compared when none is named
ALL = {"attention": ("naive", "fa1", "fa2", "fa3")}
#: the device of such a comparison, unless one is named
DEVICE = "h100"


def named(kernel: Kernel, given: dict[str, Any]) -> tuple[str, ...]:
    """The variants to compare; () where devices are compared instead."""
    if "variant" not in inspect.signature(kernel).parameters:
        return ()
    if given.get("variant") is None:
        return ALL.get(kernel.__name__, ())
    names = tuple(name.strip() for name in str(given["variant"]).split(",") if name.strip())
    return names if len(names) > 1 else ()


def side_by_side(kernel: Kernel, given: dict[str, Any], names: tuple[str, ...], gpu: str, launch: str, clock: Any) -> Variants:
    """A column for each variant; those that cannot run stand below with the reason. GpusimError if none can."""
    from gpusim import api
    from gpusim.report.variants import Variant, Variants

    columns, refused = [], {}
    for name in names:
        try:
            made = kernel(**(given | {"variant": name}))
            programs = made if isinstance(made, tuple) else (made,)
            reports = tuple(api.run(p, gpu, launch=launch, clock=clock) for p in programs)
            columns.append(Variant(name, reports, tuple(_tensors(p) for p in programs)))
        except GpusimError as error:
            refused[name] = str(error)
    if not columns:
        raise GpusimError(f"no variant can be compared: {next(iter(refused.values()))}")
    return Variants(tuple(columns), refused)


def _tensors(program: Program) -> dict[str, int]:
    return {t.name: t.shape[0] * t.pitch_bytes if len(t.shape) > 1 else t.shape[0] * t.dtype.bytes for t in program.tensors}
