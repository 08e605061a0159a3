"""A server of which one SM sees its share, while others crowd it as well."""

from __future__ import annotations

from math import exp

_FULLEST = 0.9


class CrowdedServer:
    """First come, first served, like any server, at this SM's share of its rate. A request itself is served at the rate of the whole, for others ask
    at other times; who comes behind it waits until the share is served.

    On top of that a request waits for the others': `wait` * u / (2 (1 - u)) cycles (M/D/1), where u is the server's utilisation over about
    `window` cycles, at most 0.9. The others are taken to ask for as much as this SM. `book` is called in non-decreasing time.
    """

    __slots__ = ("wait", "sharing", "window", "free", "seen", "load", "busy")

    def __init__(self, wait: float, sharing: int = 1, window: float = 2000.0) -> None:
        """sharing: SMs at this server; 1 where each has one of its own."""
        self.wait = wait
        self.sharing = sharing
        self.window = window
        self.free = self.seen = self.load = self.busy = 0.0

    def book(self, now: float, cycles: float) -> float:
        """When a request made at `now` that keeps this SM's share busy for `cycles` is through."""
        if now > self.seen:
            self.load *= exp((self.seen - now) / self.window)
            self.seen = now
        self.load += cycles / self.window
        self.busy += cycles
        start = self.free if self.free > now else now
        self.free = start + cycles
        used = self.load if self.load < _FULLEST else _FULLEST
        return start + cycles / self.sharing + self.wait * used / (2.0 - 2.0 * used)
