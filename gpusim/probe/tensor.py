"""Group tensor: latency and rate of matrix instructions, of a warp by shape and format, of a warpgroup by columns and by where A comes from."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gpusim.ir.simt.matrix import FORMATS, WGMMA_M, named, size
from gpusim.kernels.simt.probes import tensor
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import Loop, excluded, slope
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation

#: operand formats as the records' shapes write them -> ours
_OPERANDS = {"f16": "fp16", "bf16": "bf16", "tf32": "tf32", "e4m3": "fp8", "s8": "int8", "f64": "fp64"}
_SUMS = {"f32": "fp32", "f16": "fp16", "s32": "int32", "f64": "fp64"}
#: how the records name the latency of a wgmma
_LATENCY = "latency: fence, one wgmma, commit, wait"
#: words of operands that a warp or a warpgroup reads before the loop
_WORDS = 1 << 16

_mma_chain = cache(tensor.mma_chain)
_wgmma_chain, _wgmma_alone = cache(tensor.wgmma_chain), cache(tensor.wgmma_alone)


def _mma(p: Params) -> Simulation:
    """A shape is "m16n8k16.f32.bf16": its size, the accumulators, the operands ("m8n8k4.f64": both)."""
    shape, sums, *operands = p["shape"].split(".")
    fmt = _OPERANDS[operands[0] if operands else sums]
    if shape not in map(named, FORMATS[fmt].shapes):
        raise KeyError(p["shape"])
    m, n, k = size(shape)
    work = tensor.STEPS * p["warps"] * m * n * k
    value = {"latency": lambda c: c / tensor.STEPS, "throughput": lambda c: work / c}[p["kind"]]
    kernel = _mma_chain(shape, fmt, _SUMS[sums], p["ilp"])
    held = FORMATS[fmt].register
    sink = {"fp32": "float32", "fp16": "uint32", "int32": "int32", "fp64": "float64"}[_SUMS[sums]]
    return slope(Loop(kernel, p["warps"], ("iters", ArraySpec((_WORDS,), held)), value, sink=sink))


def _wgmma(p: Params) -> Simulation:
    m, n, k = size(p["shape"])
    fmt, registers = _OPERANDS[p["type"]], {"reg": True, "smem": False}[p["a"]]
    if m != WGMMA_M:
        raise KeyError(p["shape"])
    groups = p["warpgroups"]
    work = tensor.GROUP_STEPS * groups * m * n * k
    made: dict[str, tuple[Callable[[], Any], Callable[[float], float]]] = {
        _LATENCY: (lambda: _wgmma_alone(n, fmt, registers), float),
        "throughput": (lambda: _wgmma_chain(n, fmt, registers, p["accumulators"]), lambda c: work / c),
    }
    kernel, value = made[p["kind"]]
    return slope(Loop(kernel(), 4 * groups, ("iters", ArraySpec((_WORDS,), "uint32")), value, passes=6, sink="float32", shared=tensor.TILES))


PLANS: dict[str, Plan] = {
    "mma_sync": _mma,
    "wgmma": _wgmma,
    "wgmma_check": excluded("wgmma_check: the products of the measuring program, against plain arithmetic"),
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
}

_SHAPES = ("m16n8k16.f32.f16", "m16n8k16.f32.bf16", "m16n8k16.f16.f16", "m16n8k8.f32.tf32", "m16n8k32.f32.e4m3", "m16n8k32.s32.s8", "m8n8k4.f64")
#: type of operands -> (elements along K, numbers of columns)
_COLUMNS = {"bf16": (16, (8, 16, 32, 64, 128, 256)), "e4m3": (32, (8, 32, 128))}


def _wgmma_points() -> list[Point]:
    made: list[Point] = []
    for fmt, (k, columns) in _COLUMNS.items():
        for a in ("smem", "reg"):
            for n in columns:
                one: dict[str, Any] = {"shape": f"m64n{n}k{k}", "type": fmt, "a": a, "warpgroups": 1}
                made += [("wgmma", {"kind": _LATENCY, **one}), ("wgmma", {"kind": "throughput", **one, "accumulators": 1})]
    return made


UNITS = {
    "mma_sync latency": "cycles",
    "mma_sync throughput": "FMA/clk/SM",
    f"wgmma {_LATENCY}": "cycles",
    "wgmma throughput": "FMA/clk/SM",
}

POINTS: tuple[Point, ...] = (
    *(("mma_sync", {"kind": "latency", "shape": shape, "warps": 1, "ilp": 1}) for shape in _SHAPES),
    *(("mma_sync", {"kind": "throughput", "shape": shape, "warps": 16, "ilp": 4}) for shape in _SHAPES),
    *(("mma_sync", {"kind": "throughput", "shape": "m16n8k16.f32.bf16", "warps": w, "ilp": ilp}) for ilp in (1, 2, 4) for w in (1, 2, 4, 8, 32)),
    *_wgmma_points(),
)

CURVES: tuple[Curve, ...] = (
    Curve(
        "mma.sync by warps and independent accumulators",
        "mma_sync",
        "warps",
        "warps of an SM",
        "FMA a cycle and SM",
        ("shape", "ilp"),
        (("kind", "throughput"),),
    ),
)
