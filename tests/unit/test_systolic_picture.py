"""`gpusim systolic`: a small array over time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.parts.systolic import Array, product
from gpusim.parts.systolic_frames import frames
from gpusim.report.systolic import text


@pytest.mark.parametrize("dim, rows, passes", [(4, 5, 2), (4, 2, 3), (1, 1, 1), (8, 8, 1)])
def test_as_many_cycles_as_the_closed_form(dim: int, rows: int, passes: int) -> None:
    assert len(list(frames(dim, rows, passes))) == product(Array(1, dim), rows, dim, dim * passes).cycles


def test_phases_in_order() -> None:
    phases = [f.phase for f in frames(4, 8, 1)]
    assert list(dict.fromkeys(phases)) == ["load", "fill", "full", "drain"]
    assert "gap" in {f.phase for f in frames(4, 2, 4)}, "few rows wait for their weights"


def test_text_counts_what_it_shows() -> None:
    out = text(list(frames(2, 2, 1)))
    assert out.splitlines()[:3] == [
        "cycle 0  cycle 1  cycle 2  cycle 3  cycle 4  cycle 5",
        "..       ..       1.       11       .1       ..".rstrip(),
        "..       ..       ..       1.       11       .1",
    ]
    assert "6 cycles: first weights move in 2, filling 2, draining 2" in out
    assert "33.3 % of all cells and cycles multiply" in out


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "array.png"
    assert main(["systolic", "--dim", "3", "--rows", "4", "--passes", "2", "--plot", str(picture)]) == 0
    assert "w2 1/3" in capsys.readouterr().out and picture.stat().st_size > 5000
    assert main(["systolic", "--plot", "x.gif"]) == 2
    assert main(["systolic", "--dim", "99"]) == 2


def test_nothing_is_no_size() -> None:
    with pytest.raises(GpusimError, match="rows = 0"):
        list(frames(4, 0, 1))
