"""What is simulated of a launch, and that the rest follows exactly where the simulated part is steady."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim import effects as fx
from gpusim.devices.gpu import Life, Timed
from gpusim.devices.stream import Stream
from gpusim.launch.shorten import KEPT_STEPS, KEPT_WAVES, WHOLE, Plan, plan, restore
from gpusim.launch.streaming import kept

CTAS, TRIPS, SLOTS, EFFECTS = st.integers(1, 5000), st.integers(1, 600), st.sampled_from([8, 80, 132, 264]), st.sampled_from([5, 10, 50])


def _stream(trips: int, keep: int | None = None, effects: int = 10) -> Stream:
    """A loop of so many effects a step, `keep` steps of which are simulated."""
    return Stream((1,), 4, 0, (), (), "k", (), ((fx.Barrier(), -1),) * effects, (), trips, kept(trips, keep))


@given(CTAS, TRIPS, SLOTS, EFFECTS)
def test_exact_simulates_everything(ctas: int, trips: int, slots: int, effects: int) -> None:
    p = plan(ctas, _stream(trips, effects=effects), slots, exact=True)
    assert p.whole
    assert (list(p.ctas), p.steps, p.repeated, p.scale) == (list(range(ctas)), None, 0, 1.0)


@given(CTAS, TRIPS, SLOTS, EFFECTS)
def test_blocks_are_simulated_once_or_stand_in_a_repeated_wave(ctas: int, trips: int, slots: int, effects: int) -> None:
    p = plan(ctas, _stream(trips, effects=effects), slots, exact=False)
    assert len(p.ctas) + p.repeated * slots == ctas
    assert list(p.ctas) == sorted(set(p.ctas))
    assert p.ctas[0] == 0 and p.ctas[-1] == ctas - 1


@given(CTAS, TRIPS, SLOTS, EFFECTS)
def test_a_small_launch_is_simulated_whole(ctas: int, trips: int, slots: int, effects: int) -> None:
    p = plan(ctas, _stream(trips, effects=effects), slots, exact=False)
    assert p.whole or ctas * trips * effects > WHOLE
    assert p.whole == (p.steps is None and p.repeated == 0)


@given(CTAS, TRIPS, SLOTS, EFFECTS)
def test_the_first_waves_and_the_tail_are_never_left_out(ctas: int, trips: int, slots: int, effects: int) -> None:
    p = plan(ctas, _stream(trips, effects=effects), slots, exact=False)
    first, tail = range(min(ctas, KEPT_WAVES * slots)), range(ctas - ctas % slots, ctas)
    assert set(first) <= set(p.ctas)
    assert set(tail) <= set(p.ctas)


@given(CTAS, TRIPS, SLOTS, EFFECTS)
def test_the_l2_shrinks_with_the_loop(ctas: int, trips: int, slots: int, effects: int) -> None:
    p = plan(ctas, _stream(trips, effects=effects), slots, exact=False)
    assert p.steps is None or p.steps <= min(KEPT_STEPS, trips - 1)
    assert p.scale == (p.steps / trips if p.steps else 1.0)


def _lives(made: Stream, waves: int, slots: int, start: float, step: float, end: float) -> tuple[list[Life], float]:
    """Blocks in waves, each `start` + `step` for every simulated step + `end`; two reasons share the time of a step 1:3."""
    lives, now, n = [], 0.0, len(made.steps)
    opens, closes = made.window
    for wave in range(waves):
        marks = tuple(now + start + i * step for i in range(n + 1))
        ended = marks[-1] + end
        spans, window = (start + n * step / 4, n * step * 3 / 4 + end), ((closes - opens) * step / 4, (closes - opens) * step * 3 / 4)
        lives += [Life(wave * slots + i, i, now, ended, spans, marks, window) for i in range(slots)]
        now = ended
    return lives, now


@pytest.mark.parametrize("waves", [1, 3])
@pytest.mark.parametrize("trips", [64, 300])
def test_steady_steps_are_restored_exactly(waves: int, trips: int) -> None:
    made = _stream(trips, 32)
    lives, end = _lives(made, waves, 10, start=500.0, step=120.0, end=300.0)
    whole = restore(Timed(end + 7.0, tuple(lives), {}, {}), made, Plan(32, range(10 * waves), 0, 10, 32 / trips))
    life = 500.0 + trips * 120.0 + 300.0
    assert whole.cycles == pytest.approx(waves * life + 7.0)
    assert whole.spans == pytest.approx((10 * waves * (500.0 + trips * 30.0), 10 * waves * (trips * 90.0 + 300.0)))
    assert whole.residual == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("keep", "repeated"), [(None, 5), (32, 5), (None, 0)])
def test_steady_waves_are_restored_exactly(keep: int | None, repeated: int) -> None:
    trips, slots, simulated = 100, 10, KEPT_WAVES + 1
    made = _stream(trips, keep)
    lives, end = _lives(made, simulated, slots, start=500.0, step=120.0, end=300.0)
    whole = restore(Timed(end, tuple(lives), {}, {}), made, Plan(keep, range(slots * simulated), repeated, slots, 1.0))
    waves, life = simulated + repeated, 500.0 + trips * 120.0 + 300.0
    assert whole.cycles == pytest.approx(waves * life)
    assert sum(whole.spans) == pytest.approx(waves * slots * life)


def test_a_loop_that_slows_down_shows_in_the_residual() -> None:
    made = _stream(320, 32)
    opens, closes = made.window
    marks = [0.0]
    for i in range(32):
        marks.append(marks[-1] + (100.0 if i < (opens + closes) // 2 else 110.0))
    life = Life(0, 0, 0.0, marks[-1], (marks[-1],), tuple(marks), (marks[closes] - marks[opens],))
    whole = restore(Timed(marks[-1], (life,), {}, {}), made, Plan(32, range(1), 0, 1, 0.1))
    assert whole.residual == pytest.approx(0.1, abs=0.01)


def test_what_is_simulated_whole_is_not_restored() -> None:
    made = _stream(100, None)
    lives, end = _lives(made, 2, 10, start=500.0, step=120.0, end=300.0)
    whole = restore(Timed(end, tuple(lives), {}, {}), made, plan(20, made, 10, exact=True))
    assert (whole.cycles, whole.residual) == (end, 0.0)
    assert sum(whole.spans) == pytest.approx(sum(life.ended - life.begun for life in lives))


@pytest.mark.parametrize("ctas", [1000, 5000, 50_000])
def test_the_wave_that_stands_for_many_is_as_old_as_they_are_on_average(ctas: int) -> None:
    """Of CTAs whose slots have run k steps, one in 1 + k / drift is in step with the others."""
    trips, slots, drift = 1000, 100, 75.0
    p = plan(ctas, _stream(trips), slots, False)
    ages = p.ages(drift)
    assert list(ages) == sorted(ages) and ages[:2] == (0.0, trips)
    waves = range(2, 2 + p.repeated + 1)
    in_step = [1.0 / (1.0 + trips * wave / drift) for wave in waves]
    assert 1.0 / (1.0 + ages[2] / drift) == pytest.approx(sum(in_step) / len(in_step))
    assert ages[3] == trips * (2 + p.repeated + 1)
