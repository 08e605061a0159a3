"""The order in which blocks are dealt to SMs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.launch.dealing import deal
from gpusim.spec.resolve import Machine
from tests.laws.specs import toy_machine

#: SMs by GPC; TPCs are pairs
GPCS = st.lists(st.sampled_from([2, 4, 6, 16, 18]), min_size=1, max_size=8)


def _machine(gpcs: list[int], first: int = 0) -> Machine:
    return toy_machine(gpc_sms=tuple(gpcs), gpc_half=(0,) * len(gpcs), gpcs_dealt_first=first)


def _by_gpc(machine: Machine, dealt: list[int]) -> list[int]:
    edges = [sum(machine.gpc_sms[:g]) for g in range(len(machine.gpc_sms) + 1)]
    return [sum(a <= sm < b for sm in dealt) for a, b in zip(edges, edges[1:], strict=False)]


@given(GPCS, st.integers(1, 4), st.integers(1, 400))
def test_as_many_as_there_are_slots_or_blocks(gpcs: list[int], slots: int, ctas: int) -> None:
    machine = _machine(gpcs)
    assert len(deal(machine, ctas, slots)) == min(ctas, slots * machine.sms)


@given(GPCS, st.integers(1, 4), st.integers(1, 400))
def test_no_sm_gets_a_second_block_before_every_sm_has_one(gpcs: list[int], slots: int, ctas: int) -> None:
    machine = _machine(gpcs)
    dealt = deal(machine, ctas, slots)
    for first in range(0, len(dealt), machine.sms):
        round_ = dealt[first : first + machine.sms]
        assert len(set(round_)) == len(round_)
        assert set(round_) <= set(range(machine.sms))


@given(GPCS, st.integers(1, 60))
def test_gpcs_get_even_shares_and_none_more_than_its_sms(gpcs: list[int], ctas: int) -> None:
    machine = _machine(gpcs)
    ctas = min(ctas, machine.sms)
    shares = _by_gpc(machine, deal(machine, ctas, 1))
    assert sum(shares) == ctas
    assert all(share <= size for share, size in zip(shares, gpcs, strict=True))
    open_ = [share for share, size in zip(shares, gpcs, strict=True) if share < size]
    assert not open_ or max(shares) - min(open_) <= 1


@given(GPCS, st.integers(1, 60), st.integers(1, 3))
def test_gpcs_that_are_dealt_first_are_filled_first(gpcs: list[int], ctas: int, first: int) -> None:
    machine = _machine(gpcs, min(first, len(gpcs)))
    ctas = min(ctas, machine.sms)
    shares = _by_gpc(machine, deal(machine, ctas, 1))
    head = sum(gpcs[:first])
    assert sum(shares) == ctas
    assert sum(shares[:first]) == min(ctas, head)
    assert all(share == size or not sum(shares[i + 1 :]) for i, (share, size) in enumerate(zip(shares[:first], gpcs, strict=False)))


@given(GPCS, st.integers(1, 60))
def test_one_sm_of_each_tpc_comes_first(gpcs: list[int], ctas: int) -> None:
    machine = _machine(gpcs)
    dealt = deal(machine, min(ctas, machine.sms), 1)
    edge = 0
    for size, share in zip(gpcs, _by_gpc(machine, dealt), strict=True):
        mine = Counter(sm // 2 for sm in dealt if edge <= sm < edge + size)
        assert max(mine.values(), default=0) <= (1 if share <= size // 2 else 2)
        edge += size


@given(GPCS, st.integers(1, 60))
def test_consecutive_blocks_stay_in_their_gpc(gpcs: list[int], ctas: int) -> None:
    machine = _machine(gpcs)
    dealt = deal(machine, min(ctas, machine.sms), 1)
    assert dealt == sorted(dealt), "SMs are numbered by GPC, so blocks go through the GPCs one after the other"


@pytest.mark.parametrize(
    ("ctas", "slots", "expected"),
    [(12, 1, list(range(12))), (4, 1, [0, 4, 8, 10]), (6, 1, [0, 2, 4, 6, 8, 10]), (14, 2, [*range(12), 0, 4])],
)
def test_worked_out_by_hand(ctas: int, slots: int, expected: list[int]) -> None:
    """GPCs of 4, 4, 2 and 2 SMs."""
    assert deal(toy_machine(), ctas, slots) == expected
