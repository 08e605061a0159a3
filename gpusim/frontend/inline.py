"""Device functions: each call becomes the function's statements, with variables of its own."""

from __future__ import annotations

import ast
from typing import Any

from gpusim.cuda.types import TupleType
from gpusim.frontend.calls import Call
from gpusim.frontend.context import Context, Frame
from gpusim.frontend.names import bind, wrap
from gpusim.frontend.operands import Bound, Group, Operand, Scalar, Static
from gpusim.frontend.source import Source, read
from gpusim.frontend.variables import assign, assigned_names
from gpusim.ir.simt.nodes import Imm, Reg

MAX_DEPTH = 32


def inline(made: Call, function: Any) -> Operand:
    """The value that a call of a device function returns; emits the function's body."""
    ctx, caller = made.ctx, made.ctx.frame
    if not getattr(function, "device", True):
        made.refuse(f"{made.text} is a kernel; kernels do not call kernels.", "Write @cuda.jit(device=True) above it.")
    source = read(function.py_func)
    place = (id(source.function), made.node.lineno, made.node.col_offset)
    if id(source.function) in caller.path or source.function is caller.source.function or len(caller.path) > 3 * MAX_DEPTH:
        made.refuse(f"{made.text} calls itself.", "Write a loop; kernels have no recursion.")
    same_file = source.file == caller.source.file and not caller.call_line
    if same_file:
        ctx.touch_source(source)
    line = 0 if same_file else ctx.line
    frame = Frame(source, (*caller.path, *place), assigned_names(source.tree.body), inlined=True, call_line=line, flagged=needs_flag(source.tree.body))
    values = arguments(made, source)
    ctx.frame = frame
    _enter(ctx, values, _signature(function))
    ctx.block(ctx, source.tree.body)
    result = frame.env["$ret"].operand if "$ret" in frame.env else Static(None)
    ctx.frame = caller
    ctx.at(made.node)
    return _typed(ctx, result, _signature(function))


def arguments(made: Call, source: Source) -> dict[str, Operand]:
    """Parameter -> argument, with the function's defaults."""
    spec = source.tree.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.posonlyargs:
        made.refuse(f"{made.text} has parameters with * or /.", "Give it plain parameters.")
    names = [a.arg for a in spec.args]
    values = dict(zip(names, made.args, strict=False))
    defaults = dict(zip(reversed(names), reversed(source.function.__defaults__ or ()), strict=False))
    for name, value in made.keywords.items():
        if name not in names or name in values:
            made.refuse(f"{made.text} has no parameter '{name}' left.", f"Its parameters: {', '.join(names)}.")
        values[name] = value
    for name in names:
        if name not in values and name in defaults:
            values[name] = wrap(made.ctx, defaults[name], made.node)
    if len(made.args) > len(names) or len(values) != len(names):
        made.refuse(f"{made.text} takes {len(names)} arguments ({', '.join(names)}); {len(made.args) + len(made.keywords)} given.")
    return values


def _signature(function: Any) -> Any:
    """The declared types, if there is exactly one declaration: an object with `args` and `result`."""
    declared = tuple(getattr(function, "signatures", ()) or ())
    return declared[0] if len(declared) == 1 else None


def _enter(ctx: Context, values: dict[str, Operand], signature: Any) -> None:
    """Bind the parameters. What is only an intermediate result gets a register of its own."""
    declared = getattr(signature, "args", ())
    for k, (name, operand) in enumerate(values.items()):
        wanted = getattr(declared[k], "dtype", None) if k < len(declared) and getattr(declared[k], "ndim", 0) == 0 else None
        if wanted and isinstance(operand, Scalar):
            operand = Scalar(ctx.cast(operand.value, wanted), None, operand.nonneg)
        if isinstance(operand, Scalar) and isinstance(operand.value, Reg) and not operand.value.name:
            assign(ctx, name, operand)
        else:
            bind(ctx, name, operand)
    if ctx.frame.flagged:
        assign(ctx, "$done", Scalar(Imm(False, "bool")))


def _typed(ctx: Context, result: Operand, signature: Any) -> Operand:
    declared = getattr(signature, "result", None)
    if isinstance(declared, TupleType) and isinstance(result, Group) and len(result.items) == len(declared.items):
        return Group(tuple(_cast(ctx, i, t.dtype) for i, t in zip(result.items, declared.items, strict=True)))
    return _cast(ctx, result, getattr(declared, "dtype", ""))


def _cast(ctx: Context, result: Operand, wanted: str) -> Operand:
    return Scalar(ctx.cast(result.value, wanted)) if wanted and isinstance(result, Scalar) else result


def has_return(node: ast.AST | list[ast.stmt]) -> bool:
    nodes = node if isinstance(node, list) else [node]
    return any(isinstance(n, ast.Return) for root in nodes for n in ast.walk(root))


def always_returns(body: list[ast.stmt]) -> bool:
    """Whether no path through the statements reaches their end."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, ast.Return)


def needs_flag(body: list[ast.stmt]) -> bool:
    """Whether some return leaves statements behind that nesting alone cannot skip."""
    for k, stmt in enumerate(body):
        if not has_return(stmt) or isinstance(stmt, ast.Return):
            continue
        rest = body[k + 1 :]
        if not isinstance(stmt, ast.If):
            return True
        if always_returns(stmt.body):
            return needs_flag(stmt.body) or needs_flag(stmt.orelse + rest)
        if always_returns(stmt.orelse):
            return needs_flag(stmt.body + rest) or needs_flag(stmt.orelse)
        return bool(rest) or needs_flag(stmt.body) or needs_flag(stmt.orelse)
    return False


def give_back(ctx: Context, node: ast.Return) -> None:
    """`return x` in a device function: note the value, and end what follows."""
    from gpusim.ir.simt.nodes import Break

    frame = ctx.frame
    assign(ctx, "$ret", Static(None) if node.value is None else ctx.evaluate(ctx, node.value))
    if frame.flagged:
        assign(ctx, "$done", Scalar(Imm(True, "bool")))
    if frame.loops:
        from gpusim.frontend.loops import leave

        leave(ctx, node)
        ctx.emit(Break(ctx.line))
    kept: dict[str, Bound] = {} if frame.loops else {name: frame.env[name] for name in ("$ret", "$done") if name in frame.env}
    frame.env, frame.live = kept, False
