"""What the functions of Map and Reduce compute, on arrays in the computing type. Names and types are in `ir/functions.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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
}

#: the array, the axis -> the array with that axis at extent 1
REDUCES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "sum": lambda x, axis: np.add.reduce(x, axis=axis, keepdims=True, dtype=x.dtype),
    "max": lambda x, axis: np.maximum.reduce(x, axis=axis, keepdims=True),
}
