"""The printed IR of the kernels, letter by letter: readers, bug reports and the parser rely on it.

After a change that is meant, write the file again: python -c "from gpusim.kernels import gemm; print(gemm(), end='')" > tests/golden/ir/gemm.txt
"""

from pathlib import Path

import pytest

from gpusim.ir.check import check, static
from gpusim.ir.parse import parse
from gpusim.ir.show import show
from gpusim.kernels.gemm import gemm

HERE = Path(__file__).parent / "ir"
PROGRAMS = {
    "gemm": lambda: gemm(),
    "gemm_masked": lambda: gemm(1793, 1793, 1793, tile=(256, 128, 32), stages=3, dtype="fp16"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_is_the_golden_one(name: str) -> None:
    assert show(PROGRAMS[name]()) == (HERE / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden_text_is_read_back_as_the_program(name: str) -> None:
    program = parse((HERE / f"{name}.txt").read_text())
    assert program == PROGRAMS[name]()
    check(program)
    assert static(program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_fits_a_screen(name: str) -> None:
    lines = show(PROGRAMS[name]()).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 120


def test_str_of_a_program_is_its_text() -> None:
    program = gemm(64, 64, 64, tile=(32, 32, 32))
    assert str(program) == show(program)


def test_every_golden_file_is_tested() -> None:
    assert {p.stem for p in HERE.glob("*.txt")} == set(PROGRAMS)
