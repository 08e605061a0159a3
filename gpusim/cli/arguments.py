"""What `gpusim run mine.py:kernel --args` takes: arrays and numbers, written in one line.

name=dtype[shape]:init with init rand, normal, zeros, ones, arange, randint(low,high), full(value) or a .npy file; name=dtype:number;
name=number; name=file.npy. Entries are separated by blanks; their order is free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.errors import GpusimError

OPTION = "--args"
#: short name -> element type; the long names work too
SHORT = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "bool": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
EXAMPLE = "Write it like 'x=f32[1048576]:rand y=f32[1024,1024]:zeros a=2.0 n=i32:1000'."
MOST_BYTES = 2**34

Rng = np.random.Generator
Extents = tuple[int, ...]


def _rand(rng: Rng, shape: Extents, dtype: np.dtype[Any]) -> np.ndarray:
    if dtype.kind in "iu":
        raise GpusimError(f"rand makes numbers between 0 and 1, which {dtype} cannot hold.", where=OPTION, hint="Use randint(low,high) for integers.")
    return rng.random(shape) < 0.5 if dtype.kind == "b" else rng.random(shape, np.float32 if dtype.itemsize <= 4 else np.float64)


#: init -> values before they are converted to the element type
INITS: dict[str, Callable[[Rng, Extents, np.dtype[Any]], np.ndarray]] = {
    "rand": _rand,
    "normal": lambda rng, shape, dtype: rng.standard_normal(shape),
    "zeros": lambda rng, shape, dtype: np.zeros(shape, dtype),
    "ones": lambda rng, shape, dtype: np.ones(shape, dtype),
    "arange": lambda rng, shape, dtype: np.arange(int(np.prod(shape))).reshape(shape),
}
#: the same for those with numbers in brackets: name -> (how many, values)
CALLS: dict[str, tuple[int, Callable[[Rng, Extents, list[float]], np.ndarray]]] = {
    "randint": (2, lambda rng, shape, given: rng.integers(int(given[0]), int(given[1]), shape)),
    "full": (1, lambda rng, shape, given: np.full(shape, given[0])),
}


def parse_arguments(text: str, names: Sequence[str], seed: int = 0) -> list[Any]:
    """The values of `text` in the order of the kernel's parameters `names`. `seed` makes the random ones the same in every run.

    GpusimError for what is not understood, missing, unknown or given twice.
    """
    given = parse_named(text, names, seed)
    return [given[name] for name in names]


def parse_named(
    text: str, names: Sequence[str], seed: int = 0, optional: Collection[str] = (), word: Callable[[str], tuple[Any, bool]] = lambda text: (None, False)
) -> dict[str, Any]:
    """The values of `text` by name. optional: names that may be left out; word: reads a value that is neither number nor array, and says whether it is one."""
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    for entry in _entries(text):
        name, equals, value = entry.partition("=")
        if not equals or not value:
            raise GpusimError(f"'{entry}' is not name=value.", where=OPTION, hint=EXAMPLE)
        if name in given:
            raise GpusimError(f"'{name}' is given twice.", where=OPTION, hint="Give every parameter once.")
        if name not in names:
            raise GpusimError(f"the kernel has no parameter '{name}'; it has: {', '.join(names) or 'none'}.", where=OPTION, hint=EXAMPLE)
        read, is_word = word(value)
        given[name] = read if is_word else _value(name, value, rng)
    missing = [name for name in names if name not in given and name not in optional]
    if missing:
        raise GpusimError(f"no value for {', '.join(missing)}.", where=OPTION, hint=EXAMPLE)
    return given


def parse_extents(text: str, option: str) -> tuple[int, ...]:
    """A grid or block: "4096", "64,64" or "64x64x2"."""
    if not text:
        raise GpusimError(f"{option} is missing.", hint=f"Give {option} as 256 or 16x16.")
    parts = re.split(r"[,x]", text.strip().strip("()"))
    if not 1 <= len(parts) <= 3 or not all(p.strip().isdecimal() for p in parts):
        raise GpusimError(f"'{text}' is not made of one to three whole numbers.", where=option, hint="Write 4096, 64,64 or 64x64.")
    return tuple(int(p) for p in parts)


def _entries(text: str) -> list[str]:
    """Split at blanks and, so that lists with commas work, at nothing inside brackets."""
    return re.findall(r"(?:\[[^\]]*\]|\([^)]*\)|[^\s\[\]()])+", text)


def _value(name: str, text: str, rng: Rng) -> Any:
    array = re.fullmatch(r"(\w+)\[([^\]]*)\](?::(.+))?", text)
    if array:
        return _array(name, _dtype(name, array[1]), _shape(name, array[2]), array[3] or "zeros", rng)
    if text.endswith(".npy"):
        return _file(name, text)
    kind, colon, number = text.partition(":")
    if not colon:
        return _number(name, text)
    dtype = _dtype(name, kind)
    value = np.asarray(_number(name, number))
    made = value.astype(dtype)
    if dtype.kind in "iub" and made != value:
        raise GpusimError(f"{name} = {number} is no {dtype}.", where=OPTION, hint="Choose a wider type or another number.")
    return made[()]


def _number(name: str, text: str) -> int | float | bool:
    words: dict[str, int | float | bool] = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?(0x[\da-f_]+|0b[01_]+|\d[\d_]*)", text, re.IGNORECASE):
        return int(text, 0)
    try:
        return float(text)
    except ValueError:
        pass
    raise GpusimError(f"{name} = '{text}' is neither a number nor an array.", where=OPTION, hint=EXAMPLE)


def _dtype(name: str, text: str) -> np.dtype[Any]:
    full = SHORT.get(text, text)
    if full not in SHORT.values():
        raise GpusimError(f"{name}: '{text}' is not an element type.", where=OPTION, hint=f"Give one of {', '.join(SHORT)}.")
    if full == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(full)


def _shape(name: str, text: str) -> Extents:
    parts = [p.strip() for p in re.split(r"[,x]", text)]
    if not all(re.fullmatch(r"\d[\d_]*", p) for p in parts):
        raise GpusimError(f"{name}: [{text}] is no shape.", where=OPTION, hint="Write [1048576], [1024,1024] or [1024x1024].")
    return tuple(int(p) for p in parts)


def _array(name: str, dtype: np.dtype[Any], shape: Extents, init: str, rng: Rng) -> np.ndarray:
    size = int(np.prod([float(n) for n in shape])) * dtype.itemsize
    if size > MOST_BYTES:
        raise GpusimError(f"{name} would take {size / 2**30:.0f} GiB of this machine's memory.", where=OPTION, hint="Choose a smaller shape.")
    if init.endswith(".npy"):
        loaded = _file(name, init)
        if loaded.shape != shape:
            raise GpusimError(f"{name}: {init} has shape {loaded.shape}, not {shape}.", where=OPTION, hint=f"Write {name}={init} to take it as it is.")
        return loaded.astype(dtype)
    call = re.fullmatch(r"(\w+)\(([^)]*)\)", init)
    if call and call[1] in CALLS:
        return _called(name, call[1], call[2], shape, rng).astype(dtype)
    if init not in INITS:
        known = ", ".join([*INITS, "randint(low,high)", "full(value)", "file.npy"])
        raise GpusimError(f"{name}: '{init}' fills no array.", where=OPTION, hint=f"Give one of {known}.")
    return INITS[init](rng, shape, dtype).astype(dtype)


def _called(name: str, call: str, inside: str, shape: Extents, rng: Rng) -> np.ndarray:
    count, make = CALLS[call]
    try:
        given = [float(p) for p in inside.split(",")]
        if len(given) != count:
            raise ValueError(f"it takes {count} numbers")
        return make(rng, shape, given)
    except ValueError as error:
        raise GpusimError(f"{name}: {call}({inside}): {error}.", where=OPTION, hint="Write randint(0,100) or full(1.5).") from None


def _file(name: str, path: str) -> np.ndarray:
    try:
        loaded = np.load(Path(path), allow_pickle=False)
    except (OSError, ValueError) as error:
        raise GpusimError(f"{name}: cannot read {path}: {error}.", where=OPTION, hint="Give a file that numpy.save wrote.") from None
    return np.ascontiguousarray(loaded)
