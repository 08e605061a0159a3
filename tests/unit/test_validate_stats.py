"""Statistics and ranking, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.validate.outcome import Outcome
from gpusim.validate.rank import ENOUGH, rank, ranks, regret, spearman
from gpusim.validate.stats import Statistics, by, statistics


def outcome(name: str, measured: float, simulated: float | None, status: str = "ok", noise: float = 0.0, shape: str = "s", group: str = "g") -> Outcome:
    error = None if simulated is None else simulated / measured - 1
    return Outcome(name, group, "f", measured, simulated, "cycles", error, status, None, noise, shape)


def test_statistics_by_hand() -> None:
    found = statistics(
        [
            outcome("a", 100, 110),
            outcome("b", 100, 80, noise=0.2),
            outcome("c", 100, 103),
            outcome("d", 100, 300, "short", noise=0.5),
            outcome("e", 100, None, "unsupported"),
        ]
    )
    assert (found.cases, found.unsupported, found.short, found.noisy) == (3, 1, 1, 1)
    assert found.mape == pytest.approx(0.11) and found.signed_mean == pytest.approx(-0.07 / 3)
    assert found.median == pytest.approx(0.10) and found.p90 == pytest.approx(0.18)
    assert found.worst == pytest.approx(-0.20) and found.worst_id == "b"


def test_nothing_counted_is_none_not_zero() -> None:
    assert statistics([outcome("a", 1, None, "unsupported")]) == Statistics(cases=0, unsupported=1, short=0, noisy=0)
    assert statistics([]).mape is None


def test_by_keeps_the_order_of_first_appearance() -> None:
    rows = [outcome("a", 1, 1, group="z"), outcome("b", 1, 1, group="y"), outcome("c", 1, 1, group="z")]
    assert {g: [o.id for o in members] for g, members in by(lambda o: o.group, rows).items()} == {"z": ["a", "c"], "y": ["b"]}


def test_ties_share_the_mean_rank_and_do_not_chain() -> None:
    assert ranks([3.0, 1.0, 3.0]).tolist() == [1.5, 0.0, 1.5]
    assert ranks([100, 100.9, 101.8, 102.7], tie=0.01).tolist() == [0.5, 0.5, 2.5, 2.5]


def test_spearman_by_hand() -> None:
    measured = np.array([10.0, 20, 30, 40, 50])
    assert spearman(measured, np.array([1.0, 2, 3, 4, 5])) == pytest.approx(1)
    assert spearman(measured, np.array([5.0, 4, 3, 2, 1])) == pytest.approx(-1)
    assert spearman(measured, np.array([1.0, 3, 2, 4, 5])) == pytest.approx(1 - 6 * 2 / (5 * 24))
    assert spearman(measured, np.ones(5)) is None


def test_measured_costs_within_one_percent_are_one_rank() -> None:
    close = np.array([100.0, 100.5, 200, 300, 400])
    assert spearman(close, np.array([1.0, 2, 3, 4, 5])) == spearman(close, np.array([2.0, 1, 3, 4, 5]))


def test_regret_is_what_the_pick_costs() -> None:
    measured = np.array([120.0, 100, 150])
    assert regret(measured, np.array([1.0, 2, 3])) == pytest.approx(0.2)
    assert regret(measured, np.array([2.0, 1, 3])) == 0
    assert regret(measured, np.array([1.0, 1, 1])) == pytest.approx(0.5), "where the model cannot decide, the dearest counts"


def test_rank_takes_shapes_with_enough_configurations_short_ones_included() -> None:
    rows = [outcome(f"a{i}", 100 + 10 * i, 50 + i, "short" if i else "ok", shape="1x1x1") for i in range(ENOUGH)]
    rows += [outcome(f"b{i}", 100 + i, 100 + i, shape="2x2x2") for i in range(ENOUGH - 1)]
    rows += [outcome("b9", 100, None, "unsupported", shape="")]
    found = rank(rows)
    assert found["shapes"] == {"1x1x1": {"spearman": pytest.approx(1), "regret": 0, "configurations": ENOUGH}}
    assert found["median_spearman"] == found["min_spearman"] == pytest.approx(1) and found["max_regret"] == found["median_regret"] == 0
    assert rank([])["median_spearman"] is None and rank([])["shapes"] == {}


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=40), st.floats(0, 0.05))
def test_ranks_are_a_fair_share_of_the_places(costs: list[float], tie: float) -> None:
    found = ranks(costs, tie)
    assert found.sum() == pytest.approx(len(costs) * (len(costs) - 1) / 2)
    order = np.argsort(costs, kind="stable")
    assert (np.diff(found[order]) >= 0).all()


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=3, max_size=30))
def test_spearman_agrees_with_the_definition_over_pairs(pairs: list[tuple[int, int]]) -> None:
    """Rank = items below + half of the equal others: the textbook definition, written another way."""
    costs = np.array(pairs, dtype=float) * 100
    naive = [[(column < x).sum() + ((column == x).sum() - 1) / 2 for x in column] for column in costs.T]
    found = spearman(costs[:, 0], costs[:, 1])
    if min(np.ptp(naive[0]), np.ptp(naive[1])) == 0:
        assert found is None
    else:
        assert found == pytest.approx(np.corrcoef(naive)[0, 1])
