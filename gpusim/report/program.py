"""The report of launches behind each other: a line for each, what lies between them, and the sum."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpusim.report.protocol import L2_MEANING, MEANING
from gpusim.report.report import Report
from gpusim.report.units import count, microseconds, percent, plural, size
from gpusim.spec.device import GpuSpec
from gpusim.trace import nsight

#: how launches reach the device -> what it means
SUBMITTED = {"graph": "one graph", "stream": "one by one from the host"}
HEAD = ("", "kernel", "grid", "begins", "time", "DRAM read", "written", "L2 hits", "bottleneck")
#: columns whose cells stand at the right
RIGHT = range(3, 8)


@dataclass(frozen=True, eq=False)
class ProgramReport:
    """launches: a report of each, its launch overhead out. begins, ends: of each, in ps after the first event; time_ps: until the last one.
    l2: before the first launch; launch: overhead "in" or "out"; submit: "graph" or "stream"; notes: what the model leaves out."""

    launches: tuple[Report, ...]
    spec: GpuSpec = field(repr=False)
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    time_ps: int
    l2: str
    launch: str
    submit: str
    notes: tuple[str, ...] = ()

    @property
    def time_us(self) -> float:
        """Microseconds from the first event to the last one, or, with launch="out", of the launches alone."""
        return self.time_ps / 1e6

    @property
    def between_us(self) -> float:
        """Microseconds of it in which no launch runs."""
        return (self.time_ps - sum(end - begin for begin, end in zip(self.begins, self.ends, strict=True))) / 1e6

    @cached_property
    def traffic(self) -> dict[str, int]:
        """Every counter, summed over the launches; what is dirty in L2 is that of the last one."""
        names = dict.fromkeys(name for r in self.launches for name in r.traffic)
        out = {name: sum(r.traffic.get(name, 0) for r in self.launches) for name in names}
        last = self.launches[-1].traffic
        return out | ({"l2_dirty_bytes": last["l2_dirty_bytes"]} if "l2_dirty_bytes" in last else {})

    @property
    def dram_read_bytes(self) -> int:
        return self.traffic["dram_read_bytes"]

    @property
    def dram_write_bytes(self) -> int:
        return self.traffic["dram_write_bytes"]

    @property
    def l2_hit_rate(self) -> float | None:
        """Of all launches together."""
        return nsight.l2_hit_rate(self.traffic)

    @property
    def bottleneck(self) -> str:
        """That of the longest launch, or "launch overhead" where the launches take less than what lies between them."""
        if self.between_us > self.time_us / 2:
            return "launch overhead"
        return max(zip(self.ends, self.begins, self.launches, strict=True), key=lambda one: one[0] - one[1])[2].bottleneck

    @property
    def digest(self) -> str:
        """The same launches on the same machine under the same protocol have the same digest."""
        parts = [*(r.digest for r in self.launches), self.l2, self.launch, self.submit, self.time_ps]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON, units in the keys."""
        places = [{"begin_us": b / 1e6, "end_us": e / 1e6} for b, e in zip(self.begins, self.ends, strict=True)]
        clocks = sorted({r.clock_mhz for r in self.launches})
        return {
            "gpu": self.spec.name,
            "time_us": self.time_us,
            "between_us": self.between_us,
            "dram_read_bytes": self.dram_read_bytes,
            "dram_write_bytes": self.dram_write_bytes,
            "l2_hit_rate": self.l2_hit_rate,
            "bottleneck": self.bottleneck,
            "protocol": {"l2": self.l2, "launch": self.launch, "submit": self.submit, "clock_mhz": clocks},
            "counters": self.traffic,
            "launches": [place | r.to_dict() for place, r in zip(places, self.launches, strict=True)],
            "notes": list(self.notes),
            "digest": self.digest,
        }

    def json_text(self) -> str:
        """`to_dict` as text, ending in a newline."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def __str__(self) -> str:
        from gpusim.report.text import wrap

        rows = [HEAD, *(_row(i, r, b, e) for i, (r, b, e) in enumerate(zip(self.launches, self.begins, self.ends, strict=True))), self._sum()]
        lines = [f"{plural(len(self.launches), 'launch', 'launches')} on {self.spec.name}", "", *_aligned(rows), ""]
        lines += wrap("time", f"{microseconds(self.time_us)}, of which {microseconds(self.between_us)} between and around the launches")
        overhead = f"{MEANING['launch'][self.launch]}" + (f", {SUBMITTED[self.submit]}" if self.launch == "in" else "")
        lines += wrap("protocol", f"before the first launch {L2_MEANING[self.l2]}, then kept; {overhead}")
        for note in self.notes:
            lines += wrap("note", note)
        return "\n".join([*lines, *wrap("digest", self.digest)])

    def _sum(self) -> tuple[str, ...]:
        rate = "" if self.l2_hit_rate is None else percent(self.l2_hit_rate)
        return "", "total", "", "", microseconds(self.time_us), size(self.dram_read_bytes), size(self.dram_write_bytes), rate, self.bottleneck


def _row(i: int, r: Report, begin: int, end: int) -> tuple[str, ...]:
    rate = "" if r.l2_hit_rate is None else percent(r.l2_hit_rate)
    moved = (size(r.dram_read_bytes or 0), size(r.dram_write_bytes or 0))
    return str(i + 1), r.kernel, f"{count(r.ctas)} CTAs", microseconds(begin / 1e6), microseconds((end - begin) / 1e6), *moved, rate, r.bottleneck


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    return ["  ".join(f"{c:>{w}}" if i in RIGHT else f"{c:{w}}" for i, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]
