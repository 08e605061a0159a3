"""What scripts ask about the device that kernels run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.cuda.devices import current_spec


@dataclass(frozen=True, slots=True)
class Target:
    """backend as scripts compare it; arch: compute capability as one number (90)."""

    backend: str
    arch: int
    warp_size: int = 32


class _Utils:
    def get_device_properties(self, device: Any = 0) -> dict[str, int]:
        """Limits of the simulated device, under the names that scripts use."""
        spec = current_spec()
        return {
            "multiprocessor_count": spec.sms,
            "max_shared_mem": spec.sm.shared_max_per_cta,
            "max_num_regs": spec.sm.registers,
            "warpSize": 32,
        }


class _Active:
    utils = _Utils()

    def get_current_target(self) -> Target:
        major, minor = (int(n) for n in str(current_spec().compute_capability).split("."))
        return Target("cuda", 10 * major + minor)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> str:
        """Tensors of the host stand for those of the device."""
        return "cpu"


class _Driver:
    active = _Active()


driver = _Driver()
