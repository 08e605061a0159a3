"""The kinds of devices: which model a specification file fills (`kind:` in the file; "gpu" where it says nothing)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.spec.device import GpuSpec
from gpusim.spec.rules import GPU_RULES, TPU_RULES
from gpusim.spec.tpu import TpuSpec

Device = GpuSpec | TpuSpec

#: (fields concerned, condition that must hold, what it says): what no single field can say
Rule = tuple[tuple[str, ...], Callable[[Any], bool], str]


@dataclass(frozen=True, slots=True)
class Kind:
    """word: how people call such a device. summary: one line about it, for `gpusim devices`."""

    model: type[Device]
    rules: tuple[Rule, ...]
    word: str
    summary: Callable[[Any], str]


def _memory(spec: Device) -> str:
    state = "validated" if spec.validated else "not validated"
    return f"{spec.dram.capacity / 1e9:g} GB {spec.dram.standard} at {spec.dram.bandwidth / 1e12:.4g} TB/s, {state}"


def _gpu(s: GpuSpec) -> str:
    return f"{s.architecture}, {s.sms} SMs, {s.clocks.boost / 1e6:.0f} MHz, {s.l2.capacity / 2**20:g} MiB L2, {_memory(s)}"


def _tpu(s: TpuSpec) -> str:
    arrays = f"{s.chip.cores} x {s.mxu.count} MXU {s.mxu.dim}x{s.mxu.dim}"
    return f"{s.architecture}, {arrays}, {s.clock / 1e6:.0f} MHz, {s.vmem.capacity / 2**20:g} MiB VMEM a core, {_memory(s)}"


#: the kind of a file that does not say one
GPU = "gpu"

KINDS: dict[str, Kind] = {
    GPU: Kind(GpuSpec, GPU_RULES, "GPU", _gpu),
    "tpu": Kind(TpuSpec, TPU_RULES, "TPU", _tpu),
}
