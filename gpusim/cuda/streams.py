"""Streams and events. A launch is complete when it returns, so streams order nothing; events take their times from the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from gpusim.errors import GpusimError


class Timeline:
    """The launches of this process in order, each with a way to its simulated microseconds. Kept from the first recorded event on."""

    def __init__(self) -> None:
        self._begun = False
        self._launches: list[Callable[[], float]] = []

    def now(self) -> int:
        self._begun = True
        return len(self._launches)

    def add(self, microseconds: Callable[[], float]) -> None:
        if self._begun:
            self._launches.append(microseconds)

    def between(self, begin: int, end: int) -> float:
        """Simulated microseconds of the launches between two moments."""
        return sum(time() for time in self._launches[begin:end])


TIMELINE = Timeline()
#: of new streams; the first three are the default ones
_numbers = count(3)


class Stream:
    """A stream. handle: its number; 0 is the default stream."""

    def __init__(self, handle: int = 0) -> None:
        self.handle = handle

    def synchronize(self) -> None:
        """Launches are complete when they return."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        yield self

    def add_callback(self, callback: Callable[[Any, int, Any], None], arg: Any = None) -> None:
        """Called at once: everything before it is complete."""
        callback(self, 0, arg)

    def __int__(self) -> int:
        return self.handle

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<stream {self.handle}>"


class Event:
    """A moment between launches. Copies between host and device take no simulated time."""

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self._moment: int | None = None

    def record(self, stream: Any = 0) -> None:
        self._moment = TIMELINE.now()

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Launches are complete when they return."""

    def wait(self, stream: Any = 0) -> None:
        """Launches are complete when they return."""

    def elapsed_time(self, evtend: Event) -> float:
        """Simulated milliseconds of the launches between this event and `evtend`."""
        if self._moment is None or evtend._moment is None:
            raise GpusimError("elapsed_time of an event that was not recorded.", hint="Call record() on both events, before and after the launches.")
        return TIMELINE.between(self._moment, evtend._moment) / 1e3


def stream() -> Stream:
    """A new stream."""
    return Stream(next(_numbers))


def external_stream(ptr: int) -> Stream:
    return Stream(ptr)


def default_stream() -> Stream:
    return Stream(0)


def legacy_default_stream() -> Stream:
    return Stream(1)


def per_thread_default_stream() -> Stream:
    return Stream(2)


def event(timing: bool = True) -> Event:
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Simulated milliseconds between two recorded events."""
    return evtstart.elapsed_time(evtend)


def synchronize() -> None:
    """Launches are complete when they return."""
