"""The simulated device: which GPU launches go to, and what scripts ask of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import MAX_BLOCK, MAX_GRID, MAX_THREADS

if TYPE_CHECKING:
    from gpusim.spec.device import GpuSpec

DEFAULT = "default"
VARIABLE = "GPUSIM_GPU"
WARP_SIZE = 32
#: shared memory that a launch may use without asking for more, in every CUDA device
DEFAULT_SHARED = 48 * 1024


class Device:
    """A GPU as a script sees it: attributes by Numba's names."""

    def __init__(self, spec: GpuSpec, number: int = 0) -> None:
        self.spec = spec
        self.id = number

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES and "spec" in self.__dict__:
            return ATTRIBUTES[name](self.spec)
        raise AttributeError(f"the simulated device has no attribute '{name}'; known: {', '.join(ATTRIBUTES)}")

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def compute_capability(self) -> tuple[int, int]:
        major, minor = self.spec.compute_capability.split(".")
        return int(major), int(minor)

    @property
    def supports_float16(self) -> bool:
        return self.compute_capability >= (5, 3)

    def get_primary_context(self) -> Context:
        return Context(self)

    def reset(self) -> None:
        """Nothing to forget."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def __repr__(self) -> str:
        return f"<simulated device {self.id} '{self.name}'>"


#: attribute -> its value on a specification; clocks in kHz and sizes in bytes, as the driver gives them
ATTRIBUTES: dict[str, Any] = {
    "MULTIPROCESSOR_COUNT": lambda s: s.sms,
    "WARP_SIZE": lambda s: WARP_SIZE,
    "MAX_THREADS_PER_BLOCK": lambda s: MAX_THREADS,
    "MAX_BLOCK_DIM_X": lambda s: MAX_BLOCK[0],
    "MAX_BLOCK_DIM_Y": lambda s: MAX_BLOCK[1],
    "MAX_BLOCK_DIM_Z": lambda s: MAX_BLOCK[2],
    "MAX_GRID_DIM_X": lambda s: MAX_GRID[0],
    "MAX_GRID_DIM_Y": lambda s: MAX_GRID[1],
    "MAX_GRID_DIM_Z": lambda s: MAX_GRID[2],
    "MAX_SHARED_MEMORY_PER_BLOCK": lambda s: DEFAULT_SHARED,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": lambda s: int(s.sm.shared_max_per_cta),
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": lambda s: int(s.sm.shared_max),
    "MAX_REGISTERS_PER_BLOCK": lambda s: s.sm.registers,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": lambda s: s.sm.registers,
    "MAX_THREADS_PER_MULTI_PROCESSOR": lambda s: s.sm.max_warps * WARP_SIZE,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": lambda s: s.sm.max_ctas,
    "CLOCK_RATE": lambda s: int(s.clocks.boost / 1e3),
    "L2_CACHE_SIZE": lambda s: int(s.l2.capacity),
    "COMPUTE_CAPABILITY_MAJOR": lambda s: int(s.compute_capability.split(".")[0]),
    "COMPUTE_CAPABILITY_MINOR": lambda s: int(s.compute_capability.split(".")[1]),
}


class MemoryInfo(NamedTuple):
    """Device memory in bytes."""

    free: int
    total: int


class Context:
    """What remains of a CUDA context: the device, and memory in bytes."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def get_memory_info(self) -> MemoryInfo:
        """Nothing is reserved, so all is free."""
        capacity = int(self.device.spec.dram.capacity)
        return MemoryInfo(capacity, capacity)

    def synchronize(self) -> None:
        """Launches are complete when they return."""

    def reset(self) -> None:
        """Nothing to forget."""

    def push(self) -> None:
        """There is one context."""

    def pop(self) -> None:
        """There is one context."""


class _Gpus:
    """`cuda.gpus`: the one simulated device."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Device:
        return select_device(number)

    def __iter__(self) -> Iterator[Device]:
        yield get_current_device()

    @property
    def lst(self) -> list[Device]:
        return [get_current_device()]

    @property
    def current(self) -> Device:
        return get_current_device()


gpus = _Gpus()
list_devices = gpus

#: the one choice of a session, as CUDA keeps a current device per thread
_chosen: list[GpuSpec] = []


def set_gpu(gpu: str | Path | GpuSpec | None) -> Device:
    """The GPU that later launches of this process are simulated on: a name of `gpusim devices`, the path of a YAML file, or a loaded GpuSpec.
    None: back to the environment variable GPUSIM_GPU, or the default."""
    from gpusim.spec.device import GpuSpec
    from gpusim.spec.load import load_gpu

    spec = gpu if gpu is None or isinstance(gpu, GpuSpec) else load_gpu(gpu)
    _chosen[:] = [] if spec is None else [spec]
    return get_current_device()


def current_spec() -> GpuSpec:
    """The specification that launches use now."""
    from gpusim.spec.load import load_gpu

    if _chosen:
        return _chosen[0]
    try:
        return load_gpu(os.environ.get(VARIABLE) or DEFAULT)
    except GpusimError as error:
        raise GpusimError(error.what, where=f"environment variable {VARIABLE}", hint=error.hint) from None


def get_current_device() -> Device:
    return Device(current_spec())


def select_device(device_id: int) -> Device:
    """There is one simulated device, number 0; `set_gpu` changes which GPU it is."""
    if device_id != 0:
        raise GpusimError(
            f"device {device_id} does not exist: one GPU is simulated, number 0.", hint="gpusim.cuda.set_gpu(name) chooses which; `gpusim devices` lists them."
        )
    return get_current_device()


def current_context(devnum: int | None = None) -> Context:
    return Context(select_device(devnum or 0))


def require_context(function: Any) -> Any:
    return function


def is_available() -> bool:
    return True


def is_supported_version() -> bool:
    return True


def detect() -> bool:
    """Prints the simulated device."""
    device = get_current_device()
    major, minor = device.compute_capability
    print(f"Found 1 CUDA devices\nid 0    {device.name:24} [SIMULATED]\n{'compute capability':>32}: {major}.{minor}\nSummary:\n\t1/1 devices are supported")
    return True


def close() -> None:
    """Nothing is held."""


def profile_start() -> None:
    """Every launch has a report; there is nothing to switch on."""


def profile_stop() -> None:
    """See profile_start."""


@contextmanager
def profiling() -> Iterator[None]:
    yield


@contextmanager
def defer_cleanup() -> Iterator[None]:
    yield
