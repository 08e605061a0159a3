"""A server of which one SM sees its share, while others crowd it as well."""

from __future__ import annotations

from math import exp

_FULLEST = 0.9
#: cycles over which the others count as busy as this SM is, about as long as the CTAs of long rows take: SMs that load, compute and store in turn do so at
#: different times. Assumed; 8.1 and 9.5 % off instead of 26 and 17 % on rows of 32768 with one CTA an SM
_LONG = 16000.0


class CrowdedServer:
    """First come, first served, like any server, at the rate that the others leave: all of it while they rest, this SM's share while they want as
    much as it does. They are taken to do what it does: at the same time from its first request until its share has served all that waits, later at other
    times, as often on average. In the long run nobody gets more than its share: what it had more than `window` / 4 cycles of it is taken off again, less what
    it left to others lately.

    A request waits at least for the others': `wait` * u / (2 (1 - u)) cycles (M/D/1), where u is the server's utilisation over about
    `window` cycles, at most 0.9. `book` is called in non-decreasing time.
    """

    __slots__ = ("wait", "others", "window", "free", "fair", "seen", "load", "start", "busy", "lasting", "before")

    def __init__(self, wait: float, sharing: int = 1, window: float = 2000.0) -> None:
        """sharing: SMs at this server; 1 where each has one of its own."""
        self.wait = wait
        self.others = (sharing - 1) / sharing
        self.window = window
        self.free = self.fair = self.seen = self.load = self.busy = self.lasting = self.before = 0.0
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
        if now > self.before:
            self.lasting *= exp((self.before - now) / _LONG)
            self.before = now
        self.lasting += cycles / _LONG
        crowd = min(1.0, max(min(self.lasting, self.load), self.start))
        self.fair = max(self.fair, now - _LONG / 2.0 * (1.0 - self.start)) + cycles
        end = (self.free if self.free > now else now) + cycles * (1.0 - self.others) / (1.0 - self.others * crowd)
        self.free = end = max(end, self.fair - self.window / 4.0)
        used = self.load if self.load < _FULLEST else _FULLEST
        return max(end, now + cycles * (1.0 - self.others) / (1.0 - self.others * crowd) + self.wait * used / (2.0 - 2.0 * used))
