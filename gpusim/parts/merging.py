"""How many of the requests that the SMs of a GPC make for one line reach L2, where their timing is known only on average.

A request joins an earlier one for the same line from the same GPC that is still under way; at most `requests` share one. CTAs that read the
same tile start together. Alone on their SMs they stay together. Where an SM holds several, these take turns and after some steps each is
somewhere else in its loop; then only chance brings two requests together. Evidence: counters.json, 30 launches of products (sectors L2
received over those L1 missed); decide.json merge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # np.ndarray


@dataclass(frozen=True, slots=True)
class Merging:
    """requests: that share one at most. window: cycles in which a follower joins a hit. together: share of the possible that merges while CTAs are
    in step. steps: of its loop after which a CTA that shares its SM has drifted away."""

    requests: int
    window: float
    together: float
    steps: float

    def in_step(self, steps: float, ctas_on_sm: int) -> float:
        """Mean share of a loop of `steps` that CTAs run in step with each other: 1 where an SM holds one, else the mean of exp(-i / self.steps)."""
        if ctas_on_sm <= 1 or steps <= 0:
            return 1.0
        return self.steps / steps * (1.0 - math.exp(-steps / self.steps))

    def received(self, sharers: Array, step: float, in_step: float) -> Array:
        """Requests that reach L2 for a line which `sharers` SMs of the GPC ask for once a step of `step` cycles; shape of `sharers`, 1 to sharers."""
        n = np.asarray(sharers, float)
        least = np.ceil(n / self.requests)
        near = n - self.together * (n - least)
        apart = np.maximum(least, n / (1.0 + (n - 1.0) * self.window / max(step, self.window)))
        return in_step * near + (1.0 - in_step) * apart
