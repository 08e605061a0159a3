"""The ops of a loop, sorted by what they are to a compiler: loads, products, and work on results that is needed for the next product or not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusim.errors import GpusimError
from gpusim.ir.infer import TileType, tile_types
from gpusim.ir.ops import Cast, Dot, Full, If, Index, Load, Loop, Map, Op, Reduce, Transpose, Update, While, reads, writes
from gpusim.ir.program import Program, walk

_SUMS = ("add", "sub")


@dataclass(frozen=True, slots=True)
class Body:
    """One loop of a program. `needed`: tiles that a product of the same step waits for; `places`: tiles made of indices; `divided`: tiles that lie as
    the accumulator of a product whose A operand is in registers; `fused`: products that become part of a sum;
    `turned`: transposes of loaded tiles; `outer`: the loop around it, of
    which `before` and `after` are part."""

    program: Program
    loop: Loop
    before: tuple[Op, ...]
    after: tuple[Op, ...]
    types: dict[str, TileType]
    loads: tuple[Load, ...]
    dots: tuple[Dot, ...]
    needed: frozenset[str]
    places: frozenset[str]
    divided: frozenset[str]
    fused: frozenset[str]
    turned: dict[str, str]
    outer: Loop | None = None

    def loaded(self, tile: str) -> str:
        """The tile of which `tile` is the transpose: a product reads it from shared memory either way."""
        return self.turned.get(tile, tile)

    def in_registers(self, dot: Dot) -> bool:
        """Whether the A operand of `dot` was computed, not loaded."""
        return not any(isinstance(op, Load) and op.dst == self.loaded(dot.a) for op in (*self.before, *self.loop.body))

    def waits(self, dot: Dot) -> bool:
        """Whether the accumulator of `dot` begins with the step, so that its result is used in it."""
        return any(isinstance(op, Full) and op.dst == dot.acc for op in self.loop.body)

    @property
    def aside(self) -> tuple[Load, ...]:
        """Loads of the loop that no product reads: they go to registers."""
        return tuple(op for op in self.loop.body if isinstance(op, Load) and op not in self.loads)

    @property
    def masked(self) -> bool:
        return any(isinstance(op, Map) and op.fn == "where" for op in self.loop.body)


def body_of(program: Program) -> Body | None:
    """The loop of `program` whose products' results are worked on, which may stand in one more loop; None if it has no such loop."""
    loops = [op for op in program.body if isinstance(op, Loop)]
    if not any(isinstance(op, Dot) for op in walk(program.body)) or len(loops) != 1:
        return None
    nested = [op for op in loops[0].body if isinstance(op, Loop)]
    if not nested and all(isinstance(op, Load | Dot) for op in loops[0].body):
        return None
    outer, inner = (loops[0], nested[0]) if nested else (None, loops[0])
    stranger = next((op for op in walk(program.body) if isinstance(op, While | If) or (isinstance(op, Loop) and op not in (outer, inner))), None)
    if stranger is not None:
        what = f"no timing yet for a {type(stranger).__name__} beside a matrix product"
        raise GpusimError(f"{what}.", where=program.name, hint="Timing knows one loop of loads, products and work on their results, or two nested ones.")
    at = program.body.index(loops[0])
    before, after = program.body[:at], program.body[at + 1 :]
    if outer is None:
        return _sorted(program, inner, before, after)
    k = outer.body.index(inner)
    return replace(_sorted(program, inner, (*before, *outer.body[:k]), (*outer.body[k + 1 :], *after)), outer=outer)


def _sorted(program: Program, loop: Loop, before: tuple[Op, ...], after: tuple[Op, ...]) -> Body:
    dots = tuple(op for op in loop.body if isinstance(op, Dot))
    turned = {op.dst: op.src for op in (*before, *loop.body) if isinstance(op, Transpose)}
    operands = {turned.get(name, name) for d in dots for name in (d.a, d.b)}
    loads = tuple(op for op in loop.body if isinstance(op, Load) and op.dst in operands)
    made = {op.dst: op for op in (*before, *loop.body) if isinstance(op, Load | Map | Reduce | Cast | Full | Index)}
    return Body(
        program, loop, before, after, tile_types(program), loads, dots,
        needed=_needed(loop, operands, {d.acc for d in dots}),
        places=_spread(loop.body, {name for name, op in made.items() if isinstance(op, Index)}),
        divided=_spread((*loop.body, *after), {d.acc for d in dots if not isinstance(made.get(turned.get(d.a, d.a)), Load)}),
        fused=_fused(loop),
        turned=turned,
    )  # fmt: skip


def _needed(loop: Loop, operands: set[str], accumulators: set[str]) -> frozenset[str]:
    """Tiles from which an operand, or what is added to an accumulator, is computed."""
    found = set(operands)
    for op in reversed(loop.body):
        if isinstance(op, Update) and op.dst in accumulators:
            found.add(op.src)
        elif writes(op) in found and not isinstance(op, Dot):
            found |= set(reads(op))
    return frozenset(found)


def _spread(ops: tuple[Op, ...], names: set[str]) -> frozenset[str]:
    """`names` and the results of maps of which they are the first argument that is no single number."""
    found = set(names)
    for op in ops:
        if isinstance(op, Map | Cast) and reads(op)[0] in found:
            found.add(op.dst)
    return frozenset(found)


def _fused(loop: Loop) -> frozenset[str]:
    """Products that only one sum reads: they cost nothing, the sum becomes a multiply-add."""
    readers: dict[str, list[Op]] = {}
    for op in loop.body:
        for name in reads(op):
            readers.setdefault(name, []).append(op)
    products = [op.dst for op in loop.body if isinstance(op, Map) and op.fn == "mul"]
    return frozenset(p for p in products if len(readers.get(p, [])) == 1 and _adds(readers[p][0]))


def _adds(op: Op) -> bool:
    return isinstance(op, Map) and op.fn in _SUMS
