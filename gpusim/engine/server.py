"""A server: the only place where bandwidth exists."""

from __future__ import annotations


class Server:
    """Serves `rate` units per cycle, first come, first served.

    `book` is called in non-decreasing time (the caller's process order sees to that). Latency is added by the caller and
    never occupies the server. `busy` and `served` are its own totals.
    """

    __slots__ = ("rate", "free", "busy", "served")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.free = 0.0
        self.busy = 0.0
        self.served = 0.0

    def book(self, now: float, amount: float) -> float:
        """The time at which `amount` units, asked for at `now`, have been served."""
        duration = amount / self.rate
        start = self.free
        if now > start:
            start = now
        self.free = end = start + duration
        self.busy += duration
        self.served += amount
        return end
