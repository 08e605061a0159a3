"""Integer expressions as instructions: multiply-add, shift-add, three-input adds; of sums, what a loop does not change comes first."""

from __future__ import annotations

from gpusim.lower.simt.flow import Loop
from gpusim.lower.simt.writer import Writer


def grouped(w: Writer, number: int, at: int) -> int:
    """A sum with what the loops around do not change put together, the rest behind it."""
    if w.numbers.table[number].op != "add" or w.find(("number", number), at) is not None:
        return number
    for loop in w.flow.loops[w.block]:
        terms = _terms(w, number, loop)
        steady = [t for t in terms if not moves(w, loop, t)]
        if len(steady) < len(terms) and len(terms) > 2 and steady:
            return w.numbers.combine("add", (_sum(w, steady), _sum(w, [t for t in terms if moves(w, loop, t)])))
    return number


def moves(w: Writer, loop: Loop, number: int) -> bool:
    return any(w.flow.changes(loop, r) for r in w.numbers.leaves(number))


def _terms(w: Writer, number: int, loop: Loop) -> list[int]:
    """Terms of a sum; sums that the loop does not change stay whole."""
    node = w.numbers.table[number]
    if node.op != "add" or not moves(w, loop, number):
        return [number]
    return [t for a in node.args for t in _terms(w, a, loop)]


def _sum(w: Writer, terms: list[int]) -> int:
    total = terms[0]
    for term in terms[1:]:
        total = w.numbers.combine("add", (total, term))
    return total


def steady_first(w: Writer, args: tuple[int, ...]) -> tuple[int, int]:
    """Of two terms, the one that fewer loops change, then the simpler one, first."""
    first, second = sorted(args, key=lambda a: (sum(moves(w, loop, a) for loop in w.flow.loops[w.block]), len(w.numbers.leaves(a))))
    return first, second


def materialise(w: Writer, number: int, at: int) -> int:
    """A machine register that holds the number in block `at`, with multiply-add, shift-add and three-input adds."""
    node = w.numbers.table[number]
    if node.op == "reg":
        return w.machine(node.value, at)
    found = w.find(("number", number), at)
    if found is not None:
        return found
    number = grouped(w, number, at)
    node = w.numbers.table[number]
    place = w.outside(w.numbers.leaves(number))
    at = place if w.flow.dominates(place, at) else at
    found = w.find(("number", number), at)
    if found is None:
        found = w.fresh()
        op, srcs = _combine(w, number, at)
        w.emit(op, (found,), srcs, at)
        w.remember(("number", number), at, found)
    return found


def _combine(w: Writer, number: int, at: int) -> tuple[str, tuple[int, ...]]:
    node = w.numbers.table[number]
    if node.op == "imm":
        return "IMAD.MOV", ()
    parts = [a for a in node.args if w.numbers.constant(a) is None]
    if node.op == "add":
        for i, a in enumerate(parts):
            inner = w.numbers.table[a]
            if inner.op in ("mul", "add") and w.find(("number", a), at) is None:
                rest = parts[:i] + parts[i + 1 :]
                inside = [x for x in inner.args if w.numbers.constant(x) is None]
                return _fused(w, inner.op, inner.args), tuple(materialise(w, x, at) for x in (*inside, *rest))
        return "IADD3", tuple(materialise(w, a, at) for a in parts)
    if node.op == "mul":
        return _fused(w, "mul", node.args) if len(parts) == 2 else _shift(w, node.args), tuple(materialise(w, a, at) for a in parts)
    op = {"and": "LOP3", "or": "LOP3", "xor": "LOP3", "shr": "SHF", "shl": "IMAD.SHL", "min": "VIMNMX", "max": "VIMNMX"}.get(node.op)
    return op or special(node.op), tuple(materialise(w, a, at) for a in parts)


def _fused(w: Writer, op: str, args: tuple[int, ...]) -> str:
    if op == "add":
        return "IADD3"
    known = next((w.numbers.constant(a) for a in args if w.numbers.constant(a) is not None), None)
    return "LEA" if known is not None and known > 0 and known.bit_count() == 1 else "IMAD"


def _shift(w: Writer, args: tuple[int, ...]) -> str:
    return "IMAD.SHL" if _fused(w, "mul", args) == "LEA" else "IMAD"


def special(op: str) -> str:
    """The instruction that reads a special register."""
    if op.startswith("tid.") or op in ("laneid", "warpid"):
        return "S2R"
    return {"ntid": "ULDC", "ctaid": "S2R.CTAID", "nctaid": "LDC"}.get(op.split(".")[0], "S2R.CTAID")
