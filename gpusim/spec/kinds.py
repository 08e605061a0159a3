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
    """word: how people call such a device."""

    model: type[Device]
    rules: tuple[Rule, ...]
    word: str


#: the kind of a file that does not say one
GPU = "gpu"

KINDS: dict[str, Kind] = {
    GPU: Kind(GpuSpec, GPU_RULES, "GPU"),
    "tpu": Kind(TpuSpec, TPU_RULES, "TPU"),
}
