"""A loop of several blocks counts and tests at its begin, where nothing between needs the old count: the branch at its end waits for nothing then.

So compilers hide the load of a bound and the compare behind the body.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpusim.ir.simt.nodes import Op, Reg
from gpusim.ir.simt.walk import reads, walk, writes
from gpusim.lower.simt.code import Block, Branch, targets

_COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_TAIL = 2  # statements: count, test


def early(blocks: list[Block]) -> list[Block]:
    """`blocks` (the id of each is its place) with the last two statements of such loops moved to their first block."""
    rows = list(blocks)
    for latch in blocks:
        header = min(targets(latch.end), default=latch.id)
        if header < latch.id and isinstance(latch.end, Branch) and _movable(rows, header, latch.id):
            last = rows[latch.id]
            rows[header] = replace(rows[header], ops=(*rows[header].ops, *last.ops[-_TAIL:]))
            rows[latch.id] = replace(last, ops=last.ops[:-_TAIL])
    return rows


def _movable(rows: list[Block], header: int, latch: int) -> bool:
    last, end = rows[latch].ops, rows[latch].end
    if len(last) < _TAIL or sum(header in targets(b.end) for b in rows if b.id >= header) != 1:
        return False
    count, test = last[-_TAIL:]
    if not (isinstance(count, Op) and isinstance(test, Op) and isinstance(end, Branch)):
        return False
    if count.op != "add" or count.dst not in count.args or test.op not in _COMPARES or count.dst not in test.args or end.cond != test.dst:
        return False
    if test.dst in {b.end.cond for b in rows[header:] if isinstance(b.end, Branch) and b.id != latch}:
        return False
    steady = {v for v in (*count.args, *test.args) if isinstance(v, Reg) and v != count.dst}
    loop = [stmt for row in rows[header : latch + 1] for stmt in walk(row.ops)]
    if any(reg in steady or reg == count.dst and stmt is not count for stmt in loop for reg in writes(stmt)):
        return False
    return _private(rows, header, count, test)


def _private(rows: list[Block], header: int, count: Op, test: Op) -> bool:
    """Whether nobody reads the counter but the first block and these two, nor what the test finds."""
    seen = Counter(v for row in rows for stmt in walk(row.ops) for v in reads(stmt) if v in (count.dst, test.dst))
    seen.subtract(v for stmt in (*walk(rows[header].ops), count, test) for v in reads(stmt) if v == count.dst)
    return not any(seen.values())
