"""What is known about a launch before any thread runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import Geometry


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """geometry, and the uniform parameters: (argument number, `Param.what`) -> value. `overlapping`: numbers of array arguments whose memory
    another array argument also covers; a load from one of these may see a store to any other."""

    geometry: Geometry
    params: dict[tuple[int, str], int | float | bool] = field(default_factory=dict)
    overlapping: frozenset[int] = frozenset()

    def coordinates(self) -> dict[str, tuple[int, int]]:
        """Lowest and highest value of every operation that says where a thread is."""
        g = self.geometry
        out: dict[str, tuple[int, int]] = {
            "laneid": (0, 31), "warpid": (0, g.warps - 1), "clusterrank": (0, g.cluster_ctas - 1), "clustersize": (g.cluster_ctas,) * 2,
        }  # fmt: skip
        for axis, block, grid in zip("xyz", g.block, g.grid, strict=True):
            out |= {f"tid.{axis}": (0, block - 1), f"ntid.{axis}": (block, block), f"ctaid.{axis}": (0, grid - 1), f"nctaid.{axis}": (grid, grid)}
        return out
