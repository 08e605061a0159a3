"""Variables: assignment, and the meeting of two paths that gave a variable different types."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from gpusim.frontend.context import Context, LoopEdges, is_nonneg
from gpusim.frontend.operands import Array, Bound, Choice, Conflict, Env, Group, Operand, Scalar, alike, as_complex, described, is_complex, is_variable, literal
from gpusim.frontend.typing import unify
from gpusim.ir.simt.nodes import Imm, Reg, Stmt, Value


def assign(ctx: Context, name: str, operand: Operand) -> None:
    """name = operand."""
    ctx.frame.env[name] = Bound(_stored(ctx, name, operand), ctx.line)


def _stored(ctx: Context, name: str, operand: Operand) -> Operand:
    """The operand moved to the variable's own registers."""
    if isinstance(operand, Scalar):
        reg = ctx.variable(name, operand.dtype)
        known, nonneg = literal(operand), is_nonneg(operand)
        ctx.move(reg, operand.value)
        return Scalar(reg, known, nonneg)
    if isinstance(operand, Group):
        return replace(operand, items=tuple(_stored(ctx, f"{name}.{k}", item) for k, item in enumerate(operand.items)))
    if isinstance(operand, Choice):
        which = ctx.variable(f"{name}.which", "int32")
        ctx.move(which, operand.which)
        return Choice(which, operand.options)
    if isinstance(operand, Array) and operand.offset is not None:
        offset = ctx.variable(f"{name}.offset", operand.offset.dtype)
        ctx.move(offset, operand.offset)
        return Array(operand.buffer, operand.shape, operand.strides, offset)
    return operand


def copies(ctx: Context, items: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Items that are variables, as temporaries, so that assigning one target does not change what the next one gets."""
    return tuple(_copy(ctx, item) for item in items)


def _copy(ctx: Context, item: Operand) -> Operand:
    if isinstance(item, Scalar) and is_variable(item.value):
        dst = ctx.temp(item.dtype)
        ctx.move(dst, item.value)
        return Scalar(dst, item.known, item.nonneg)
    if isinstance(item, Choice):
        which = ctx.temp("int32")
        ctx.move(which, item.which)
        return Choice(which, item.options)
    if isinstance(item, Array):
        return replace(item, offset=_kept(ctx, item.offset), shape=tuple(_kept(ctx, n) for n in item.shape))
    return replace(item, items=copies(ctx, item.items)) if isinstance(item, Group) else item


def _kept(ctx: Context, value: Any) -> Any:
    """A variable's value as a temporary; anything else as it is."""
    if not isinstance(value, Reg) or not is_variable(value):
        return value
    dst = ctx.temp(value.dtype)
    ctx.move(dst, value)
    return dst


def general(operand: Operand) -> Operand:
    """The operand with what is known only at this place left out."""
    if isinstance(operand, Scalar):
        return Scalar(operand.value)
    return replace(operand, items=tuple(general(i) for i in operand.items)) if isinstance(operand, Group) else operand


def canonical(ctx: Context, name: str, operand: Operand) -> Operand:
    """The variable's own registers for what `operand` is."""
    if isinstance(operand, Scalar):
        return Scalar(ctx.variable(name, operand.dtype))
    if isinstance(operand, Group):
        return replace(operand, items=tuple(canonical(ctx, f"{name}.{k}", item) for k, item in enumerate(operand.items)))
    return Choice(ctx.variable(f"{name}.which", "int32"), operand.options) if isinstance(operand, Choice) else operand


def _options(operand: Array | Choice) -> tuple[Array, ...]:
    return operand.options if isinstance(operand, Choice) else (operand,)


def join(ctx: Context, name: str, a: Bound, b: Bound) -> Bound:
    """What a variable stands for behind two paths."""
    return Bound(_join(ctx, name, a, b), max(a.line, b.line))


def _join(ctx: Context, name: str, a: Bound, b: Bound) -> Operand:
    x, y = a.operand, b.operand
    if x == y or isinstance(x, Conflict):
        return x
    if isinstance(x, Scalar) and isinstance(y, Scalar):
        nonneg = is_nonneg(x) and is_nonneg(y)
        if x.value == y.value:
            return Scalar(x.value, x.known if x.known == y.known else None, nonneg)
        return Scalar(ctx.variable(name, unify(x.dtype, y.dtype)), None, nonneg)
    if is_complex(x) or is_complex(y):
        x, y = as_complex(x), as_complex(y)
    if isinstance(x, Group) and isinstance(y, Group) and len(x.items) == len(y.items):
        items = (_join(ctx, f"{name}.{k}", Bound(i, a.line), Bound(j, b.line)) for k, (i, j) in enumerate(zip(x.items, y.items, strict=True)))
        return Group(tuple(items), x.fields if x.fields == y.fields else ())
    if isinstance(x, Array) and isinstance(y, Array) and (x.buffer, x.strides) == (y.buffer, y.strides):
        return _view(ctx, name, x, y)
    if isinstance(x, Array | Choice) and isinstance(y, Array | Choice):
        options = tuple(dict.fromkeys((*_options(x), *_options(y))))
        if alike(options):
            return Choice(ctx.variable(f"{name}.which", "int32"), options)
    return y if isinstance(y, Conflict) else Conflict(described(x), a.line, described(y), b.line)


def _view(ctx: Context, name: str, x: Array, y: Array) -> Array:
    """One of two views of the same array: begin and lengths are variables where they differ."""
    lengths = enumerate(zip(x.shape, y.shape, strict=True))
    shape = tuple(a if a == b else ctx.variable(f"{name}.shape{k}", "int64") for k, (a, b) in lengths)
    return replace(x, shape=shape, offset=x.offset if x.offset == y.offset else ctx.variable(f"{name}.offset", "int64"))


def conform(ctx: Context, source: Operand, target: Operand) -> None:
    """Emit the moves that make what `target` stands for hold what `source` holds."""
    if isinstance(source, Scalar) and isinstance(target, Scalar):
        if isinstance(target.value, Reg):
            ctx.move(target.value, source.known or source.value) if source.value != target.value else None
    elif isinstance(source, Array) and isinstance(target, Array):
        for have, want in ((source.offset or Imm(0, "int64"), target.offset), *zip(source.shape, target.shape, strict=True)):
            if isinstance(want, Reg) and have != want:
                ctx.move(want, ctx.extent(have))
    elif isinstance(target, Choice) and isinstance(source, Array | Choice):
        _choose(ctx, source, target)
    elif is_complex(target) and isinstance(source, Scalar):
        conform(ctx, as_complex(source), target)
    elif isinstance(source, Group) and isinstance(target, Group):
        for s, t in zip(source.items, target.items, strict=True):
            conform(ctx, s, t)


def _choose(ctx: Context, source: Array | Choice, target: Choice) -> None:
    """target.which = the number that the source's array has among the target's options."""
    numbers = [Imm(target.options.index(a), "int32") for a in _options(source)]
    value: Value = numbers[-1]
    if isinstance(source, Choice) and [i.value for i in numbers] == list(range(len(numbers))):
        value = source.which
    elif isinstance(source, Choice):
        for k in range(len(numbers) - 2, -1, -1):
            hit = ctx.op("eq", (source.which, Imm(k, "int32")), "bool")
            value = ctx.op("select", (hit, numbers[k], value), "int32")
    if isinstance(target.which, Reg):
        ctx.move(target.which, value)


def meet(ctx: Context, one: Env, one_out: list[Stmt], other: Env, other_out: list[Stmt]) -> Env:
    """The variables behind an if; each side's statements get the moves that its types need. A name that one side alone has is kept."""
    joined: Env = {**one, **other}
    for name in one:
        if name in other and one[name].operand != other[name].operand:
            joined[name] = join(ctx, name, one[name], other[name])
    for env, out in ((one, one_out), (other, other_out)):
        saved, ctx.out = ctx.out, out
        for name, bound in env.items():
            if bound.operand != joined[name].operand:
                conform(ctx, bound.operand, joined[name].operand)
        ctx.out = saved
    return joined


def loop_edge(ctx: Context, edges: LoopEdges) -> None:
    """Control goes to the loop's begin or behind it from here: make the variables hold what stands in the loop's header."""
    for name, bound in ctx.frame.env.items():
        if name not in edges.assigned:
            continue
        known = edges.header.get(name) or edges.late.get(name)
        if known is None:
            edges.late[name] = Bound(canonical(ctx, name, bound.operand), bound.line)
            conform(ctx, bound.operand, edges.late[name].operand)
            continue
        target = join(ctx, name, Bound(general(known.operand), known.line), Bound(general(bound.operand), bound.line))
        if general(target.operand) != general(known.operand):
            edges.wider[name] = Bound(canonical(ctx, name, target.operand), known.line)
        else:
            conform(ctx, bound.operand, known.operand)


def assigned_names(nodes: list[ast.stmt]) -> frozenset[str]:
    """Names that the statements give values."""
    found = {n.id for stmt in nodes for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset({*found, "$ret", "$done"})
