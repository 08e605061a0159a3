"""Streams: launches in which round after round reads and writes memory that nothing else touches.

All such rounds do the same: what they read comes from DRAM, what they write goes there. So some are walked and counted, and those in the middle
are only counted, like these. The last ones are walked again, as many as fill both halves: L2 then holds what it would hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from gpusim.launch.simt.rounds import Round, walk_round
from gpusim.launch.simt.strips import SECTORS, Kind
from gpusim.launch.simt.walk import READS, Walk, grouped, merged
from gpusim.parts.sectored_l2 import Found
from gpusim.parts.written import Written

Array = Any  # np.ndarray

#: repetitions that are walked before some are left out; the first of them is not counted
HEAD = 9
#: fewer are not worth it
LEAST = 8
#: the longest loop of reads and writes that is looked for in a wave
LOOP = 8
#: counts of `walk.Moved` that a repetition adds to
COUNTED = ("missed", "near_misses", "fabric_read", "changed", "remote", "atoms", "blocks")


@dataclass(frozen=True, slots=True)
class Stream:
    """Rounds `begin` to `end` - 1 repeat with `period`, and what a repetition touches nothing else does."""

    begin: int
    end: int
    period: int

    @property
    def repetitions(self) -> int:
        return (self.end - self.begin) // self.period

    def repetition(self, i: int) -> int:
        """Of round i; -1 for a round of none."""
        whole = self.begin + self.repetitions * self.period
        return (i - self.begin) // self.period if self.begin <= i < whole else -1


def walk_rounds(walk: Walk, kinds: Sequence[Kind], rounds: Sequence[Round], exact: bool) -> None:
    """All of them, or as far as they must be walked."""
    found, i, before = None if exact else stream(walk, kinds, rounds), 0, np.zeros(0)
    while i < len(rounds):
        if found is not None and i == found.begin + found.period:
            before = _counts(walk)
        if found is not None and i == found.begin + HEAD * found.period:
            i += found.period * _leave_out(walk, kinds, rounds, found, (_counts(walk) - before) / (HEAD - 1))
        walk_round(walk, kinds, rounds[i])
        i += 1


def stream(walk: Walk, kinds: Sequence[Kind], rounds: Sequence[Round]) -> Stream | None:
    """The one in `rounds`; None where there is none that is long enough."""
    pieces = max((r.piece for r in rounds), default=-1) + 1
    longest = pieces if pieces < len(rounds) else LOOP
    for period in range(1, min(longest, len(rounds) // (HEAD + LEAST)) + 1):
        found = Stream(*_alike(kinds, rounds, period, SECTORS * walk.cache.block), period)
        if found.repetitions >= HEAD + LEAST:
            return found if _of_their_own(walk, kinds, rounds, found) else None
    return None


def _alike(kinds: Sequence[Kind], rounds: Sequence[Round], period: int, grain: int) -> tuple[int, int]:
    """The longest run of rounds of which each does what the one `period` before it does, shifted by a multiple of `grain` sectors."""
    best, begin = (0, 0), 0
    for i in range(period, len(rounds)):
        if _shifted(kinds, rounds[i - period], rounds[i], grain):
            best = max(best, (begin, i + 1), key=lambda run: run[1] - run[0])
        else:
            begin = i - period + 1
    return best


def _shifted(kinds: Sequence[Kind], one: Round, other: Round, grain: int) -> bool:
    steps, more = one.steps(kinds), other.steps(kinds)
    if [(g.kind, g.half, g.members, access) for g, access in steps] != [(g.kind, g.half, g.members, access) for g, access in more]:
        return False
    places = [
        (kinds[g.kind].pieces[one.piece].touched[a], kinds[h.kind].pieces[other.piece].touched[a], g.shifts[a], h.shifts[a])
        for (g, a), (h, _) in zip(steps, more, strict=True)
    ]
    return all(_same(base, moved) and _same(x, y) and (moved[0] - base[0] + y[0] - x[0]) % grain == 0 for (base, _), (moved, _), x, y in places)


def _same(a: Array, b: Array) -> bool:
    """Whether they are the same but for one shift."""
    return a is b or (len(a) == len(b) and bool((a - a[0] == b - b[0]).all()))


def _of_their_own(walk: Walk, kinds: Sequence[Kind], rounds: Sequence[Round], found: Stream) -> bool:
    """Whether CTAs touch whole lines that no other CTA and no other repetition touches, and write them whole."""
    lines: dict[int, list[Array]] = {}
    for this in rounds[found.begin : found.begin + found.period]:
        for group, access in this.steps(kinds):
            parts, shifts = kinds[group.kind].pieces[this.piece].touched[access][1], group.shifts[access]
            if walk.kinds[access] not in (*READS, "store") or parts is not None or len(shifts) < group.members or (shifts % SECTORS).any():
                return False
            lines.setdefault(access, []).append(kinds[group.kind].moved(this.piece, access, shifts)[0])
    if any(len(np.unique(np.concatenate(mine))) < sum(map(len, mine)) for mine in lines.values()):
        return False
    return _disjoint(
        (*_span(kinds, this, group.shifts[access], group.kind, access), found.repetition(i))
        for i, this in enumerate(rounds)
        for group, access in this.steps(kinds)
    )


def _span(kinds: Sequence[Kind], this: Round, shifts: Array, kind: int, access: int) -> tuple[int, int]:
    """First and last line."""
    base = kinds[kind].pieces[this.piece].touched[access][0]
    return int(base[0] + shifts[0]) // SECTORS, int(base[-1] + shifts[-1]) // SECTORS


def _disjoint(spans: Iterable[tuple[int, int, int]]) -> bool:
    """spans: (first, last, whose). Whether those that overlap belong together."""
    end, owner = -1, 0
    for first, last, whose in sorted(spans):
        if first <= end and whose != owner:
            return False
        if last > end:
            end, owner = last, whose
    return True


def _counts(walk: Walk) -> Array:
    return np.array([*(getattr(walk.moved, name) for name in COUNTED), *walk.cache.brought], float)


def _leave_out(walk: Walk, kinds: Sequence[Kind], rounds: Sequence[Round], found: Stream, each: Array) -> int:
    """How many repetitions from here on are counted but not walked. each: what one adds to the counts, on average; where homes are by hash that is
    all that can be known without a look at every line."""
    first = found.begin + HEAD * found.period
    sample = rounds[first : first + found.period]
    count, brought = dict(zip(COUNTED, each, strict=False)), each[len(COUNTED) :]
    reads = sum(g.members * len(kinds[g.kind].pieces[r.piece].touched[a][0]) for r in sample for g, a in r.steps(kinds) if walk.kinds[a] in READS)
    if count["missed"] != reads or 2 * count["atoms"] != count["near_misses"] or (brought <= 0).any():
        return 0
    tables = walk.cache.held
    fill = max(ceil(t.capacity / b) for t, b in zip(tables, brought, strict=True))
    number = found.repetitions - HEAD - fill - 1
    left = rounds[first : first + number * found.period]
    if number < max(LEAST, fill) or _held(walk, kinds, left):
        return 0
    for name, value in count.items():
        setattr(walk.moved, name, getattr(walk.moved, name) + round(value * number))
    for table, lines in zip(tables, brought, strict=True):
        table.brought += round(lines * number)
        table.forget()
    walk.cache.sent.more(_written(walk, kinds, sample), number)
    _note(walk, kinds, left)
    walk.cache.begin()
    return number


def _held(walk: Walk, kinds: Sequence[Kind], left: Sequence[Round]) -> bool:
    """Whether L2 holds any of it: of launches before, for no other round touches it."""
    if not sum(walk.brought):
        return False
    spans = {_span(kinds, r, g.shifts[a], g.kind, a) for r in left for g, a in r.steps(kinds)}
    return any(bool(t.holds(slice(first, last + 1)).any()) for t in walk.cache.held for first, last in spans)


def _written(walk: Walk, kinds: Sequence[Kind], sample: Sequence[Round]) -> Written:
    """What a repetition leaves to be written back."""
    found = [kinds[g.kind].moved(r.piece, a, g.shifts[a]) for r in sample for g, a in r.steps(kinds) if walk.kinds[a] == "store"]
    out = Written()
    if found:
        lines, masks = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(lines, kind="stable")
        lines, masks = merged(lines[order], masks[order])
        out.add(lines, masks, walk.cache.block, np.zeros_like(masks))
    return out


def _note(walk: Walk, kinds: Sequence[Kind], left: Sequence[Round]) -> None:
    """Where CTAs whose levels are kept find what they read: in DRAM."""
    for this in left:
        for group, access in this.steps(kinds):
            for cta, moved in group.own[access] if walk.kinds[access] in READS else ():
                sectors = kinds[group.kind].pieces[this.piece].touched[access][0] + moved
                lines, masks = grouped(sectors)
                none = np.zeros_like(masks)
                walk.note(cta, sectors, lines, Found(none, none, masks, masks, none > 0, walk.cache.home(lines) != group.half))
