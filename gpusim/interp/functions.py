"""What the functions of Map and Reduce compute, on arrays in the computing type. Names and types are in `ir/functions.py`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gpusim.interp.bits import mulhi, philox, quotient, remainder, shifted_left, shifted_right, uniform

_ERF = np.frompyfunc(math.erf, 1, 1)

MAPS: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "floor": np.floor,
    "ceil": np.ceil,
    "neg": np.negative,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "fma": lambda x, y, z: x * y + z,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "where": np.where,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "erf": lambda x: np.asarray(_ERF(x), dtype=x.dtype),
    **{name: getattr(np, name) for name in ("tan", "expm1", "log10", "log1p", "trunc", "rint", "cbrt", "fmod", "isnan", "isinf")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "sinh": np.sinh,
    "cosh": np.cosh,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "pow": np.power,
    "atan2": np.arctan2,
    "quotient": quotient,
    "remainder": remainder,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
    "bit_not": np.bitwise_not,
    "shl": shifted_left,
    "shr": shifted_right,
    "mulhi": mulhi,
    "philox0": lambda seed, counter: philox(seed, counter)[0],
    "philox1": lambda seed, counter: philox(seed, counter)[1],
    "philox2": lambda seed, counter: philox(seed, counter)[2],
    "philox3": lambda seed, counter: philox(seed, counter)[3],
    "uniform": uniform,
}

#: the array, the axis -> the array with that axis at extent 1. The extreme of argmax and argmin is the first; nan counts as one.
REDUCES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "min": lambda x, axis: np.minimum.reduce(x, axis=axis, keepdims=True),
    "prod": lambda x, axis: np.multiply.reduce(x, axis=axis, keepdims=True, dtype=x.dtype),
    "xor": lambda x, axis: np.bitwise_xor.reduce(x, axis=axis, keepdims=True),
    "argmax": lambda x, axis: np.argmax(x, axis=axis, keepdims=True).astype(np.int32),
    "argmin": lambda x, axis: np.argmin(x, axis=axis, keepdims=True).astype(np.int32),
    "sum": lambda x, axis: np.add.reduce(x, axis=axis, keepdims=True, dtype=x.dtype),
    "max": lambda x, axis: np.maximum.reduce(x, axis=axis, keepdims=True),
}

#: the array, the axis -> running results
SCANS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "sum": lambda x, axis: np.add.accumulate(x, axis=axis, dtype=x.dtype),
    "prod": lambda x, axis: np.multiply.accumulate(x, axis=axis, dtype=x.dtype),
    "max": lambda x, axis: np.maximum.accumulate(x, axis=axis),
    "min": lambda x, axis: np.minimum.accumulate(x, axis=axis),
}
