"""Fixed irregularity: what depends on address hashes and arbitration that nobody publishes, without a random generator.

The same number always gives the same value, so that a report is reproducible bit for bit.
"""

from __future__ import annotations

from math import log


def noise(number: int) -> float:
    """An evenly spread value in [0, 1)."""
    x = (number + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return (x >> 40) / 0x1000000


def tail(number: int) -> float:
    """An exponentially distributed value of mean 1: mostly small, rarely several times the mean."""
    return -log(1.0 - noise(number))
