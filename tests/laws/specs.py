"""Specifications for tests: the made-up GPU, and any GPU with single numbers changed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, resolve

TOY = Path(__file__).resolve().parents[1] / "golden" / "report" / "toy.yaml"


@cache
def toy() -> GpuSpec:
    """The made-up GPU: 12 SMs, two L2 halves of 2 MiB."""
    return load_spec(TOY)


def toy_machine(**changes: Any) -> Machine:
    """The made-up GPU at 1000 MHz, so that a nanosecond is a cycle; `changes` replace resolved numbers."""
    return replace(resolve(toy(), 1000.0), **changes)


def quiet_machine(**changes: Any) -> Machine:
    """`toy_machine` without irregularity, and with a CTA that starts at once: what is left can be worked out by hand."""
    calm = {"dram_spread": 0.0, "copy_jitter": 0.0, "start_spread": 0.0, "cold_fetch": 0.0, "per_cta": 0.0, "cta_change": 0.0}
    return toy_machine(**calm | changes)


def gpc_rates(machine: Machine) -> tuple[float, ...]:
    """Read bytes a cycle into each GPC."""
    return tuple(machine.gpc_rate_per_sm * sms for sms in machine.gpc_sms)


def changed(spec: GpuSpec, **fields: Any) -> GpuSpec:
    """`spec` with fields replaced: changed(spec, dram__bandwidth=1e12)."""
    for path, value in fields.items():
        part, name = path.split("__")
        spec = spec.model_copy(update={part: getattr(spec, part).model_copy(update={name: value})})
    return spec
