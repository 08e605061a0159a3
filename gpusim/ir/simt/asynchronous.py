"""Copies by the bulk engine, and the barriers in shared memory that count their bytes.

An mbarrier is one 8-byte element of a shared array. It counts arrivals and bytes of a phase; when all arrivals have been and no byte is missing, the phase is
complete and the next one begins. Phases have parity 0, 1, 0, ... (PTX ISA, mbarrier).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.simt.values import Buffer, Value


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """cp.async.bulk: each lane has `count` consecutive elements copied from source[source_index] (global) to target[target_index] (shared); the bytes
    count at mbarrier[barrier_index] as they land. Size and addresses are multiples of 16 bytes."""

    target: Buffer
    target_index: Value
    source: Buffer
    source_index: Value
    count: Value
    barrier: Buffer
    barrier_index: Value
    line: int = 0


@dataclass(frozen=True, slots=True)
class Mbarrier:
    """What a lane does with the mbarrier buffer[index]. op and value:

    "init" (arrivals of a phase), "arrive" (bytes that the phase waits for besides those it knows of; the lane arrives), "expect" (the same
    without arriving), "wait" (parity): until the phase of that parity is complete.
    """

    op: str
    buffer: Buffer
    index: Value
    value: Value
    line: int = 0
