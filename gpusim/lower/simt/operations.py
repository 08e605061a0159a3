"""What a pure operation becomes: nothing, a copy, or the instructions of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.ir.simt.nodes import Imm, Op, Reg, Store, Value
from gpusim.lower.simt.flow import Item
from gpusim.lower.simt.fuse import COMPARES, setp, side
from gpusim.lower.simt.parameters import in_registers
from gpusim.lower.simt.quotient import quotient
from gpusim.lower.simt.sums import special
from gpusim.lower.simt.table import chain, kind, words
from gpusim.lower.simt.trig import trig
from gpusim.lower.simt.writer import Writer

_UNIFORM = {"IADD3": "UIADD3", "VIADD": "UIADD3", "IMAD": "UIMAD", "LOP3": "ULOP3", "SHF": "USHF", "IMAD.SHL": "USHF", "LEA": "ULEA", "SEL": "USEL"}
_TWO_CONSTANTS = frozenset(("FFMA", "IMAD", "SEL", "FSEL", "DFMA", "HFMA2", "LEA", "IADD3", "LOP3"))
_FLOATS = frozenset(("FFMA", "DFMA", "HFMA2", "FSEL"))


def operation(w: Writer, item: Item) -> None:
    """Emit an Op, unless another instruction computes it."""
    stmt: Any = item.stmt
    reg = stmt.dst.id
    if reg in w.fusion.folded or reg in w.fusion.lazy:
        return
    if not stmt.args:
        _special(w, stmt)
    elif stmt.op == "mov":
        _move(w, stmt)
    elif stmt.op in ("fdividef", "approx.div"):
        quotient(w, stmt)
    elif stmt.op in ("sin", "cos") and kind(stmt.dst.dtype) == "f":
        trig(w, stmt)
    elif id(item) in w.fusion.either:
        _either(w, stmt)
    elif stmt.op == "not" and stmt.dst.dtype == "bool" and isinstance(stmt.args[0], Reg):
        w.bind(stmt.dst, w.operands(stmt.args)[0])
    else:
        _compute(w, item)


def _special(w: Writer, stmt: Op) -> None:
    """Special registers are read once, in front of all loops; clocks where they stand."""
    if stmt.op in ("clock", "globaltimer"):
        w.emit("CS2R", (w.define(stmt.dst),))
    else:
        w.bind(stmt.dst, w.once(("number", w.numbers.intern(stmt.op)), special(stmt.op)))


def _move(w: Writer, stmt: Op) -> None:
    source = stmt.args[0]
    if isinstance(source, Imm):
        _set(w, stmt.dst, source)
    elif w.guards:
        w.emit("SEL" if stmt.dst.dtype != "float32" else "FSEL", (), w.operands(stmt.args))
        _define_last(w, stmt.dst)
    elif _copies(w, stmt):
        w.emit("MOV", (w.define(stmt.dst),), w.operands(stmt.args))
    else:
        w.bind(stmt.dst, w.operands(stmt.args)[0])


def _copies(w: Writer, stmt: Op) -> bool:
    """Whether a copy is one: its source may change while the copy is needed."""
    source = stmt.args[0]
    if not isinstance(source, Reg) or source.id in w.params or w.flow.single(source.id) is not None or w.flow.single(stmt.dst.id) is None:
        return False
    uses = w.flow.uses.get(stmt.dst.id, ())
    return any(u.block != w.block for u in uses) or bool(set(w.flow.cond_uses.get(stmt.dst.id, ())) - {w.block})


def _set(w: Writer, reg: Reg, value: Imm) -> None:
    """A constant in a register. Two zeros of a block share one instruction that writes a pair."""
    pair = ("zeros", w.block)
    if not value.value and not w.guards and kind(reg.dtype) in "fi":
        count = w.counts.get(pair, 0)
        w.counts[pair] = count + 1
        if count >= 3 and count % 2:
            w.lists[w.block][-1] = _and_also(w, reg)
            return
    machine = w.define(reg)
    op = "PLOP3" if reg.dtype == "bool" else "CS2R" if words(reg.dtype) == 2 else "IMAD.MOV"
    w.emit(op, (machine,), ())


def _and_also(w: Writer, reg: Reg) -> Any:
    last = w.lists[w.block][-1]
    return type(last)("CS2R", (*last.dst, w.define(reg)), last.srcs, last.line)


def _define_last(w: Writer, reg: Reg, at: int | None = None) -> None:
    """The last instruction (of block `at`) writes `reg`; under a condition, the old value is one of its sources."""
    rows = w.lists[w.block if at is None else at]
    row = rows[-1]
    old = w.kept(reg)
    machine = w.define(reg)
    rows[-1] = type(row)(row.op, (machine,), (*row.srcs, *(o for o in old if o != machine)), row.line, row.access, row.bits)


def _compute(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    number = w.numbers.of(stmt.dst) if kind(stmt.dst.dtype) in "il" and w.flow.single(stmt.dst.id) is not None else None
    if number is not None and w.numbers.table[number].op not in ("reg", "imm") and not w.guards:
        found = w.find(("number", number), w.block)
        if found is not None:
            w.bind(stmt.dst, found)
            return
    at = _in_front(w, item)
    ops = _mnemonics(w, item)
    srcs = _operands(w, item, ops, at)
    if not ops:
        _same_bits(w, stmt, srcs)
        return
    for op in ops[:-1]:
        middle = w.fresh()
        w.emit(op, (middle, w.fresh(0)) if op == "IADD3" else (middle,), srcs, at)
        srcs = (middle,) if op != "FSETP" else (*srcs, middle)
    w.emit(ops[-1], (), srcs, at)
    _define_last(w, stmt.dst, at)
    if number is not None and not item.guards:
        w.remember(("number", number), w.block if at is None else at, w.machine(stmt.dst.id))


def _either(w: Writer, stmt: Op) -> None:
    """Both sides of a choice into one register, the second under the condition."""
    machine = w.fresh()
    condition: tuple[int, ...] = ()
    for value in stmt.args[1:]:
        made = side(w.flow, value)[-1]
        assert isinstance(made.stmt, Op)
        ops = _mnemonics(w, made)
        srcs = (*_operands(w, made, ops), *condition)
        w.emit(ops[-1], (machine,), srcs)
        condition = (machine, *w.operands(stmt.args[:1]))
    w.bind(stmt.dst, machine)


def _in_front(w: Writer, item: Item) -> int | None:
    """The block in front of the loops that do not change the operands, for a register with one definition. Predicates are few: none is held over
    a loop with loops inside."""
    stmt: Any = item.stmt
    if stmt.dst.dtype == "bool" and w.flow.loops[w.block] and w.flow.loops[w.block][-1].header in w.flow.nests:
        return None
    if item.guards or w.flow.single(stmt.dst.id) is None or not w.flow.loops[w.block]:
        return None
    at = w.outside({v.id for v in _flat(w, stmt.args) if isinstance(v, Reg)})
    return at if at != w.block else None


def _operands(w: Writer, item: Item, ops: tuple[str, ...], at: int | None = None) -> tuple[int, ...]:
    stmt: Any = item.stmt
    held = w.held | _in_registers(w, item, ops)
    return (*w.operands(stmt.args, held, at), *_constants(w, item, held))


def _in_registers(w: Writer, item: Item, ops: tuple[str, ...]) -> frozenset[int]:
    """Parameters that the last instruction of an operation reads from registers."""
    stmt: Any = item.stmt
    op = ops[-1] if ops else ""
    return in_registers(w, _flat(w, stmt.args), compares="SETP" in op, uniform=op in _UNIFORM.values(), room_for_constant=op in _FLOATS)


def held(w: Writer, items: tuple[Item, ...]) -> frozenset[int]:
    """Parameters that a block needs in registers somewhere: there all of its instructions find them."""
    found: set[int] = set()
    for item in items:
        stmt = item.stmt
        if isinstance(stmt, Op) and stmt.args and stmt.dst.id not in w.fusion.folded | w.fusion.lazy and any(v.id in w.params for v in _registers(w, stmt)):
            found |= _in_registers(w, item, _mnemonics(w, item))
        elif isinstance(stmt, Store):
            found |= {v.id for v in stmt.values if isinstance(v, Reg) and v.id in w.params}
    return frozenset(found)


def _registers(w: Writer, stmt: Op) -> list[Reg]:
    return [v for v in _flat(w, stmt.args) if isinstance(v, Reg)]


def _same_bits(w: Writer, stmt: Op, srcs: tuple[int, ...]) -> None:
    if isinstance(stmt.args[0], Imm):
        _set(w, stmt.dst, stmt.args[0])
    elif _copies(w, stmt):
        w.emit("MOV", (w.define(stmt.dst),), srcs)
    else:
        w.bind(stmt.dst, srcs[0])


def _mnemonics(w: Writer, item: Item) -> tuple[str, ...]:
    stmt: Any = item.stmt
    root = w.fusion.root.get(id(item))
    if root:
        return (_pipe(w, stmt, root),)
    constants = [v for v in stmt.args if isinstance(v, Imm)]
    if stmt.op in _BY_CONSTANT and constants and stmt.args[1] == constants[-1] and kind(stmt.dst.dtype) == "i":
        return tuple(_BY_CONSTANT[stmt.op](stmt, int(constants[-1].value)))
    if stmt.op in COMPARES and kind(stmt.args[0].dtype) in "fdib":
        return (setp(stmt.args[0].dtype),)
    ops = chain(stmt.op, stmt.args[-1].dtype, stmt.dst.dtype, int(constants[-1].value) if constants else None)
    if ops == ("IADD3",) and constants and stmt.op in ("add", "sub"):
        ops = ("VIADD",)
    return tuple(_pipe(w, stmt, op) for op in ops) if len(ops) == 1 else ops


def _pipe(w: Writer, stmt: Op, op: str) -> str:
    """In a loop that all lanes run alike, integers that are the same in all of them go to the uniform pipe."""
    counter = op in _UNIFORM and stmt.dst.id not in w.divergent and bool(w.flow.loops[w.block])
    return _UNIFORM[op] if counter else op


def _times(stmt: Op, value: int) -> tuple[str, ...]:
    return ("IMAD.SHL",) if value > 0 and value.bit_count() == 1 else ("IMAD",)


def _shifted(stmt: Op, value: int) -> tuple[str, ...]:
    return ("IMAD.SHL",)


def _divided(stmt: Op, value: int) -> tuple[str, ...]:
    """By a power of two: a shift, with a correction where negative numbers round to zero; else a multiplication with the inverse."""
    signed = stmt.dst.dtype.startswith("int")
    if value > 0 and value.bit_count() == 1:
        return ("SHF", "LEA.HI", "SHF") if signed and stmt.op == "div" else ("SHF",)
    return ("IMAD.HI", "SHF", "LEA.HI") if signed else ("IMAD.HI", "SHF")


def _remainder(stmt: Op, value: int) -> tuple[str, ...]:
    signed = stmt.dst.dtype.startswith("int")
    if value > 0 and value.bit_count() == 1:
        return ("SHF", "LEA.HI", "LOP3", "IADD3") if signed and stmt.op == "rem" else ("LOP3",)
    return (*_divided(stmt, value), "IMAD")


_BY_CONSTANT: dict[str, Callable[[Op, int], tuple[str, ...]]] = {
    "mul": _times, "shl": _shifted, "div": _divided, "floordiv": _divided, "rem": _remainder, "mod": _remainder,
}  # fmt: skip


def _constants(w: Writer, item: Item, held: frozenset[int]) -> tuple[int, ...]:
    """An instruction takes one constant or uniform register; a second one must be in a register."""
    stmt: Any = item.stmt
    root = w.fusion.root.get(id(item)) or (chain(stmt.op, stmt.args[-1].dtype, stmt.dst.dtype) or ("",))[-1]
    if root not in _TWO_CONSTANTS:
        return ()
    found = [v for v in _flat(w, stmt.args) if isinstance(v, Imm) and v.value or isinstance(v, Reg) and v.id in w.params and v.id not in held]
    if root == "LEA":
        found = found[1:]
    extra = [v for v in found if isinstance(v, Imm)][: max(0, len(set(found)) - 1)]
    return tuple(w.constant(v) for v in extra)


def _flat(w: Writer, values: tuple[Value, ...]) -> list[Value]:
    out: list[Value] = []
    for value in values:
        item = w.flow.single(value.id) if isinstance(value, Reg) and value.id in w.fusion.folded else None
        out += _flat(w, item.stmt.args) if item is not None and isinstance(item.stmt, Op) else [value]
    return out
