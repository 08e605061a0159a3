"""Group power: SM clock, rate and board power of loops that last for seconds, with data that toggles and with zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import alu, streams, tensor
from gpusim.launch.clock import SUSTAINED, power_of
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.global_memory import NEVER
from gpusim.probe.loops import excluded, launched, sms
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.report.power import power_w
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run

#: passes of a loop, of which entry and end are small parts; bytes of the stream, far more than L2 holds
PASSES, STREAM = 3000, 1 << 29
#: words of operands
WORDS = 1 << 16
#: CTAs of the stream on an SM, their threads, 16-byte loads of a thread
CTAS, THREADS, UNROLL = 2, 1024, 4

Launch = tuple[Any, Geometry, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Load:
    """make: (SMs) -> kernel, geometry, arguments. rate: (run) -> the value of a record "rate", in its unit."""

    make: Callable[[int], Launch]
    rate: Callable[[Run], float]


def _loop(kernel: Any, warps: int, source: Any, sink: str, passes: int, shared: int = 0) -> Callable[[int], Launch]:
    def make(number: int) -> Launch:
        args = ArraySpec((number * warps * 32,), sink), np.int32(passes), source
        return kernel, Geometry((number, 1, 1), (warps * 32, 1, 1), shared), args

    return make


def _stream(number: int) -> Launch:
    chunk = 16 * UNROLL * THREADS
    words = ArraySpec((STREAM // 4,), "uint32")
    args = words, ArraySpec((1,), "uint32"), np.int32(STREAM // chunk), NEVER, ArraySpec((1,), "uint32")
    return streams.stream("read", UNROLL), Geometry((number * CTAS, 1, 1), (THREADS, 1, 1)), args


def _tflops(run: Run) -> float:
    return run.flops / run.time_ps


def _wgmma(fmt: str) -> Load:
    return Load(_loop(tensor.wgmma_chain(256, fmt, False, 1), 8, ArraySpec((WORDS,), "uint32"), "float32", PASSES, tensor.TILES), _tflops)


@cache
def load(text: str) -> Load:
    """The load that records call `text`. KeyError for another one."""
    rows: dict[str, Callable[[], Load]] = {
        "FFMA, 16 warps/SM, ILP 8": lambda: Load(_loop(alu.chains("ffma", 8), 16, np.uint32(7), "uint32", PASSES), _tflops),
        "mma.sync m16n8k16 bf16, 16 warps/SM, ILP 4": lambda: Load(
            _loop(tensor.mma_chain("m16n8k16", "bf16", "fp32", 4), 16, ArraySpec((WORDS,), "uint32"), "float32", PASSES), _tflops
        ),
        "wgmma m64n256k16 bf16, A and B in smem, 2 warpgroups/SM": lambda: _wgmma("bf16"),
        "wgmma m64n256k32 e4m3, A and B in smem, 2 warpgroups/SM": lambda: _wgmma("fp8"),
        "DRAM read": lambda: Load(_stream, lambda run: STREAM / run.time_ps * 1e3),
    }
    return rows[text]()


@cache
def _run(text: str, data: str, spec_id: int) -> Run:
    spec, found = _SPECS[spec_id], load(text)
    kernel, geometry, args = found.make(sms(spec))
    return launched(spec, kernel, geometry, args, clock=SUSTAINED, data=data)


#: specifications by id, kept so that their ids stay theirs
_SPECS: dict[int, GpuSpec] = {}


def sustained(text: str, data: str, spec: GpuSpec) -> Run:
    """One launch of the load at the clock that it keeps for seconds; the same one again is not simulated again."""
    _SPECS[id(spec)] = spec
    return _run(text, data, id(spec))


def _plan(value: Callable[[Run, GpuSpec, Load], float]) -> Plan:
    def plan(p: Params) -> Simulation:
        text, data = p["load"], {"random": "random", "zero": "zeros"}[p["data"]]
        found = load(text)
        return lambda spec: value(sustained(text, data, spec), spec, found)

    return plan


def _watts(run: Run, spec: GpuSpec, _: Load) -> float:
    power_of(spec)
    return float(power_w(run, spec) or 0.0)


def _board(p: Params) -> Simulation:
    """Without a load: the board with a context."""
    return (lambda spec: power_of(spec).idle) if p["load"] == "idle context" else _plan(_watts)(p)


PLANS: dict[str, Plan] = {
    "sm_clock": lambda p: (
        excluded("sm_clock: the clock while the group was measured")(p) if "load" not in p else _plan(lambda run, *_: run.protocol.clock_mhz)(p)
    ),
    "rate": _plan(lambda run, _, found: found.rate(run)),
    "board_power": _board,
    "nvml_sm_clock": excluded("nvml_sm_clock: what the driver says of sm_clock"),
    "throttle_reasons": excluded("throttle_reasons: what the driver says of sm_clock"),
    "sample_time": excluded("sample_time: when the samples were taken"),
}

_LOADS = (
    "FFMA, 16 warps/SM, ILP 8",
    "mma.sync m16n8k16 bf16, 16 warps/SM, ILP 4",
    "wgmma m64n256k16 bf16, A and B in smem, 2 warpgroups/SM",
    "wgmma m64n256k32 e4m3, A and B in smem, 2 warpgroups/SM",
    "DRAM read",
)
POINTS: tuple[Point, ...] = tuple(
    (name, {"load": text, "data": data}) for text in _LOADS for data in ("random", "zero") for name in ("sm_clock", "board_power")
)
UNITS = {"sm_clock": "MHz", "board_power": "W"}
CURVES: tuple[Curve, ...] = ()
