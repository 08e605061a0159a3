"""What the compiler emits around the products and the work on their results, as constants with evidence.

Evidence: 12 listings of measured attention kernels (`compiled/flash_*.sassops`). Counts are warp instructions per warp and step.
"""

from __future__ import annotations

#: registers beside accumulators, scores and packed weights: addresses, statistics, the loop (listings: 28 to 42 with one block of rows a group)
BESIDES = 28
#: more of them where a group holds several blocks of rows, and where 64 scores or more stand in a lane (listings: 37 to 42; 30 to 35)
SECOND_BLOCK, MANY_SCORES = 10, 4
#: more of them with a mask (listings: 4 to 16 more than without)
MASK = 8
#: without a pipeline there are no addresses of stages, and both tiles pass through registers (recompilation: 126 registers where a pipeline has 108)
UNPIPELINED, PASSING = -12, 1.9
#: accesses to local memory per spilled register and step, (KER 2.1: 299 to 368 where about 75 do not fit)
SPILL_LOADS, SPILL_STORES = 2.6, 1.8
#: uniform instructions before the first product: stage and buffer numbers, and one for each matrix instruction's descriptor
HEAD, DESCRIPTOR = 13.0, 1.0
#: uniform instructions behind the last product, and half a descriptor each
TAIL, TAIL_DESCRIPTOR = 4.0, 0.5
#: integer instructions on vector registers: head, behind the last product, loop end
HEAD_ALU, TAIL_ALU, END_ALU, END_UNIFORM = 2.0, 2.0, 4.0, 6.0
#: 64-bit address updates, one an asynchronous copy. With many copies half of them stand among the copies (listings: 8 of 16; else 2)
MANY_COPIES, LATE_SHARE, LATE_FEW = 16, 0.5, 2.0
#: cycles until the first results of a stretch of exponentials are there: sum, exponential, pack, one after the other
RAMP = 40.0
#: index arithmetic before the first load, and between loads and the loop (listings: 145 to 200)
PROLOGUE = 150.0
#: addresses of the stores
EPILOGUE = 100.0
#: registers of a thread that only copies, the most of one that computes, and the registers of the lanes that an SM holds (setmaxnreg gives them in eights)
PRODUCER_REGISTERS, CONSUMER_REGISTERS, OF_LANES = 24, 240, 2048


def consumer_registers(warps: int, producers: int) -> int:
    """What threads that compute may have when others give theirs away: 240 for two warpgroups, 160 for three."""
    return min(CONSUMER_REGISTERS, (OF_LANES - PRODUCER_REGISTERS * producers) // warps // 8 * 8)
