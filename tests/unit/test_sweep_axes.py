"""Axes: what a user may write, and what it means."""

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.kernels import gemm
from gpusim.sweeps.axes import from_python, from_text, parse_axis


@pytest.mark.parametrize(
    ("text", "expected"),
    [("64:256:64", [64, 128, 192, 256]), ("64:250:64", [64, 128, 192]), ("5", [5]), ("1:3", [1, 2, 3]), ("7:7:2", [7]), ("8,4,16:18:1", [8, 4, 16, 17, 18])],
)
def test_ranges_include_the_stop_that_a_step_hits(text: str, expected: list[int]) -> None:
    assert list(parse_axis("m", text, whole=True)) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [("9:1:1", "empty"), ("1:9:0", "step 0"), ("1:9:-2", "step -2"), ("x", "neither"), ("1:x:2", "neither"), ("1:2:3:4", "colons"), ("1.5", "neither")],
)
def test_bad_ranges_are_told(text: str, says: str) -> None:
    with pytest.raises(GpusimError, match=says):
        parse_axis("m", text, whole=True)


def test_text_axes() -> None:
    grid = from_text(gemm, "a100, h100", {"m": "16:48:16", "n": "m", "tile": "64x64x32,128x64x32", "lda": "64"})
    assert grid.gpus == ("a100", "h100") and grid.follows == {"n": "m"}
    points = list(grid.combinations())
    assert len(points) == 2 * 3 * 2 and grid.varying == ["m", "tile"]
    assert points[0] == ("a100", {"m": 16, "tile": "64x64x32", "lda": 64, "n": 16})
    assert points[-1] == ("h100", {"m": 48, "tile": "128x64x32", "lda": 64, "n": 48})


def test_python_axes() -> None:
    grid = from_python(gemm, ["a100"], {"m": range(16, 48, 16), "n": "m", "k": np.array([64, 128]), "tile": (64, 64, 32), "warps": (4, 8), "dtype": "fp16"})
    assert grid.values["m"] == (16, 32) and grid.values["tile"] == ((64, 64, 32),) and grid.values["warps"] == (4, 8) and grid.values["dtype"] == ("fp16",)
    assert all(type(k) is int for k in grid.values["k"])
    assert from_python(gemm, "a100", {"tile": [(64, 64, 32), (128, 64, 32)]}).values["tile"] == ((64, 64, 32), (128, 64, 32))


def test_a_follower_takes_the_default_of_an_axis_that_is_not_given() -> None:
    assert [given["n"] for _, given in from_text(gemm, "a100", {"n": "m"}).combinations()] == [4096]


@pytest.mark.parametrize(
    ("axes", "says"),
    [({"m": []}, "axis 'm' is empty"), ({"mm": 3}, "no parameter"), ({"n": "k", "k": "n"}, "follows"), ({"m": range(9, 3)}, "empty"), ({"m": "m"}, "follows")],
)
def test_bad_axes_are_told(axes: dict, says: str) -> None:
    with pytest.raises(GpusimError, match=says):
        from_python(gemm, "a100", axes)


@pytest.mark.parametrize("axis", ["", ",", " , "])
def test_an_empty_text_axis_is_told(axis: str) -> None:
    with pytest.raises(GpusimError, match="empty"):
        from_text(gemm, "a100", {"m": axis})
    with pytest.raises(GpusimError, match="no GPU"):
        from_text(gemm, axis, {})
