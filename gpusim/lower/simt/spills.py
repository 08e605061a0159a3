"""Values that have no register: stored to local memory once they are computed, loaded again where they are needed.

At the point where most values live, those whose next use is furthest go first; an end of a loop in between counts as very far, so what lives
through a loop without a use in it goes before all others. That is Belady's rule, as allocators for straight code and loops apply it (Braun and
Hack 2009). What one instruction without operands makes is made again instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gpusim.lower.simt.code import Instr
from gpusim.lower.simt.registers import LEAST, SPARE, liveness, words

Rows = Sequence[Sequence[Instr]]

#: so many instructions behind a use, a loaded value is still there; the next number where that leaves too few registers
WINDOWS = (32, 4, 0)
#: how far a load stands in front of the use, at most; never farther than the window
HOIST = 4
#: the way out of a loop, in instructions
LEAVING = 100_000
#: constants and numbers of threads, that cost less than a load
_MADE_AGAIN = frozenset(("MOV", "IMAD.MOV", "HFMA2.MMA", "LDC", "S2R"))


@dataclass(frozen=True, slots=True)
class _Point:
    """Before instruction `place` of a block (or at its end): what lives there takes `words` registers."""

    words: int
    block: int
    place: int
    live: int


def spill(rows: Rows, succ: Sequence[Sequence[int]], size: dict[int, int], most: int) -> tuple[list[list[Instr]], int]:
    """(`rows` with stores and loads so that at most `most` registers are needed, 32-bit registers that moved to local memory).

    `rows` come back as they are if they fit. size: 32-bit registers of each virtual register. The operands of one instruction always have
    registers, even if that is more than `most`.
    """
    again = _made_again(rows)
    fit = max(most, LEAST) - SPARE
    windows: dict[int, int] = {}
    while True:
        now = [_block(block, windows, again, size) for block in rows]
        point = _worst(now, succ, size)
        more = _furthest(now, succ, size, point, point.words - fit, windows) if point.words > fit else {}
        if not more:
            return now, sum(size.get(r, 1) for r in windows if r not in again)
        windows |= more


def _made_again(rows: Rows) -> dict[int, Instr]:
    """Registers with one definition that needs nothing -> that instruction."""
    found: dict[int, Instr] = {}
    several: set[int] = set()
    for row in (row for block in rows for row in block):
        several.update(r for r in row.dst if r in found)
        found.update((r, row) for r in row.dst)
    return {r: row for r, row in found.items() if r not in several and row.op in _MADE_AGAIN and not row.srcs and len(row.dst) == 1}


def _block(rows: Sequence[Instr], windows: dict[int, int], again: dict[int, Instr], size: dict[int, int]) -> list[Instr]:
    """One block, with a load before a use that is too far behind the last one, and a store behind every definition."""
    before: list[list[Instr]] = [[] for _ in rows]
    behind: list[list[Instr]] = [[] for _ in rows]
    last: dict[int, int] = {}
    unused: dict[int, int] = {}
    for i, row in enumerate(rows):
        for r in dict.fromkeys(r for r in row.srcs if r in windows):
            if r not in last or i - last[r] > windows[r]:
                before[_hoisted(rows, i, windows[r])].append(_load(r, row, again, size))
            else:
                unused.pop(r, None)
            last[r] = i
        for r in (r for r in row.dst if r in windows):
            last[r] = i
            if r in again:
                unused[r] = i
            else:
                behind[i].append(Instr("STL", (), (r,), row.line, bits=32 * size.get(r, 1)))
    gone = set(unused.values())
    return [new for i, row in enumerate(rows) for new in (*before[i], *(() if i in gone else (row,)), *behind[i])]


def _hoisted(rows: Sequence[Instr], use: int, window: int) -> int:
    at = use
    while at > max(0, use - min(HOIST, window)) and rows[at - 1].op != "BSYNC":
        at -= 1
    return at


def _load(r: int, use: Instr, again: dict[int, Instr], size: dict[int, int]) -> Instr:
    return replace(again[r], line=use.line) if r in again else Instr("LDL", (r,), (), use.line, bits=32 * size.get(r, 1))


def _worst(rows: Rows, succ: Sequence[Sequence[int]], size: dict[int, int]) -> _Point:
    """Where most registers are needed."""
    live_in = liveness(rows, succ)
    worst = _Point(-1, 0, 0, 0)
    for b, block in enumerate(rows):
        live = 0
        for s in succ[b]:
            live |= live_in[s]
        count = words(live, size)
        if count > worst.words:
            worst = _Point(count, b, len(block), live)
        for i in reversed(range(len(block))):
            row = block[i]
            for r in row.dst:
                if live >> r & 1 and r not in row.srcs:
                    live ^= 1 << r
                    count -= size.get(r, 1)
            for r in row.srcs:
                if not live >> r & 1:
                    live |= 1 << r
                    count += size.get(r, 1)
            if count > worst.words:
                worst = _Point(count, b, i, live)
    return worst


def _furthest(rows: Rows, succ: Sequence[Sequence[int]], size: dict[int, int], point: _Point, excess: int, windows: dict[int, int]) -> dict[int, int]:
    """Register -> window for those that give up `excess` registers at `point`; fewer if no more can."""
    alive = [r for r in range(point.live.bit_length()) if point.live >> r & 1 and size.get(r, 1)]
    far = _distances(rows, succ, point, alive)
    chosen: dict[int, int] = {}
    for r in sorted(alive, key=lambda r: (-far[r], r)):
        window = next((w for w in WINDOWS if far[r] > w and w < windows.get(r, LEAVING)), None)
        if excess <= 0:
            break
        if window is not None:
            chosen[r] = window
            excess -= size.get(r, 1)
    return chosen


def _distances(rows: Rows, succ: Sequence[Sequence[int]], point: _Point, wanted: Iterable[int]) -> dict[int, int]:
    """Instructions from `point` to the next use of each wanted register, on the shortest way."""
    wanted = set(wanted)
    leaving = _leaving(succ)
    first = [_first_uses(block, wanted) for block in rows]
    into: list[dict[int, int]] = [{} for _ in rows]
    changed = True
    while changed:
        changed = False
        for b in reversed(range(len(rows))):
            found = _through(first[b], len(rows[b]), _after(b, succ, into, leaving))
            changed |= found != into[b]
            into[b] = found
    rest = rows[point.block][point.place :]
    found = _through(_first_uses(rest, wanted), len(rest), _after(point.block, succ, into, leaving))
    return {r: found.get(r, LEAVING) for r in wanted}


def _first_uses(rows: Sequence[Instr], wanted: set[int]) -> dict[int, int | None]:
    """Register -> its first use in these instructions; None if they write it before."""
    found: dict[int, int | None] = {}
    for i, row in enumerate(rows):
        for r in row.srcs:
            if r in wanted:
                found.setdefault(r, i)
        for r in row.dst:
            if r in wanted:
                found.setdefault(r, None)
    return found


def _through(first: dict[int, int | None], length: int, after: dict[int, int]) -> dict[int, int]:
    out = {r: length + far for r, far in after.items() if r not in first}
    return out | {r: at for r, at in first.items() if at is not None}


def _after(b: int, succ: Sequence[Sequence[int]], into: Sequence[dict[int, int]], leaving: dict[tuple[int, int], int]) -> dict[int, int]:
    out: dict[int, int] = {}
    for s in succ[b]:
        for r, far in into[s].items():
            out[r] = min(out.get(r, far + leaving[b, s]), far + leaving[b, s])
    return out


def _leaving(succ: Sequence[Sequence[int]]) -> dict[tuple[int, int], int]:
    """What each edge adds: LEAVING for every loop that it leaves. The blocks of a loop stand together."""
    edges = [(b, s) for b, targets in enumerate(succ) for s in targets]
    loops: dict[int, int] = {}
    for b, s in edges:
        if s <= b:
            loops[s] = max(loops.get(s, b), b)
    return {(b, s): LEAVING * sum(h <= b <= end and not h <= s <= end for h, end in loops.items()) for b, s in edges}
