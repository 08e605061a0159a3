"""Loops in recorded paths: what is left out, and that warps still meet at barriers."""

from __future__ import annotations

import pytest

from gpusim.launch.simt.counting import path_instructions
from gpusim.launch.simt.loops import parse, returns, shape, shortened
from gpusim.lower.simt.code import Block, Branch, Code, Exit, Jump
from gpusim.trace.simt import CtaPath, Touch, WarpPath
from tests.unit.made_simt import FULL, PROGRAM, TRUE, instrs, loop_code, loop_path


def cut(code: Code, path: CtaPath, *caps: int) -> CtaPath:
    loops = shape(code)
    return shortened(path, [parse(w, loops) for w in path.warps], loops, [(cap, 0) for cap in caps])


def test_equal_iterations_are_capped_and_the_rest_of_the_path_stays() -> None:
    short = cut(loop_code(), loop_path(0, [100]), 8)
    assert short.warps[0].blocks == [0, *[1] * 8, 2]


def test_some_iterations_are_kept_at_the_start_and_some_in_the_middle() -> None:
    """Two of the start and four around the middle of 100, known by what they touch."""
    touched = [(Touch(0, 32, (i,)),) for i in range(100)]
    loops, path = shape(loop_code()), CtaPath(0, [WarpPath([0, *[1] * 100, 2], [FULL] * 102, [(), *touched, ()])])
    kept = shortened(path, [parse(w, loops) for w in path.warps], loops, [(2, 4)])
    assert [t.sectors[0] for touches in kept.warps[0].touches for t in touches] == [0, 1, 48, 49, 50, 51]
    assert shortened(path, [parse(w, loops) for w in path.warps], loops, [(60, 60)]).warps[0] is path.warps[0]


@pytest.mark.parametrize("again, lines", [(0, 25), (400, 0)])
def test_a_cta_comes_back_to_lines_of_an_earlier_loop_or_does_not(again: int, lines: int) -> None:
    """Two loops over 100 sectors: the same ones, or others."""
    steps = [0, *[1] * 100, 2, *[3] * 100, 4]
    blocks = (
        Block(0, (), Jump(1), (), instrs(1, "MOV")),
        Block(1, (), Branch(TRUE, 1, 2), (), instrs(2, "LDG")),
        Block(2, (), Jump(3), (), instrs(3, "MOV")),
        Block(3, (), Branch(TRUE, 3, 4), (), instrs(4, "LDG")),
        Block(4, (), Exit(), (), instrs(5, "EXIT")),
    )
    first, second = ([(Touch(0, 32, (i + far,)),) for i in range(100)] for far in (0, again))
    path = CtaPath(0, [WarpPath(steps, [FULL] * len(steps), [(), *first, (), *second, ()])])
    assert returns(path, [parse(path.warps[0], shape(Code(PROGRAM, blocks, ())))]) == lines


def test_a_path_within_the_cap_is_the_path_itself() -> None:
    path = loop_path(0, [5])
    assert cut(loop_code(), path, 8).warps[0] is path.warps[0]


def test_warps_may_be_cut_apart_where_no_barrier_joins_them() -> None:
    assert [len(w.blocks) for w in cut(loop_code(), loop_path(0, [100, 3]), 8).warps] == [10, 5]


def test_a_change_of_masks_begins_a_new_run() -> None:
    masks = [FULL] * 20 + [1] * 20
    path = CtaPath(0, [WarpPath([0, *[1] * 40, 2], [FULL, *masks, FULL], [()] * 42)])
    assert cut(loop_code(), path, 8).warps[0].masks == [FULL, *[FULL] * 8, *[1] * 8, FULL]


def test_warps_that_meet_at_a_barrier_keep_the_same_iterations() -> None:
    """One warp has other masks in iteration 30: that iteration, and as many around it, stay in both."""
    odd = [FULL] * 30 + [1] + [FULL] * 29
    path = CtaPath(0, [WarpPath([0, *[1] * 60, 2], [FULL, *m, FULL], [()] * 62) for m in ([FULL] * 60, odd)])
    short = cut(loop_code(barrier=True), path, 4)
    assert len(short.warps[0].blocks) == len(short.warps[1].blocks) == 2 + 4 + 1 + 4
    assert 1 in short.warps[1].masks


@pytest.mark.parametrize("caps, left", [((2,), 1 + 2 * (1 + 10) + 1), ((2, 3), 1 + 2 * (1 + 3) + 1), ((100, 100), 1 + 6 * (1 + 10) + 1)])
def test_inner_loops_have_a_cap_of_their_own(caps: tuple[int, ...], left: int) -> None:
    blocks = (
        Block(0, (), Jump(1), (), instrs(1, "MOV")),
        Block(1, (), Jump(2), (), instrs(2, "MOV")),
        Block(2, (), Branch(TRUE, 2, 3), (), instrs(3, "FFMA")),
        Block(3, (), Branch(TRUE, 1, 4), (), ()),
        Block(4, (), Exit(), (), instrs(4, "EXIT")),
    )
    steps = [0, *([1, *[2] * 10, 3] * 6), 4]
    path = CtaPath(0, [WarpPath(steps, [FULL] * len(steps), [()] * len(steps))])
    short = cut(Code(PROGRAM, blocks, ()), path, *caps)
    assert sum(b != 3 for b in short.warps[0].blocks) == left


def test_instructions_of_a_path() -> None:
    code = loop_code()
    body = len(code.blocks[1].instrs)
    assert path_instructions(code, [loop_path(0, [3, 4])]) == [7 * body + 2 * (len(code.blocks[0].instrs) + len(code.blocks[2].instrs))]
