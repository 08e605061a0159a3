"""What the lanes of a warp do together: shuffles, votes, matches, reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.memory_local import LocalMemory

Array = Any
LANES = np.arange(32)
_REDUX: dict[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def bits(flags: Array) -> Array:
    """(..., 32) booleans as one number each, int64, shape (..., 1)."""
    return (flags.astype(np.int64) << LANES).sum(axis=-1, keepdims=True)


def source_lane(kind: str, given: Array, width: Array) -> tuple[Array, Array]:
    """(lane to read, whether it is in range) of a shuffle; CUDA's rules for segments of `width` lanes."""
    width = np.clip(width.astype(np.int64), 1, 32)
    base = LANES & ~(width - 1)
    by = given.astype(np.int64) & 31
    if kind == "idx":
        return base + (by & (width - 1)), np.broadcast_to(True, np.broadcast_shapes(by.shape, base.shape))
    if kind == "up":
        lane = LANES - by
        return lane, lane >= base
    lane = LANES + by if kind == "down" else LANES ^ by
    return lane, lane <= base + width - 1


class WarpOps(LocalMemory):
    def warp(self, site: Site, g: Group, *args: Array) -> list[Array]:
        stmt = site.stmt
        kind, _, detail = stmt.op.partition(".")
        active = g.active
        if kind == "activemask":
            outs = [np.broadcast_to(bits(active), active.shape)]
        else:
            tables = [g.to_warps(a) for a in args]
            member = self.members(site, g, tables[0])
            outs = self._joint(site, g, kind, detail, member, tables[1:])
        result = []
        for out, reg in zip(outs, stmt.dst, strict=False):
            value = g.from_warps(np.ascontiguousarray(out))
            result.append(_typed(value, reg.dtype))
        return result

    def members(self, site: Site, g: Group, mask: Array) -> Array:
        """Lanes that each lane's mask names and that are active, as bits, shape (rows, warps, 32)."""
        named = mask.astype(np.int64) & 0xFFFFFFFF
        there = bits(g.active)
        if ((named & ~there) * g.active).any() and site.stmt.op != "activemask":
            partial = self.space.threads % 32 and bool(((named & ~there) == 0)[..., :-1, :].all())
            if not partial:
                self.launch.note("mask", site.line, f"the mask of {site.stmt.op} names lanes that do not take part; they are ignored")
        return named & there

    def _joint(self, site: Site, g: Group, kind: str, detail: str, member: Array, rest: list[Array]) -> list[Array]:
        value = rest[0]
        if kind == "shfl":
            return self._shuffle(site, g, detail, *rest)
        if kind in ("ballot", "any", "all", "eq"):
            yes = bits((value != 0) & g.active) & member
            answer = {"ballot": yes, "any": yes != 0, "all": yes == member, "eq": (yes == 0) | (yes == member)}[kind]
            return [answer]
        if kind == "match":
            same = bits((value[..., None] == value[..., None, :]) & g.active[..., None, :])[..., 0] & member
            if detail == "any":
                return [same]
            return [np.where(same == member, member, 0), same == member]
        return [self._reduce(_REDUX[detail], value, member, g)]

    def _reduce(self, f: Any, value: Array, member: Array, g: Group) -> Array:
        shape = np.broadcast_shapes(value.shape, member.shape)
        value, member = np.broadcast_to(value, shape), np.broadcast_to(member, shape)
        out = np.empty(shape, value.dtype)
        inside = (member[..., None] >> LANES) & 1 != 0
        table = np.broadcast_to(value[..., None, :], inside.shape)
        start = table[np.arange(shape[0])[:, None, None], np.arange(shape[1])[:, None], LANES, inside.argmax(axis=-1)]
        if f in (np.add, np.bitwise_xor, np.bitwise_or):
            out[...] = f.reduce(np.where(inside, table, value.dtype.type(0)), axis=-1).astype(value.dtype)
        else:
            out[...] = f.reduce(np.where(inside, table, start[..., None]), axis=-1)
        return out

    def _shuffle(self, site: Site, g: Group, kind: str, value: Array, given: Array, width: Array) -> list[Array]:
        lane, inside = source_lane(kind, given, width)
        shape = np.broadcast_shapes(value.shape, lane.shape)
        lane = np.where(inside, lane, LANES)
        lane, value = np.broadcast_to(lane, shape), np.broadcast_to(value, shape)
        there = np.take_along_axis(np.broadcast_to(g.active, shape), lane, axis=-1)
        if not (there | ~g.active).all():
            self.launch.note("shuffle", site.line, "a shuffle reads from a lane that is not active; it gives that lane's own value")
            lane = np.where(there, lane, LANES)
        return [np.take_along_axis(value, lane, axis=-1), np.broadcast_to(inside, shape)]


def _typed(value: Array, name: str) -> Array:
    if value.dtype == np.int64 and name in ("int32", "uint32"):
        return value.astype(np.uint32).view(np.dtype(name))
    if value.dtype == np.bool_ and name != "bool":
        return value.astype(np.dtype(name))
    return value if value.dtype.kind not in "iub" or value.dtype.name == name else value.astype(np.dtype(name))
