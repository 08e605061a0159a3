"""How wide a copy may be: alignment that is provable, or one element a lane."""

from __future__ import annotations

import pytest

from gpusim.kernels.gemm import gemm
from gpusim.lower.vector import mask_known, piece_bytes, pitch_known
from tests.unit.lowering import loads_of


def _pieces(*sizes: int, **options: object) -> list[int]:
    program = gemm(*sizes, tile=(64, 64, 32), **options)  # type: ignore[arg-type]
    return [piece_bytes(load.box, program.tensor(load.box.tensor)) for load in loads_of(program)]


def test_aligned_sizes_copy_full_vectors() -> None:
    assert _pieces(256, 256, 256) == [16, 16]


@pytest.mark.parametrize("size", [255, 257, 250, 264])
def test_padding_keeps_vectors_whole(size: int) -> None:
    assert _pieces(size, size, size) == [16, 16]


@pytest.mark.parametrize(("of", "element"), [("bf16", 2), ("fp32", 4), ("tf32", 4)])
def test_a_packed_odd_size_copies_elements(of: str, element: int) -> None:
    assert _pieces(257, 257, 257, ld="packed", dtype=of) == [element, element]


def test_each_operand_goes_by_its_own_pitch() -> None:
    assert _pieces(256, 256, 250, ld="packed") == [2, 16], "rows of A have length K, those of B length N"
    assert _pieces(256, 250, 256, ld="packed") == [16, 2]


def test_a_mask_that_cuts_vectors_costs_them_even_where_the_pitch_is_aligned() -> None:
    program = gemm(256, 256, 250, tile=(64, 64, 32), lda=256)
    a, b = loads_of(program)
    tensor = program.tensor("a")
    assert pitch_known(tensor) and not mask_known(a.box, tensor)
    assert [piece_bytes(load.box, program.tensor(load.box.tensor)) for load in (a, b)] == [2, 16]


def test_a_pitch_that_is_not_a_known_multiple() -> None:
    program = gemm(256, 256, 256, tile=(64, 64, 32), lda=264)
    assert not pitch_known(program.tensor("a")), "264 is a multiple of 8, and the compiler asks for 16"
    assert _pieces(256, 256, 256, lda=264) == [2, 16]
    assert _pieces(256, 256, 256, lda=272) == [16, 16]
