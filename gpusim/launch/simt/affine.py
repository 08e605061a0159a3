"""How registers depend on the number of the CTA: an affine form with known coefficients, or no claim.

Where every branch and every address is affine in ctaid, two CTAs that do the same enclose others that do the same: a comparison of
affine values changes at most once along an axis of the grid, and addresses move by a fixed number of bytes from one CTA to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd, lcm

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Imm, Op, Simple, Value
from gpusim.ir.simt.walk import itemsize, memory, writes
from gpusim.launch.simt.profile import successors
from gpusim.launch.simt.static import Item, index_of, items
from gpusim.lower.simt.code import Branch, Code

SECTOR = 32
Coefs = tuple[int, int, int]
ZERO: Coefs = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Form:
    """coefs . ctaid + something that is the same in all CTAs; `value`: that something, where it is a known number."""

    coefs: Coefs = ZERO
    value: int | float | None = None


Known = Form | None  # None: no claim


@dataclass(frozen=True, slots=True)
class Periods:
    """Along each axis of the grid, CTAs that far apart see the same alignment of all their accesses to sectors."""

    axes: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Regular:
    """A launch whose branches and addresses are affine in ctaid. periods: see `Periods`; steps: number of an Access to global memory -> bytes
    from a CTA to its neighbour along each axis."""

    periods: Periods
    steps: dict[int, Coefs]


def regular(code: Code, facts: LaunchFacts) -> Regular | None:
    """None where a branch, a predicate or an address is not affine in ctaid, as far as this analysis sees."""
    flow = _Flow(code, facts)
    steps: dict[int, Coefs] = {}
    for block in code.blocks:
        env = flow.entry[block.id]
        numbers = iter(block.accesses)
        for item in items(block.ops):
            number = next(numbers) if memory([item.stmt]) else -1
            if number >= 0 and any(of(guard, env) is None for guard in item.guards):
                return None
            for buffer, index in index_of(item.stmt):
                form = of(index, env)
                if form is None or (buffer.space != "global" and form.coefs != ZERO):
                    return None
                if buffer.space == "global":
                    x, y, z = (coef * itemsize(buffer.dtype) for coef in form.coefs)
                    steps[number] = (x, y, z)
            flow.step(item, env)
        if isinstance(block.end, Branch) and of(block.end.cond, env) is None:
            return None
    x, y, z = (lcm(*(SECTOR // gcd(step[axis], SECTOR) for step in steps.values()), 1) for axis in range(3))
    return Regular(Periods((x, y, z)), steps)


Env = dict[int, Known]


def of(value: Value, env: Env) -> Known:
    """The form of a value; of a register that nothing has assigned: no number, the same in all CTAs."""
    return Form(ZERO, value.value) if isinstance(value, Imm) else env.get(value.id, Form())


class _Flow:
    """`entry[b]`: register -> form at the begin of block b, joined over all ways there; the least fixed point."""

    def __init__(self, code: Code, facts: LaunchFacts) -> None:
        self.geometry = facts.geometry
        params: Env = {p.reg.id: Form(ZERO, facts.params.get((p.arg, p.what))) for p in code.program.params}
        self.entry: list[Env] = [{} for _ in code.blocks]
        self.entry[0] = params
        todo = {0}
        while todo:
            number = min(todo)
            todo.remove(number)
            block = code.blocks[number]
            env = dict(self.entry[number])
            for item in items(block.ops):
                self.step(item, env)
            todo |= {to for to in successors(block.end) if self._merge(to, env)}

    def _merge(self, block: int, env: Env) -> bool:
        known = self.entry[block]
        changed = False
        for reg, form in env.items():
            new = join(known[reg], form) if reg in known else form
            if reg not in known or new != known[reg]:
                known[reg] = new
                changed = True
        return changed

    def step(self, item: Item, env: Env) -> None:
        """Carry out one statement on `env`. Under a predicate the old value may stay."""
        made = self._made(item.stmt, env)
        for reg in writes(item.stmt):
            env[reg.id] = join(env[reg.id], made) if item.guards and reg.id in env else made

    def _made(self, stmt: Simple, env: Env) -> Known:
        if not isinstance(stmt, Op):
            return Form()
        if stmt.op.startswith("ctaid."):
            axis = "xyz".index(stmt.op[-1])
            return Form((int(axis == 0), int(axis == 1), int(axis == 2)), 0)
        if (uniform := self._launch_constant(stmt.op)) is not None:
            return Form(ZERO, uniform)
        args = [of(a, env) for a in stmt.args]
        return None if any(a is None for a in args) else RULES.get(stmt.op, _other)([a for a in args if a is not None])

    def _launch_constant(self, op: str) -> int | None:
        kind, _, axis = op.partition(".")
        extents = {"ntid": self.geometry.block, "nctaid": self.geometry.grid}.get(kind)
        return extents["xyz".index(axis)] if extents and axis else None


def join(a: Known, b: Known) -> Known:
    """What holds for either."""
    if a is None or b is None or a.coefs != b.coefs:
        return None
    return a if a == b else Form(a.coefs)


def _add(args: list[Form], sign: int = 1) -> Known:
    a, b = args
    value = a.value + sign * b.value if a.value is not None and b.value is not None else None
    x, y, z = (p + sign * q for p, q in zip(a.coefs, b.coefs, strict=True))
    return Form((x, y, z), value)


def _times(a: Form, factor: Form) -> Known:
    if a.coefs == ZERO and factor.coefs == ZERO:
        return Form(ZERO, a.value * factor.value if a.value is not None and factor.value is not None else None)
    if factor.coefs != ZERO:
        a, factor = factor, a
    if factor.coefs != ZERO or not isinstance(factor.value, int):
        return None
    x, y, z = (c * factor.value for c in a.coefs)
    return Form((x, y, z), a.value * factor.value if a.value is not None else None)


def _shift(args: list[Form]) -> Known:
    a, by = args
    return _times(a, Form(ZERO, 1 << by.value)) if isinstance(by.value, int) and 0 <= by.value < 64 else _other(args)


def _choose(args: list[Form]) -> Known:
    return join(args[-2], args[-1])


def _compare(args: list[Form]) -> Known:
    """Changes at most once along an axis: as good as independent, for two CTAs where it is the same enclose others where it is."""
    return Form()


def _other(args: list[Form]) -> Known:
    """Any function of what does not depend on ctaid does not either; of what does, nothing is claimed."""
    return Form() if all(a.coefs == ZERO for a in args) else None


RULES: dict[str, Callable[[list[Form]], Known]] = {
    "wrap": lambda args: Form(args[0].coefs),
    "mov": lambda args: args[0],
    "cvt": lambda args: args[0],
    "add": _add,
    "sub": lambda args: _add(args, -1),
    "neg": lambda args: _times(args[0], Form(ZERO, -1)),
    "mul": lambda args: _times(args[0], args[1]),
    "mul.wide": lambda args: _times(args[0], args[1]),
    "shl": _shift,
    "min": _choose,
    "max": _choose,
    "select": _choose,
    **dict.fromkeys(("eq", "ne"), _other),
    **dict.fromkeys(("lt", "le", "gt", "ge"), _compare),
}
