"""The clock: agents live side by side, and the one whose time is next goes on. Its unit is one SM cycle.

An agent is a generator that yields the time at which it wants to go on (now, if that is past) and ends when it is done. Agents
of the same time go on in the order in which they asked.
"""

from __future__ import annotations

from collections.abc import Generator
from heapq import heappop, heappush, heapreplace

Agent = Generator[float, None, None]


class Clock:
    """`now`: how far time has come."""

    __slots__ = ("now", "_due", "_asked")

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._due: list[tuple[float, int, Agent]] = []
        self._asked = 0

    def start(self, agent: Agent) -> None:
        """Let `agent` live from now on."""
        self._asked += 1
        heappush(self._due, (self.now, self._asked, agent))

    def run(self) -> None:
        """Let time pass until every agent is done. The agent that goes on stays the first of the heap meanwhile: whom it starts asked later."""
        due = self._due
        while due:
            now, _, agent = due[0]
            self.now = now
            until = next(agent, None)
            if until is None:
                heappop(due)
            else:
                self._asked += 1
                heapreplace(due, (until if until > now else now, self._asked, agent))
