"""Which operations disappear into another instruction: multiply-add, three-input adds and logic, compares that choose or combine.

A value that is used once, in the same block under the same conditions, may be folded into its user. Indices of memory accesses are lazy:
`address.py` computes what of them an address needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import AsyncCopy, Atomic, BulkCopy, Imm, LdMatrix, Load, Mbarrier, Op, Reg, Store, Value
from gpusim.lower.simt.flow import Flow, Item
from gpusim.lower.simt.table import FUSED, chain, kind

COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_LOGIC = frozenset(("and", "or", "xor"))
_LAZY = frozenset(("add", "sub", "mul", "shl", "neg", "cvt", "index.at"))
_SIMPLE = frozenset(("add", "sub", "mul", "shl", "shr", "and", "or", "xor", "min", "max"))
_SIGNS = frozenset(("add", "sub", "mul", "fma", "min", "max", "approx.rcp", "approx.rsqrt", "approx.ex2", "approx.lg2", "fdividef", "approx.div", *COMPARES))


@dataclass(slots=True)
class Fusion:
    """folded: registers that their user computes. root: id of a user's Item -> the mnemonic it becomes. lazy: only addresses use them.
    either: ids of Items that choose between two results by computing the second one under a condition."""

    folded: set[int] = field(default_factory=set)
    root: dict[int, str] = field(default_factory=dict)
    lazy: set[int] = field(default_factory=set)
    either: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Pair:
    """One producer and its user. made, used: whether something has been folded into them."""

    producer: Op
    user: Op
    made: bool
    used: bool


def fuse(flow: Flow) -> Fusion:
    fusion = Fusion()
    _lazy(flow, fusion)
    for row in flow.items:
        for item in row:
            if isinstance(item.stmt, Op):
                _into(flow, fusion, item)
            elif isinstance(item.stmt, AsyncCopy):
                _valid(flow, fusion, item.stmt)
    return fusion


def indices(stmt: object) -> tuple[Value, ...]:
    """The operands of a statement that are element indices."""
    if isinstance(stmt, (Load, Store, Atomic, LdMatrix, Mbarrier)):
        return (stmt.index,)
    if isinstance(stmt, BulkCopy):
        return (stmt.target_index, stmt.source_index, stmt.barrier_index)
    return (stmt.target_index, stmt.source_index) if isinstance(stmt, AsyncCopy) else ()


def _lazy(flow: Flow, fusion: Fusion) -> None:
    order = [item for row in flow.items for item in row]
    for item in reversed(order):
        stmt = item.stmt
        if not isinstance(stmt, Op) or stmt.op not in _LAZY or kind(stmt.dst.dtype) not in "il" or flow.single(stmt.dst.id) is None:
            continue
        if stmt.op == "cvt" and kind(stmt.args[0].dtype) not in "il":
            continue
        uses = flow.uses.get(stmt.dst.id, [])
        if uses and stmt.dst.id not in flow.cond_uses and all(_addresses(stmt.dst, use, fusion) for use in uses):
            fusion.lazy.add(stmt.dst.id)


def _addresses(reg: Reg, use: Item, fusion: Fusion) -> bool:
    if isinstance(use.stmt, Op):
        return use.stmt.dst.id in fusion.lazy
    others = [v for v in getattr(use.stmt, "values", ()) or getattr(use.stmt, "args", ()) if v == reg]
    return reg in indices(use.stmt) and not others and not any(g[0] == reg for g in use.guards)


def _into(flow: Flow, fusion: Fusion, item: Item) -> None:
    user = item.stmt
    assert isinstance(user, Op)
    if user.dst.id in fusion.lazy or _choice(flow, fusion, item):
        return
    for value in user.args:
        if not isinstance(value, Reg) or value.id in fusion.lazy or value.id in fusion.folded:
            continue
        made = flow.single(value.id)
        if made is None or not isinstance(made.stmt, Op) or not made.stmt.args:
            continue
        pair = _Pair(made.stmt, user, id(made) in fusion.root, id(item) in fusion.root)
        if _free(pair) and all(isinstance(u.stmt, Op) and u.stmt.op in _SIGNS and kind(u.stmt.args[0].dtype) in "fd" for u in flow.uses[value.id]):
            fusion.folded.add(value.id)
        elif _packed(pair) and all(isinstance(u.stmt, Op) and u.stmt.op == "pack" for u in flow.uses[value.id]):
            fusion.folded.add(value.id)
            fusion.root[id(item)] = "F2FP"
        elif made.stmt.op == "not" and made.stmt.dst.dtype == "bool":
            continue
        elif _everywhere(flow, value.id, made) and _combined(pair):
            fusion.folded.add(value.id)
            fusion.root[id(item)] = setp(made.stmt.args[0].dtype)
        elif _alone(flow, value.id, item, made):
            for rule in _RULES:
                root = rule(pair)
                if root:
                    fusion.folded.add(value.id)
                    fusion.root[id(item)] = root
                    break


def _choice(flow: Flow, fusion: Fusion, item: Item) -> bool:
    """select(c, f(x), g(y)) of integers: f(x), then g(y) under a condition into the same register."""
    user = item.stmt
    if not isinstance(user, Op) or user.op != "select" or kind(user.dst.dtype) != "i" or item.guards:
        return False
    sides = [side(flow, v) for v in user.args[1:]]
    for made in (s for row in sides for s in row):
        if not isinstance(made.stmt, Op) or not _alone(flow, made.stmt.dst.id, item, made):
            return False
    if not all(row and row[-1].stmt.op in _SIMPLE for row in sides):  # type: ignore[union-attr]
        return False
    fusion.either.add(id(item))
    fusion.folded.update(s.stmt.dst.id for row in sides for s in row if isinstance(s.stmt, Op))
    return True


def side(flow: Flow, value: Value) -> list[Item]:
    """What computes one side of a choice: conversions that keep the bits, then the operation."""
    found: list[Item] = []
    while isinstance(value, Reg):
        made = flow.single(value.id)
        if made is None or not isinstance(made.stmt, Op):
            return []
        found.append(made)
        if made.stmt.op != "cvt" or chain("cvt", made.stmt.args[0].dtype, made.stmt.dst.dtype):
            return found
        value = made.stmt.args[0]
    return []


def _alone(flow: Flow, reg: int, item: Item, made: Item) -> bool:
    uses = flow.uses.get(reg, [])
    return len(uses) == 1 and reg not in flow.cond_uses and made.block == item.block and made.guards == item.guards


def _everywhere(flow: Flow, reg: int, made: Item) -> bool:
    """A compare of 32 bits that several combinations in its block take along is done again in each of them."""
    uses = flow.uses.get(reg, [])
    combine = all(isinstance(u.stmt, Op) and u.stmt.op in ("and", "or") and u.block == made.block and u.guards == made.guards for u in uses)
    return len(uses) > 1 and combine and reg not in flow.cond_uses and isinstance(made.stmt, Op) and kind(made.stmt.args[0].dtype) != "l"


def _free(pair: _Pair) -> bool:
    return pair.producer.op in ("neg", "abs") and kind(pair.producer.dst.dtype) in "fd" and pair.user.op in _SIGNS


def _packed(pair: _Pair) -> bool:
    """Two float32 become one register of two 16-bit floats in one step."""
    return pair.user.op == "pack" and pair.producer.op == "cvt" and pair.producer.args[0].dtype == "float32"


def _multiply_add(pair: _Pair) -> str | None:
    k = kind(pair.user.dst.dtype)
    if pair.producer.op != "mul" or pair.user.op not in ("add", "sub") or k not in FUSED or pair.used:
        return None
    return "LEA" if k == "i" and pair.user.op == "add" and power(pair.producer) else FUSED[k]


def _shift_add(pair: _Pair) -> str | None:
    if pair.producer.op != "shl" or pair.user.op != "add" or kind(pair.user.dst.dtype) != "i" or pair.used:
        return None
    return "LEA" if isinstance(pair.producer.args[1], Imm) else None


def _three_adds(pair: _Pair) -> str | None:
    if pair.producer.op not in ("add", "sub") or pair.user.op not in ("add", "sub") or kind(pair.user.dst.dtype) != "i":
        return None
    return None if pair.made or pair.used else "IADD3"


def _three_logic(pair: _Pair) -> str | None:
    if pair.producer.op not in (*_LOGIC, "not") or pair.user.op not in _LOGIC or kind(pair.user.dst.dtype) != "i":
        return None
    if pair.producer.op == "not":
        return "LOP3"
    return None if pair.made or pair.used else "LOP3"


def _combined(pair: _Pair) -> str | None:
    """A compare takes another predicate along."""
    if pair.producer.op not in COMPARES or pair.user.op not in ("and", "or") or pair.user.dst.dtype != "bool" or pair.used:
        return None
    return setp(pair.producer.args[0].dtype)


def _tested(pair: _Pair) -> str | None:
    """Bits tested against zero: LOP3 writes the predicate. A single lowest bit is tested in two steps."""
    if pair.producer.op != "and" or pair.user.op not in ("eq", "ne") or kind(pair.producer.dst.dtype) != "i" or pair.made:
        return None
    zero = any(isinstance(v, Imm) and v.value == 0 for v in pair.user.args)
    bit = any(isinstance(v, Imm) and v.value == 1 for v in pair.producer.args)
    return "LOP3" if zero and not bit else None


def _chosen(pair: _Pair) -> str | None:
    """select(x > y, x, y) is a maximum; select(x > y, 1.0, 0.0) a compare that writes a number."""
    if pair.producer.op not in COMPARES or pair.user.op != "select" or pair.user.args[0] != pair.producer.dst:
        return None
    chosen = set(map(_plain, pair.user.args[1:]))
    if pair.producer.op not in ("eq", "ne") and chosen == set(map(_plain, pair.producer.args)) and len(chosen) == 2:
        return {"f": "FMNMX", "i": "VIMNMX"}.get(kind(pair.user.dst.dtype))
    if kind(pair.user.dst.dtype) == "f" == kind(pair.producer.args[0].dtype) and chosen == {1.0, 0.0}:
        return "FSET"
    return None


def _flag(pair: _Pair) -> str | None:
    if pair.producer.op in COMPARES and pair.user.op == "cvt" and pair.user.dst.dtype == "float32" and pair.producer.args[0].dtype == "float32":
        return "FSET"
    return None


_RULES: tuple[Callable[[_Pair], str | None], ...] = (_multiply_add, _shift_add, _three_adds, _three_logic, _combined, _tested, _chosen, _flag)


def _valid(flow: Flow, fusion: Fusion, copy: AsyncCopy) -> None:
    """A copy of all or nothing is a copy under a predicate."""
    value = copy.valid
    made = flow.single(value.id) if isinstance(value, Reg) else None
    if made and isinstance(made.stmt, Op) and made.stmt.op == "select" and all(isinstance(v, Imm) for v in made.stmt.args[1:]):
        if all(isinstance(u.stmt, AsyncCopy) for u in flow.uses[made.stmt.dst.id]):
            fusion.folded.add(made.stmt.dst.id)


def setp(dtype: str) -> str:
    """The compare of a type."""
    return {"f": "FSETP", "d": "DSETP", "h": "HSETP2", "b": "PLOP3"}.get(kind(dtype), "ISETP")


def power(op: Op) -> bool:
    """Whether a product is one by a power of two."""
    return any(isinstance(v, Imm) and int(v.value) > 0 and int(v.value).bit_count() == 1 for v in op.args)


def _plain(value: Value) -> Reg | float:
    return float(value.value) if isinstance(value, Imm) else value
