"""The machine of one chunk: everything the compiled pieces call."""

from __future__ import annotations

from typing import Any

from gpusim.interp.simt.cluster import Clusters
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.state import at

Array = Any


class Machine(Clusters):
    def show(self, site: Site, g: Group, *values: Array) -> None:
        """print: one line per lane, in the order of lanes."""
        for r in range(g.shape[0]):
            for k in range(g.shape[1]):
                rest = iter(values)
                words = [a if isinstance(a, str) else str(at(next(rest), (r, k))) for a in site.stmt.args]
                self.launch.printed.append(" ".join(words) + "\n")

    def claim(self, site: Site, g: Group, cond: Array) -> None:
        bad = cond == 0
        if bad.any():
            cta, tid, _ = self.where(g, bad)
            message = f": {site.stmt.message}" if site.stmt.message else ""
            self.fail(site.line, f"assertion failed{message},", self.lane_name(cta, tid), "Look at the values that lead to this line.")
