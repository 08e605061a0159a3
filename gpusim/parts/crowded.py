"""A server of which one SM sees its share, while others crowd it as well."""

from __future__ import annotations

from math import exp

_FULLEST = 0.9


class CrowdedServer:
    """First come, first served, like any server; on top of its own queue a request waits for the others': `wait` * u / (2 (1 - u))
    cycles (M/D/1), where u is the server's utilisation over about `window` cycles, at most 0.9.

    The others are taken to ask for as much as this SM, at other times. `book` is called in non-decreasing time.
    """

    __slots__ = ("wait", "window", "free", "seen", "load", "busy")

    def __init__(self, wait: float, window: float = 2000.0) -> None:
        self.wait = wait
        self.window = window
        self.free = self.seen = self.load = self.busy = 0.0

    def book(self, now: float, cycles: float) -> float:
        """When a request made at `now` that keeps the server busy for `cycles` is through."""
        if now > self.seen:
            self.load *= exp((self.seen - now) / self.window)
            self.seen = now
        self.load += cycles / self.window
        self.busy += cycles
        self.free = end = (self.free if self.free > now else now) + cycles
        used = self.load if self.load < _FULLEST else _FULLEST
        return end + self.wait * used / (2.0 - 2.0 * used)


def slowest(count: int) -> float:
    """Mean of the largest of `count` exponential delays, in units of their mean: 1 + 1/2 + ... + 1/count."""
    return sum(1.0 / i for i in range(1, count + 1))
