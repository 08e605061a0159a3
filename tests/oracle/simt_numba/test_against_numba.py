"""The same kernels under Numba's own simulator give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import gather  # noqa: E402

NAMES = [name for name in gather.cases() if name not in gather.NUMBA_IS_WRONG]


@pytest.fixture(scope="module")
def numba(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """Every result of every case, as "module.case/result"."""
    path = tmp_path_factory.mktemp("numba") / "results.npz"
    environment = {**os.environ, "GPUSIM_KERNELS_FROM": "numba", "NUMBA_ENABLE_CUDASIM": "1", "PYTHONWARNINGS": "ignore"}
    subprocess.run([os.environ["GPUSIM_NUMBA_PYTHON"], str(HERE / "gather.py"), str(path)], check=True, env=environment, stdout=subprocess.DEVNULL)
    with np.load(path) as held:
        return dict(held)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits(name: str, numba: dict[str, np.ndarray]) -> None:
    ours = gather.run(name, gather.cases()[name])
    theirs = {key.split("/")[1]: value for key, value in numba.items() if key.split("/")[0] == name}
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        assert value.dtype == theirs[key].dtype and np.array_equal(value, theirs[key], equal_nan=value.dtype.kind == "f"), key


def test_every_case_is_compared(numba: dict[str, np.ndarray]) -> None:
    assert {key.split("/")[0] for key in numba} == {*NAMES, *gather.NUMBA_IS_WRONG} and len(NAMES) > 35
