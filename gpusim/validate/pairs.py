"""Would a reader choose right? For every two cases of one family that solve a problem of the same size: which is faster, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from gpusim.validate.outcome import Outcome
from gpusim.validate.stats import by

#: params that name the size of a problem; all others (stride, tile, data pattern, ...) say how it is solved or on what
SIZES = ("n", "rows", "cols", "M", "N", "K", "batch", "heads", "bh", "seq", "d", "head_dim")
#: measured values that differ by no more than this are the same
SAME = 0.05
#: a simulated ratio may miss the measured one by this
WITHIN = 0.15
#: pairs that the table and the JSON spell out, the worst first
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cases, the slower one (as measured) first. measured, simulated: value of the slower over that of the faster one."""

    slower: str
    faster: str
    family: str
    size: str
    measured: float
    simulated: float

    @property
    def error(self) -> float:
        """Simulated ratio over measured ratio, minus 1."""
        return self.simulated / self.measured - 1

    @property
    def in_order(self) -> bool:
        return self.simulated > 1

    @property
    def within(self) -> bool:
        return abs(self.error) <= WITHIN

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"error": self.error, "in_order": self.in_order}


@dataclass(frozen=True, slots=True)
class PairStatistics:
    """Of the pairs of one family: how many there are, how many are in the measured order, how many have their ratio within 15 %, and how many
    both. `worst` is the largest error of a ratio, `wrong` the pairs that fail (the worst `SHOWN`)."""

    pairs: int
    in_order: int
    within: int
    both: int
    worst: float
    worst_pair: tuple[str, str]
    wrong: tuple[Pair, ...]

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("pairs", "in_order", "within", "both", "worst")} | {
            "worst_pair": list(self.worst_pair),
            "wrong": [p.to_dict() for p in self.wrong],
        }


def size_of(outcome: Outcome) -> str:
    """The size of the problem as text, "" if the case names none: rows=4096 cols=1024."""
    return " ".join(f"{key}={outcome.params[key]:g}" for key in SIZES if isinstance(outcome.params.get(key), (int, float)))


def pairs(outcomes: Iterable[Outcome]) -> list[Pair]:
    """All pairs of the cases that count (status "ok") of one family, unit and size whose measured values differ by more than 5 %."""
    counted = [o for o in outcomes if o.status == "ok" and size_of(o)]
    together = by(lambda o: f"{o.family}|{o.unit}|{size_of(o)}", counted).values()
    return [_pair(a, b) for members in together for a, b in combinations(members, 2) if _differ(a, b)]


def pair_statistics(outcomes: Iterable[Outcome]) -> dict[str, PairStatistics]:
    """Family -> statistics, for the families that have a pair."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs(outcomes):
        found.setdefault(pair.family, []).append(pair)
    return {family: _statistics(members) for family, members in found.items()}


def rows_of(statistics: Mapping[str, PairStatistics]) -> list[list[str]]:
    """The table, heading first, with a last line for all families."""
    head = ["pairs", "pairs", "in order", "within 15 %", "both", "worst", "worst pair (slower / faster)"]
    rows = [[name, *map(str, (s.pairs, s.in_order, s.within, s.both)), f"{s.worst:+.1%}", " / ".join(s.worst_pair)] for name, s in statistics.items()]
    total = [str(sum(getattr(s, name) for s in statistics.values())) for name in ("pairs", "in_order", "within", "both")]
    return [head, *rows, ["all", *total, "", ""]] if rows else [["pairs: no two cases of a family share a size and differ by more than 5 %"]]


def wrong_rows(statistics: Mapping[str, PairStatistics]) -> list[list[str]]:
    """The pairs that fail, the worst of all families first."""
    failing = sorted((p for s in statistics.values() for p in s.wrong), key=lambda p: -abs(p.error))[:SHOWN]
    head = ["wrong pair: slower", "faster", "measured", "simulated", "error", "order"]
    return [head, *([p.slower, p.faster, f"{p.measured:.2f}", f"{p.simulated:.2f}", f"{p.error:+.1%}", "" if p.in_order else "turned"] for p in failing)]


def _differ(a: Outcome, b: Outcome) -> bool:
    low, high = sorted((a.measured or 0.0, b.measured or 0.0))
    return high > low * (1 + SAME)


def _pair(a: Outcome, b: Outcome) -> Pair:
    slower, faster = sorted((a, b), key=lambda o: -(o.measured or 0.0))
    assert slower.measured and faster.measured and slower.simulated and faster.simulated, "cases that count have both values"
    return Pair(slower.id, faster.id, slower.family, size_of(slower), slower.measured / faster.measured, slower.simulated / faster.simulated)


def _statistics(members: Sequence[Pair]) -> PairStatistics:
    worst = max(members, key=lambda p: abs(p.error))
    wrong = sorted((p for p in members if not (p.in_order and p.within)), key=lambda p: -abs(p.error))
    return PairStatistics(
        len(members),
        sum(p.in_order for p in members),
        sum(p.within for p in members),
        sum(p.in_order and p.within for p in members),
        worst.error,
        (worst.slower, worst.faster),
        tuple(wrong[:SHOWN]),
    )
