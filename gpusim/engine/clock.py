"""The clock: a simpy environment whose unit is one SM cycle."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

Agent = Generator[Any, Any, None]


def start(env: simpy.Environment, agent: Agent) -> simpy.Process:
    """Let `agent` live; it yields events."""
    return env.process(agent)


def until(env: simpy.Environment, t: float) -> simpy.Timeout:
    """An event at time `t` (now, if `t` is past)."""
    delay = t - env.now
    return env.timeout(delay if delay > 0.0 else 0.0)
