"""Every function of elements as a thread computes it: the same values as tiles."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.interp.tile import compute
from gpusim.ir.build import Builder
from gpusim.ir.functions import MAPS
from gpusim.ir.program import Program
from gpusim.launch.simt.run import simulate_simt
from gpusim.lower.blocked.threads import threads
from gpusim.spec.load import load_spec

#: letter of a signature -> dtype of the argument here
DTYPES = {"T": "fp32", "F": "fp32", "A": "fp32", "I": "uint32", "B": "bool"}
RESULTS = {**DTYPES, "W": "uint32", "R": "fp32"}
COUNT = 256
#: functions of integers with a sign, too
SIGNED = ("quotient", "remainder", "mulhi", "shr")


def program(fn: str, whole: str = "uint32") -> Program:
    """y = fn(x0, x1, ...). Conditions are made of numbers; truths are stored as 0 and 1."""
    b = Builder(fn, (1,), 4)
    dtypes = {**DTYPES, "I": whole}
    args = []
    for i, letter in enumerate(MAPS[fn].takes):
        tensor = b.tensor(f"x{i}", "fp32" if letter == "B" else dtypes[letter], (COUNT,))
        loaded = b.load(tensor, (0,), (COUNT,))
        args.append(b.map("gt", loaded, b.full((COUNT,), "fp32", 1.0)) if letter == "B" else loaded)
    made = b.map(fn, *args)
    given = MAPS[fn].gives
    if given == "B":
        made, given = b.map("where", made, b.full((COUNT,), "fp32", 1.0), b.full((COUNT,), "fp32", 0.0)), "F"
    out = b.tensor("y", {**RESULTS, "I": whole}[given], (COUNT,), role="out")
    b.store(out, (0,), made, (COUNT,))
    return b.finish()


def given(made: Program) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    found = {}
    for i, tensor in enumerate(t for t in made.tensors if t.role == "in"):
        kind = np.dtype({"fp32": "float32"}.get(str(tensor.dtype), str(tensor.dtype)))
        if kind.kind == "f":
            found[tensor.name] = rng.uniform(0.05, 0.95, COUNT).astype(kind) + np.float32(
                made.name in ("acosh", "where", "logical_and", "logical_or") and i == 0
            )
        else:
            found[tensor.name] = rng.integers(-(2**31), 2**31, COUNT).astype(kind) if i == 0 else rng.integers(1, 31, COUNT).astype(kind)
    return found


@pytest.mark.parametrize(("fn", "whole"), [*((fn, "uint32") for fn in sorted(MAPS)), *((fn, "int32") for fn in SIGNED), ("philox2", "uint64")])
def test_a_thread_computes_what_a_tile_does(fn: str, whole: str) -> None:
    made = program(fn, whole)
    inputs = given(made)
    right = compute(made, inputs)["y"]
    lowered = threads(made)
    arrays = dict(inputs, y=np.zeros_like(right))
    args = [a if isinstance(a, int) else arrays[a[0]].view(a[1]) for a in lowered.arguments]
    simulate_simt(lowered.program, lowered.geometry, args, load_spec("h200"))
    if right.dtype.kind == "f":
        np.testing.assert_allclose(arrays["y"], right, rtol=2e-5, atol=1e-6)
    else:
        assert (arrays["y"] == right).all()
