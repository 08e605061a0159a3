"""Index expressions as sums: a constant and multiples of atoms, which are names or expressions that are no sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpusim.ir.expr import Bin, Const, Expr, Name, bin_, expr, names


@dataclass(frozen=True)
class Linear:
    """constant + sum of coefficient * atom; atoms in the order in which they first came up. Sums that are equal compare equal."""

    constant: int
    terms: tuple[tuple[Expr, int], ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and self.constant == other.constant and dict(self.terms) == dict(other.terms)

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms)))

    def __add__(self, other: Linear) -> Linear:
        terms = dict(self.terms)
        for atom, k in other.terms:
            terms[atom] = terms.get(atom, 0) + k
        return Linear(self.constant + other.constant, tuple((a, k) for a, k in terms.items() if k))

    def __sub__(self, other: Linear) -> Linear:
        return self + other.times(-1)

    def times(self, k: int) -> Linear:
        return Linear(self.constant * k, tuple((a, c * k) for a, c in self.terms) if k else ())

    @property
    def is_constant(self) -> bool:
        return not self.terms

    @property
    def atoms(self) -> tuple[Expr, ...]:
        return tuple(a for a, _ in self.terms)

    def names(self) -> set[str]:
        return set().union(*(names(a) for a in self.atoms))

    def expr(self) -> Expr:
        """The sum as an expression, the constant last; first where otherwise the sum would begin with a minus."""
        ahead = bool(self.terms) and self.terms[0][1] < 0 and self.constant > 0
        made: Expr = Const(self.constant if ahead else 0)
        for atom, k in self.terms:
            made = made - atom * -k if k < 0 and made != Const(0) else made + atom * k
        if ahead:
            return made
        return made - -self.constant if self.constant < 0 and self.terms else made + self.constant

    def split(self, pitch: int) -> tuple[Linear, Linear]:
        """(rows, rest) with self = rows * pitch + rest: terms that are multiples of the pitch are rows, and rest's constant is in [0, pitch)."""
        rows = Linear(self.constant // pitch, tuple((a, k // pitch) for a, k in self.terms if k % pitch == 0))
        return rows, Linear(self.constant % pitch, tuple((a, k) for a, k in self.terms if k % pitch))


@lru_cache(maxsize=1 << 16)
def linear(e: Expr) -> Linear:
    """`e` as a sum."""
    if isinstance(e, Const):
        return Linear(e.value)
    if isinstance(e, Bin):
        if e.op in "+-":
            a, b = linear(e.a), linear(e.b)
            return a + b if e.op == "+" else a - b
        if e.op == "*":
            a, b = linear(e.a), linear(e.b)
            if a.is_constant or b.is_constant:
                return b.times(a.constant) if a.is_constant else a.times(b.constant)
    return Linear(0, ((e, 1),))


def quotient(e: Expr, n: Expr) -> Expr:
    """e // n, without the division where everything but a rest below n is a multiple of n."""
    if isinstance(n, Const) and n.value > 0:
        rows, rest = linear(e).split(n.value)
        if not rest.terms:
            return rows.expr()
    return bin_("//", e, n)


def substitute(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """`e` with expressions in the place of names, folded where that makes constants."""
    if isinstance(e, Name):
        return values.get(e.name, e)
    if isinstance(e, Bin):
        return bin_(e.op, substitute(e.a, values), substitute(e.b, values))
    return expr(e)
