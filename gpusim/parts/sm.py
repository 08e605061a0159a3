"""An SM as the servers that its CTAs share, and a GPC as the port and the merge table that its SMs share. State only."""

from __future__ import annotations

from typing import Any

from gpusim.engine.server import Server
from gpusim.spec.resolve import Machine


class Gpc:
    """`port`: read data into the GPC; `table`: tile cell -> the request in flight that others may join."""

    __slots__ = ("half", "port", "table")

    def __init__(self, half: int, rate: float) -> None:
        self.half = half
        self.port = Server(rate)
        self.table: dict[Any, Flight] = {}


class Flight:
    """One L2 request in flight, `born` when it left: others may join it until `alive`; its data arrive at `done`. `alone`: requests for the same tile by
    CTAs out of step that joined none."""

    __slots__ = ("born", "alive", "done", "joined", "alone")

    def __init__(self, born: float, alive: float, done: float) -> None:
        self.born, self.alive, self.done, self.joined, self.alone = born, alive, done, 1, 0


class Sm:
    """Servers in SM cycles: `issue` slots of one sub-core (all are equally loaded), `tensor` cycles, `shared` passes,
    `l1` lines, `fill` bytes from L2, `store` bytes to L2; `warm`: its instructions have
    been fetched once; `resident`: CTAs it holds now."""

    __slots__ = ("index", "gpc", "issue", "tensor", "shared", "l1", "fill", "store", "warm", "resident")

    def __init__(self, index: int, gpc: Gpc, machine: Machine) -> None:
        self.index = index
        self.gpc = gpc
        self.issue = Server(1.0)
        self.tensor = Server(1.0)
        self.shared = Server(machine.shared_rate / 128.0)
        self.l1 = Server(machine.l1_line_rate)
        self.fill = Server(machine.fill_rate)
        self.store = Server(machine.store_rate)
        self.warm = False
        self.resident = 0
