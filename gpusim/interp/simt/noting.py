"""Recording what warps do at mbarriers, with the bulk engine, and in shared memory of other CTAs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.interp.simt import recording
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.recording import Recorded
from gpusim.trace.simt import Touch

if TYPE_CHECKING:
    from gpusim.interp.simt.compile import Site
    from gpusim.interp.simt.state import State

Array = Any


def of_warps(g: Group, found: Recorded, value: Array) -> Array:
    """A value in g's layout for the lanes of the recorded warps, shape (n, 32); anything where no lane is active."""
    first = np.array([row * g.space.threads + warp * 32 for row, warp in found.places], np.int64)
    at = np.searchsorted(g.flat, first[:, None] + np.arange(32)).clip(max=g.size - 1)
    out: Array = np.broadcast_to(value, g.shape).ravel()[at]
    return out


def put(state: State, site: Site, row: int, warp: int, touch: Touch) -> None:
    """The touch of a recorded warp's latest block."""
    touches: Any = recording.path_of(state, row, warp).touches[-1]
    touches[site.place] = touch
