"""The one place where a measured case becomes a program, its launch and the options of a simulation.

A case maps to something that can be simulated or to a reason why not; never to a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.kernels.attention import attention
from gpusim.kernels.elementwise import elementwise, unfused
from gpusim.kernels.gemm import gemm
from gpusim.kernels.norm import layernorm, rmsnorm
from gpusim.kernels.softmax import softmax
from gpusim.launch.clock import LOAD
from gpusim.validate.cases import Case
from gpusim.validate.library import library_product
from gpusim.validate.profiled import launches
from gpusim.validate.protocol import Measure

#: the GPU that the measured cases come from, unless the user names another
DEFAULT_GPU = "h200"

#: parameters that a measured GEMM must have, all positive integers
GEMM_SIZES = ("M", "N", "K", "BM", "BN", "BK", "warps", "stages", "group_m", "lda", "ldb", "ldc")


class Unsupported(Exception):
    """The case cannot be simulated; the text says why."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """`options` are keyword arguments of `simulate`; `shape` names the problem, whatever the configuration that solves it. then: programs that the case
    launches behind the first one."""

    program: Program
    options: dict[str, Any]
    shape: str
    then: tuple[Program, ...] = ()


def map_case(case: Case, measure: Measure) -> Mapped:
    """The simulation that stands for `case` under `measure`; Unsupported with the reason if there is none."""
    if not case.kernel:
        raise Unsupported(f"a microbenchmark record ('{case.family}'): no program stands for it")
    chain, number = CHAINS.get(str(case.record.get("variant")), ("", 1))
    if case.kernel not in KERNELS and not chain:
        raise Unsupported(f"no program for kernel '{case.kernel}'")
    if max(case.number("launches") or 1, len(launches(case))) != number:
        raise Unsupported("the case sums several launches")
    if case.number(*measure.truth) is None:
        raise Unsupported(f"the case has no {' or '.join(measure.truth)}")
    try:
        programs, shape = _chained(case, chain) if chain else _alone(*KERNELS[case.kernel](case))
    except GpusimError as error:
        raise Unsupported(str(error)) from None
    clock = LOAD if measure.own_clock else _clock(case)
    zeros = {"data": "zeros"} if case.params.get("data") == "zeros" else {}
    return Mapped(programs[0], {"l2": measure.l2, "launch": measure.launch, "clock_mhz": clock, "leftover": measure.leftover, **zeros}, shape, programs[1:])


def _alone(program: Program, shape: str) -> tuple[tuple[Program, ...], str]:
    return (program,), shape


def has_program(case: Case) -> bool:
    """Whether a kernel of tiles stands for the case, whatever was measured of it."""
    try:
        return case.kernel in KERNELS and bool(KERNELS[case.kernel](case))
    except (Unsupported, GpusimError):
        return False


def _clock(case: Case) -> float:
    """The measured SM clock inside the kernel in MHz."""
    cycles, ns, clock = case.number("sm_cycles"), case.number("gpu_ns"), case.number("clock_mhz")
    if clock is not None:
        return clock
    if cycles is None or ns is None:
        raise Unsupported("the case has no clock_mhz")
    return 1000 * cycles / ns


def _gemm(case: Case) -> tuple[Program, str]:
    """Registers are those of the record, which a compiler tells without a GPU; shared memory is left to the model."""
    p = case.params
    for key in GEMM_SIZES:
        if not isinstance(p.get(key), int) or isinstance(p[key], bool) or p[key] < 1:
            raise Unsupported(f"params hold no positive integer '{key}'")
    if p.get("layout", "row,row") != "row,row":
        raise Unsupported(f"layout '{p['layout']}': only row-major operands have a program")
    pitches = {key: p[key] for key in ("lda", "ldb", "ldc")}
    program = gemm(
        p["M"],
        p["N"],
        p["K"],
        tile=(p["BM"], p["BN"], p["BK"]),
        warps=p["warps"],
        stages=p["stages"],
        group_m=p["group_m"],
        dtype=str(p.get("dtype")),
        registers=_compiled(case),
        **pitches,
    )
    _agree(case, program)
    return program, f"{p['M']}x{p['N']}x{p['K']}" + (" zeros" if p.get("data") == "zeros" else "")


#: parameters that a measured attention must have, all positive integers
ATTENTION_SIZES = ("batch", "heads", "seq", "head_dim", "BM", "BN", "warps", "stages")


def _attention(case: Case) -> tuple[Program, str]:
    """FlashAttention-2 forward. Registers and shared memory are left to the model, as for products."""
    p = case.params
    for key in ATTENTION_SIZES:
        if not isinstance(p.get(key), int) or isinstance(p[key], bool) or p[key] < 1:
            raise Unsupported(f"params hold no positive integer '{key}'")
    causal, sizes = bool(p.get("causal")), (p["batch"], p["heads"], p["seq"], p["head_dim"])
    program = attention(*sizes, causal=causal, block=(p["BM"], p["BN"]), warps=p["warps"], stages=p["stages"], dtype=str(p.get("dtype")))
    assert isinstance(program, Program), "one kernel"
    return program, "x".join(map(str, sizes)) + (" causal" if causal else "")


def _compiled(case: Case) -> int | None:
    """Registers per thread that the record names; None where it names none."""
    registers = case.number("regs")
    return int(registers) if registers else None


def _agree(case: Case, program: Program) -> None:
    """What the record says about its launch must be what the program does."""
    p = case.params
    even = p["M"] % p["BM"] == p["N"] % p["BN"] == p["K"] % p["BK"] == 0
    for key, ours in (("ctas", program.ctas), ("even", even)):
        if key in p and p[key] != ours:
            raise Unsupported(f"the record says {key} = {p[key]}, its sizes give {ours}")


def _sizes(case: Case, *keys: str) -> list[int]:
    """Positive integers among the params; Unsupported where one is missing."""
    p = case.params
    for key in keys:
        if not isinstance(p.get(key), int) or isinstance(p[key], bool) or p[key] < 1:
            raise Unsupported(f"params hold no positive integer '{key}'")
    return [p[key] for key in keys]


def _softmax(variant: str) -> Callable[[Case], tuple[Program, str]]:
    def make(case: Case) -> tuple[Program, str]:
        rows, cols, warps, block = _sizes(case, "rows", "cols", "warps", "block")
        return softmax(rows, cols, variant=variant, dtype=str(case.params.get("dtype")), warps=warps, block=block), f"{rows}x{cols}"

    return make


def _norm(case: Case) -> tuple[Program, str]:
    """The record's variant says which of the two the kernel is compiled as."""
    kernels = {"layernorm": layernorm, "rmsnorm": rmsnorm}
    variant = str(case.record.get("variant"))
    if variant not in kernels:
        raise Unsupported(f"variant '{variant}' of {case.kernel}")
    rows, cols, warps, block = _sizes(case, "rows", "cols", "warps", "block")
    return kernels[variant](rows, cols, dtype=str(case.params.get("dtype")), warps=warps, block=block), f"{rows}x{cols}"


#: (measured kernel, variant) -> function of the library's elementwise kernel; None: any variant
ELEMENTWISE = {
    ("ew_kernel", "copy"): "copy",
    ("ew_kernel", "relu"): "relu",
    ("ew_kernel", "sin"): "sin",
    ("ew_kernel", "square"): "square",
    ("ew_kernel", "sigmoid"): "sigmoid",
    ("ew_kernel", "sin2cos2_fused"): "sin2cos2",
    ("ew_kernel", "sigmoid3_fused"): "sigmoid3",
    ("ew_kernel", "sigmoid_chain_fwd"): "sigmoid3",
    ("sig_fwd_saved_kernel", None): "sigmoid3_saved",
    ("sig_bwd_saved_kernel", None): "sigmoid3_backward_saved",
    ("sig_bwd_recompute_kernel", None): "sigmoid3_backward_recompute",
}


def _elementwise(case: Case) -> tuple[Program, str]:
    variant = case.record.get("variant")
    fn = ELEMENTWISE.get((case.kernel, None)) or ELEMENTWISE.get((case.kernel, variant))
    if fn is None:
        raise Unsupported(f"variant '{variant}' of {case.kernel}")
    n, block, warps = _sizes(case, "n", "block", "warps")
    return elementwise(n, fn=fn, dtype=str(case.params.get("dtype")), block=block, warps=warps), f"n={n}"


#: variant of a case of several elementwise launches -> the function whose steps they are, and how many: those of the library read and write as ours do
CHAINS = {"sin2cos2_unfused": ("sin2cos2", 5)}


def _chained(case: Case, fn: str) -> tuple[tuple[Program, ...], str]:
    n, block, warps = _sizes(case, "n", "block", "warps")
    return unfused(n, fn=fn, dtype=str(case.params.get("dtype")), block=block, warps=warps), f"n={n}"


#: name of the measured kernel -> what builds its program from a case
KERNELS: dict[str, Callable[[Case], tuple[Program, str]]] = {
    "gemm_kernel": _gemm,
    "flash_kernel": _attention,
    "library": library_product,
    "softmax_kernel": _softmax("fused"),
    "softmax_online_kernel": _softmax("online"),
    "layernorm_kernel": _norm,
    **dict.fromkeys({kernel for kernel, _ in ELEMENTWISE}, _elementwise),
}
