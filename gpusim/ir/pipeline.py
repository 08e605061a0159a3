"""How a warp-specialised product is divided: what no value depends on, and time does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: division of labour -> warpgroups that multiply. One warpgroup more copies.
CONSUMERS = {"producer-consumer": 1, "ping-pong": 2, "cooperative": 2}
#: deepest pipeline chosen where none is asked for
MOST_STAGES = 8
SCHEDULES = ("grid", "persistent")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One warpgroup copies with the copy engine, the others multiply.

    roles: of CONSUMERS. "cooperative": both consumers share a tile; "ping-pong": they take tiles in turn, so that the end of one lies beside the
    loop of the next. cluster: (rows, columns) of tiles whose CTAs send each other what they share. stages: buffers between the copying
    warpgroup and the others; None: as many as fit, up to MOST_STAGES. rows: side of the output, "m" or "n", along which the 64 rows of a matrix
    instruction lie. split: whether cooperating consumers share its "rows" or "columns". schedule: "persistent" CTAs take tile after tile; in
    a "grid" every tile has its own.
    """

    roles: str
    cluster: tuple[int, int]
    stages: int | None
    rows: str = "m"
    split: str = "rows"
    schedule: str = "persistent"

    @property
    def consumers(self) -> int:
        return CONSUMERS[self.roles]

    @property
    def ctas_per_cluster(self) -> int:
        return self.cluster[0] * self.cluster[1]

    @property
    def persistent(self) -> bool:
        return self.schedule == "persistent"

    @property
    def params(self) -> dict[str, Any]:
        """What a program's `params` tell of it."""
        told = {"roles": self.roles, "cluster": "x".join(map(str, self.cluster)), "stages": self.stages, "schedule": self.schedule}
        return told | {"mma_rows": self.rows, "split": self.split}


def told_by(params: Mapping[str, Any]) -> Pipeline | None:
    """The pipeline that `params` of a printed program tell of; None if they tell of none."""
    if params.get("roles") not in CONSUMERS:
        return None
    down, across = (int(c) for c in str(params["cluster"]).split("x"))
    return Pipeline(params["roles"], (down, across), params["stages"], params["mma_rows"], params["split"], params["schedule"])
