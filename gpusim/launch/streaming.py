"""Lowered program -> the stream that a device runs: boxes numbered, loop steps chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpusim import effects as fx
from gpusim.devices.stream import Site, Stream
from gpusim.ir.expr import evaluate
from gpusim.ir.ops import Box, Let
from gpusim.ir.program import Program
from gpusim.lower.lowered import Lowered


def stream(lowered: Lowered, keep: int | None = None) -> Stream:
    """The stream of `lowered`; with `keep`, only that many loop steps, the middle ones left out."""
    program = lowered.program
    sites: dict[tuple[Box, int], Site] = {}
    numbers = {t.name: i for i, t in enumerate(program.tensors)}

    def numbered(effects: Iterable[Any]) -> tuple[tuple[Any, int], ...]:
        return tuple((e, _site(e, program, sites, numbers)) for e in effects if not isinstance(e, Let))

    at = next(i for i, e in enumerate(lowered.body) if isinstance(e, fx.Repeat))
    repeat = lowered.body[at]
    assert isinstance(repeat, fx.Repeat)
    trips = int(evaluate(repeat.count, {}))
    before, body, after = numbered(lowered.body[:at]), numbered(repeat.body), numbered(lowered.body[at + 1 :])
    lets = tuple(e for e in lowered.body if isinstance(e, Let))
    foot = lowered.footprint
    placed = tuple(sites.values())
    return Stream(program.grid, foot.warps, foot.shared_bytes, placed, lets, repeat.var, before, body, after, trips, kept(trips, keep), program.pipeline)


def kept(trips: int, keep: int | None) -> tuple[int, ...]:
    """The first and last halves of `keep` steps out of `trips`."""
    if keep is None or keep >= trips:
        return tuple(range(trips))
    head = keep - keep // 2
    return (*range(head), *range(trips - keep // 2, trips))


def _site(effect: Any, program: Program, sites: dict[tuple[Box, int], Site], numbers: dict[str, int]) -> int:
    if not isinstance(effect, fx.Copy | fx.Load | fx.Store):
        return -1
    at = (effect.box, effect.piece)
    if at not in sites:
        sites[at] = Site(effect.box, program.tensor(effect.box.tensor), effect.piece, numbers[effect.box.tensor])
    return list(sites).index(at)
