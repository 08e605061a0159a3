"""Register numbers without gaps: translating a loop twice leaves numbers that nothing uses."""

from __future__ import annotations

import dataclasses
from typing import Any

from gpusim.ir.simt.nodes import Buffer, Imm, Param, Reg, Stmt


def compact(body: tuple[Stmt, ...], params: tuple[Param, ...]) -> tuple[tuple[Stmt, ...], tuple[Param, ...], int]:
    """The same program with registers numbered from 0 in the order they are met, and how many there are."""
    numbers: dict[int, int] = {}
    new_params = tuple(_renumbered(p, numbers) for p in params)
    return _renumbered(body, numbers), new_params, len(numbers)


def _renumbered(node: Any, numbers: dict[int, int]) -> Any:
    if isinstance(node, Reg):
        return Reg(numbers.setdefault(node.id, len(numbers)), node.dtype, node.name)
    if isinstance(node, tuple):
        return tuple(_renumbered(n, numbers) for n in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type) and not isinstance(node, Buffer | Imm):
        changes = {f.name: _renumbered(getattr(node, f.name), numbers) for f in dataclasses.fields(node)}
        return dataclasses.replace(node, **changes)
    return node
