"""How many 32-bit registers a thread needs: the most that live at once, as a compiler counts them.

Live ranges run over the blocks in their order. A few registers are added for what the model does not hold (stack pointer, alignment of
pairs and quads, the allocator's losses), and the hardware allocates in steps of 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.lower.simt.code import Instr

GRANULE = 8
LEAST = 16
MOST = 255
#: registers of an SM, and threads: with so few a thread the threads are the limit
_FILE, _THREADS = 65536, 2048
FREE = _FILE // _THREADS
#: what the live values do not show; SPARE: of that, what stays where registers are scarce (the stack pointer)
EXTRA, SPARE = 4, 1


def estimate(blocks: Sequence[Sequence[Instr]], succ: Sequence[Sequence[int]], size: dict[int, int]) -> int:
    """Registers per thread, before rounding to the granule of the hardware."""
    live_in = liveness(blocks, succ)
    most = 0
    for b, rows in enumerate(blocks):
        live = 0
        for s in succ[b]:
            live |= live_in[s]
        count = words(live, size)
        most = max(most, count)
        for row in reversed(rows):
            for r in row.dst:
                if live >> r & 1 and r not in row.srcs:
                    live ^= 1 << r
                    count -= size.get(r, 1)
            for r in row.srcs:
                if not live >> r & 1:
                    live |= 1 << r
                    count += size.get(r, 1)
            most = max(most, count)
    return max(LEAST, most + EXTRA)


def allocated(registers: int) -> int:
    """What the hardware sets aside per thread."""
    return -(-registers // GRANULE) * GRANULE


def resident(registers: int) -> int:
    """Warps that an SM holds with that many registers per thread; they come four at a time, one for each sub-core."""
    return min(_THREADS, _FILE // allocated(registers)) // 32 // 4 * 4


def words(live: int, size: dict[int, int]) -> int:
    """32-bit registers of a mask of virtual registers."""
    total = 0
    while live:
        low = live & -live
        total += size.get(low.bit_length() - 1, 1)
        live ^= low
    return total


def liveness(blocks: Sequence[Sequence[Instr]], succ: Sequence[Sequence[int]]) -> list[int]:
    """Mask of the registers that live at the begin of each block."""
    use, kill = [0] * len(blocks), [0] * len(blocks)
    for b, rows in enumerate(blocks):
        for row in rows:
            for r in row.srcs:
                if not kill[b] >> r & 1:
                    use[b] |= 1 << r
            for r in row.dst:
                kill[b] |= 1 << r
    live = list(use)
    changed = True
    while changed:
        changed = False
        for b in reversed(range(len(blocks))):
            out = 0
            for s in succ[b]:
                out |= live[s]
            mask = use[b] | out & ~kill[b]
            changed |= mask != live[b]
            live[b] = mask
    return live
