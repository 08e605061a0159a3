"""A server of which one SM sees its share, while others crowd it as well."""

from __future__ import annotations

from math import exp

_FULLEST = 0.9


class CrowdedServer:
    """First come, first served, like any server, at the rate that the others leave: all of it while they rest, this SM's share while they want as
    much as it does. They are taken to do what it does: at the same time from its first request until its share has served all that waits, later at other
    times, as often on average. In the long run nobody gets more than its share: what it had more within `window` / 4 cycles is taken off again.

    A request waits at least for the others': `wait` * u / (2 (1 - u)) cycles (M/D/1), where u is the server's utilisation over about
    `window` cycles, at most 0.9. `book` is called in non-decreasing time.
    """

    __slots__ = ("wait", "others", "window", "free", "fair", "seen", "load", "start", "busy")

    def __init__(self, wait: float, sharing: int = 1, window: float = 2000.0) -> None:
        """sharing: SMs at this server; 1 where each has one of its own."""
        self.wait = wait
        self.others = (sharing - 1) / sharing
        self.window = window
        self.free = self.fair = self.seen = self.load = self.busy = 0.0
        self.start = 1.0

    def book(self, now: float, cycles: float) -> float:
        """When a request made at `now` that keeps this SM's share busy for `cycles` is through."""
        if not self.busy:  # the others begin when this SM does
            self.seen = self.fair = now
        if now > self.seen:
            self.load *= exp((self.seen - now) / self.window)
            if now > self.fair:
                self.start *= exp((max(self.seen, self.fair) - now) / self.window)
            self.seen = now
        self.load += cycles / self.window
        self.busy += cycles
        crowd = min(1.0, max(self.load, self.start))
        self.fair = (self.fair if self.fair > now else now) + cycles
        end = (self.free if self.free > now else now) + cycles * (1.0 - self.others) / (1.0 - self.others * crowd)
        self.free = end = max(end, self.fair - self.window / 4.0)
        used = self.load if self.load < _FULLEST else _FULLEST
        return max(end, now + cycles * (1.0 - self.others) / (1.0 - self.others * crowd) + self.wait * used / (2.0 - 2.0 * used))
