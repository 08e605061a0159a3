"""Kernels of the kinds that Numba's manual shows, against NumPy. The same sources run under Numba in tests/oracle/simt_numba."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle" / "simt_numba"))
import expected  # type: ignore[import-not-found]  # noqa: E402
import gather  # type: ignore[import-not-found]  # noqa: E402

CASES = gather.cases()
WITH_NUMPY = [name for name in CASES if hasattr(expected, name.split(".")[1])]


@pytest.mark.parametrize("name", WITH_NUMPY)
def test_equals_numpy(name: str) -> None:
    short = name.split(".")[1]
    ours = gather.run(name, CASES[name])
    right = getattr(expected, short)(np.random.default_rng(zlib.crc32(name.encode())))
    assert ours.keys() == right.keys()
    for key, value in right.items():
        if short in expected.CLOSE:
            np.testing.assert_allclose(ours[key], value, rtol=1e-6)
        else:
            np.testing.assert_array_equal(ours[key], value)


def test_most_cases_have_a_numpy_twin() -> None:
    assert len(WITH_NUMPY) >= 34


def test_pi_comes_out() -> None:
    out = gather.run("programs.pi", CASES["programs.pi"])["out"]
    assert abs(out.mean() - np.pi) < 0.1 and out.std() > 0


def test_an_integral_comes_out() -> None:
    assert abs(gather.run("programs.integrate", CASES["programs.integrate"])["out"].mean() - np.pi) < 0.1
