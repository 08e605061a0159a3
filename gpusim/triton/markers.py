"""What names of the language stand for where the host sees them: element types, constants, and functions that only kernels call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError

#: name in the language -> (name in the IR, bits)
TYPES = {
    "int1": ("bool", 1),
    **{f"{sign}{bits}": (f"{sign}{bits}", bits) for sign in ("int", "uint") for bits in (8, 16, 32, 64)},
    "float8e4nv": ("fp8e4m3", 8),
    "float8e5": ("fp8e5m2", 8),
    "float16": ("fp16", 16),
    "bfloat16": ("bf16", 16),
    "float32": ("fp32", 32),
    # of the library's own products; the language multiplies float32 so, and has no type for it
    "tfloat32": ("tf32", 32),
    "float64": ("fp64", 64),
}


@dataclass(frozen=True, slots=True)
class dtype:  # noqa: N801 - the language's spelling
    """An element type. `ir` is its name in the IR."""

    name: str

    @property
    def ir(self) -> str:
        return TYPES[self.name][0]

    @property
    def primitive_bitwidth(self) -> int:
        return TYPES[self.name][1]

    @property
    def itemsize(self) -> int:
        return max(1, self.primitive_bitwidth // 8)

    @property
    def element_ty(self) -> dtype:
        return self

    @property
    def scalar(self) -> dtype:
        return self

    def is_floating(self) -> bool:
        return "float" in self.name

    def is_int(self) -> bool:
        return "int" in self.name

    def is_fp8(self) -> bool:
        return self.name.startswith("float8")

    def is_fp16(self) -> bool:
        return self.name == "float16"

    def is_bf16(self) -> bool:
        return self.name == "bfloat16"

    def is_fp32(self) -> bool:
        return self.name == "float32"

    def is_ptr(self) -> bool:
        return False

    def __str__(self) -> str:
        return {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64"}.get(self.name, self.name)


@dataclass(frozen=True, slots=True)
class pointer_type:  # noqa: N801 - the language's spelling
    """A pointer to elements of a type."""

    element_ty: dtype

    @property
    def scalar(self) -> pointer_type:
        return self

    def is_ptr(self) -> bool:
        return True


class tensor_descriptor:  # noqa: N801 - the language's spelling
    """The type of descriptors, for isinstance in kernels."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A function of the language. `name` is the key of the front end's table."""

    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise GpusimError(f"{self.name} is for kernels only.", hint="Call it in a function under @triton.jit.")


class constexpr:  # noqa: N801 - the language's spelling
    """A value that is known when a kernel is compiled; as an annotation: a parameter that takes such values."""

    def __init__(self, value: Any) -> None:
        self.value: Any = value.value if isinstance(value, constexpr) else value

    def __index__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, constexpr) else other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)


#: type of the IR -> type of the language
BY_IR = {ir: dtype(name) for name, (ir, _) in TYPES.items()}
