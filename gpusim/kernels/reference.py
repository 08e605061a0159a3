"""What the kernels should compute: NumPy in float64, one line of mathematics each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gpusim.ir.program import Program
from gpusim.kernels.attention.reference import attention_reference


def gemm_reference(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """{"c": a @ b} in float64, and what the program's epilogue does to it, from the arrays as given: rounding the inputs to the program's dtype is the
    caller's."""
    given = _float64(inputs)
    layout = str(program.params.get("layout", "NN"))
    c = np.matmul(*(given[name].T if letter == "T" else given[name] for name, letter in zip("ab", layout, strict=True)))
    for word in filter(None, str(program.params.get("epilogue", "")).split("+")):
        c = _EPILOGUES[word](c, given)
    return {"c": c}


_EPILOGUES: dict[str, Callable[[np.ndarray, Mapping[str, np.ndarray]], np.ndarray]] = {
    "bias": lambda c, given: c + given["bias"],
    "residual": lambda c, given: c + given["residual"],
    "relu": lambda c, given: np.maximum(c, 0),
    "silu": lambda c, given: c * _sigmoid(c),
    "gelu": lambda c, given: c / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (c + 0.044715 * c**3))),
}


def _float64(inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array.astype(np.float64) for name, array in inputs.items()}


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _sigmoids(x: np.ndarray) -> dict[str, np.ndarray]:
    first = _sigmoid(x)
    second = _sigmoid(first)
    return {"s1": first, "s2": second, "s3": _sigmoid(second)}


def _slope(s: Mapping[str, np.ndarray], g: np.ndarray) -> dict[str, np.ndarray]:
    for saved in (s["s3"], s["s2"], s["s1"]):
        g = g * saved * (1 - saved)
    return {"dx": g}


Arrays = Mapping[str, np.ndarray]
_ELEMENTWISE: dict[str, Callable[[Arrays], dict[str, np.ndarray]]] = {
    "copy": lambda a: {"y": a["x"]},
    "relu": lambda a: {"y": np.maximum(a["x"], 0)},
    "sin": lambda a: {"y": np.sin(a["x"])},
    "cos": lambda a: {"y": np.cos(a["x"])},
    "exp": lambda a: {"y": np.exp(a["x"])},
    "sigmoid": lambda a: {"y": _sigmoid(a["x"])},
    "square": lambda a: {"y": a["x"] ** 2},
    "sin2cos2": lambda a: {"y": np.sin(a["x"]) ** 2 + np.cos(a["x"]) ** 2},
    "sigmoid3": lambda a: {"y": _sigmoids(a["x"])["s3"]},
    "add": lambda a: {"y": a["x"] + a["z"]},
    "mul": lambda a: {"y": a["x"] * a["z"]},
    "sigmoid3_saved": lambda a: _sigmoids(a["x"]),
    "sigmoid3_backward_saved": lambda a: _slope(a, a["g"]),
    "sigmoid3_backward_recompute": lambda a: _slope(_sigmoids(a["x"]), a["g"]),
}


def elementwise_reference(program: Program, inputs: Arrays) -> dict[str, np.ndarray]:
    return _ELEMENTWISE[program.params["fn"]](_float64(inputs))


def softmax_reference(program: Program, inputs: Arrays) -> dict[str, np.ndarray]:
    x = inputs["x"].astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    return {"y": e / e.sum(1, keepdims=True)}


def layernorm_reference(program: Program, inputs: Arrays) -> dict[str, np.ndarray]:
    a = _float64(inputs)
    centred = a["x"] - a["x"].mean(1, keepdims=True)
    return {"y": centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * a["w"] + a["b"]}


def rmsnorm_reference(program: Program, inputs: Arrays) -> dict[str, np.ndarray]:
    a = _float64(inputs)
    return {"y": a["x"] / np.sqrt((a["x"] ** 2).mean(1, keepdims=True) + 1e-5) * a["w"]}


#: name of a program -> its reference
REFERENCES: dict[str, Callable[[Program, Arrays], dict[str, np.ndarray]]] = {
    "gemm": gemm_reference,
    "attention": attention_reference,
    "elementwise": elementwise_reference,
    "softmax": softmax_reference,
    "layernorm": layernorm_reference,
    "rmsnorm": rmsnorm_reference,
}
