"""A measured launch of a SIMT kernel as a launch of the library's kernel of that name: geometry, arguments, registers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt import LIBRARY
from gpusim.kernels.simt.entry import Array, Entry, Launch
from gpusim.launch.simt.args import ArraySpec
from gpusim.validate.cases import Case
from gpusim.validate.profiled import profiled
from gpusim.validate.simt.data import MEASURED

#: measured name -> name in the library, and the params that the name stands for
ALIASES: dict[str, tuple[str, dict[str, int]]] = {
    "transpose_tiled_nopad": ("transpose_tiled", {"pad": 0}),
    "transpose_tiled_pad": ("transpose_tiled", {"pad": 1}),
}

#: threads of a warp
LANES = 32
#: a kernel's name, and the constants in <> of a template
NAMED = re.compile(r"(?P<name>\w+)(?:<(?P<constants>[\d, ]+)>)?")


@dataclass(frozen=True, slots=True)
class ThreadLaunch:
    """What `simulate_simt` takes. args: numbers, arrays where values matter, shapes where they do not. registers: as measured, or None."""

    name: str
    kernel: Any
    geometry: Geometry
    args: tuple[Any, ...]
    registers: int | None
    shape: str


def is_measured_launch(case: Case) -> bool:
    """Whether the library has a kernel of that name."""
    return _lookup(case.kernel) is not None


def launch_of(case: Case) -> ThreadLaunch:
    """The launch that `case` stands for. GpusimError if its params do not fit the kernel."""
    found = _lookup(case.kernel)
    if found is None:
        raise GpusimError(f"no kernel '{case.kernel}' in the library.", where=case.id)
    name, entry, constants = found
    measured = _launched(case)
    try:
        params = {**_numbers(case.params), **constants}
        own = entry.launch(params) if measured is None else Launch(measured.grid[:2], measured.block[:2], measured.shared_bytes)
        params |= {"ctas": own.grid[0], "block": own.block} if "block" not in params else {"ctas": own.grid[0]}
        kernel, args = entry.build(params), _args(name, entry, params)
    except KeyError as error:
        raise GpusimError(f"the params of '{case.kernel}' lack {error}, or hold a value that nobody knows.", where=case.id) from None
    geometry = measured or Geometry((*own.grid, 1), (*own.block, 1), own.shared)
    return ThreadLaunch(name, kernel, geometry, args, _registers(case), " ".join(f"{k}={v}" for k, v in case.params.items()))


def _lookup(kernel: str) -> tuple[str, Entry, dict[str, int]] | None:
    match = NAMED.fullmatch(kernel)
    if match is None:
        return None
    name, fixed = ALIASES.get(match["name"], (match["name"], {}))
    entry = LIBRARY.get(name)
    constants = [int(c) for c in (match["constants"] or "").split(",") if c.strip()]
    if entry is None or (constants and len(constants) != len(entry.template)):
        return None
    return name, entry, fixed | dict(zip(entry.template, constants, strict=False))


def _numbers(params: Mapping[str, Any]) -> dict[str, Any]:
    """Whole numbers as int, whatever JSON made of them."""
    return {k: int(v) if isinstance(v, float) and v.is_integer() and k[0] not in "xyd" else v for k, v in params.items()}


def _args(name: str, entry: Entry, params: Mapping[str, Any]) -> tuple[Any, ...]:
    data = MEASURED[name](params) if entry.data else {}
    needed = {key: data[key] for key in entry.data}
    return tuple(needed.get(key, ArraySpec(arg.shape, arg.dtype) if isinstance(arg, Array) else arg) for key, arg in entry.args(params).items())


def _launched(case: Case) -> Geometry | None:
    """Grid, block and dynamic shared memory as the record tells them: as lists of a case, or as text of a profiler's launch."""
    record = case.record
    if "grid" in record and "block" in record:
        return Geometry(_three(record["grid"]), _three(record["block"]), int(record.get("smem_dynamic") or 0))
    if isinstance(case.params.get("grid"), int) and isinstance(case.params.get("warps"), int):
        return Geometry((case.params["grid"], 1, 1), (LANES * case.params["warps"], 1, 1))
    launch = profiled(case)
    if launch is not None and isinstance(launch.get("grid"), str):
        return Geometry(_three(launch["grid"]), _three(launch["block"]), int(launch.get("launch__shared_mem_per_block_dynamic") or 0))
    return None


def _three(extents: Any) -> tuple[int, int, int]:
    found = [int(x) for x in re.findall(r"\d+", extents)] if isinstance(extents, str) else [int(x) for x in extents]
    x, y, z = (*found, 1, 1, 1)[:3]
    return x, y, z


def _registers(case: Case) -> int | None:
    found = case.number("regs") or (profiled(case) or {}).get("launch__registers_per_thread")
    return int(found) if found else None
