"""What a compiler emits, as a table a reader can check. Evidence: SASS listings of the measured GEMM kernels (16 listings,
`compiled/gemm_*.sassops`) and the recompilations described in the mechanisms notes (1, "What the compiler emits").

Counts are warp instructions per warp. `copies` are asynchronous copies per thread, `acc` fp32 accumulators per thread, `mmas`
matrix instructions per warpgroup and step, `wide` 64-bit multiply-adds per thread and step.
"""

from __future__ import annotations

from dataclasses import dataclass

#: bytes a lane moves with one full-width access
VECTOR_BYTES = 16
#: cp.async moves at least this much; narrower pieces cannot be asynchronous, and without asynchronous copies there is no pipeline
SMALLEST_ASYNC_BYTES = 4
#: a size or pitch is known to be divisible when it is a multiple of this many elements (argument specialisation)
SPECIALISED_MULTIPLE = 16
#: registers per thread that any step needs besides its accumulators
LEAST_BESIDES = 24
#: deepest pipeline chosen when the user leaves `stages` open
MOST_STAGES = 4


@dataclass(frozen=True, slots=True)
class Counts:
    """Warp instructions of one pipelined step, by place in the loop."""

    before: float
    between: float
    after: float
    mask: float


def prologue(acc: int, copies: int, masked: bool) -> float:
    """Index arithmetic, clearing accumulators and the first copies' addresses (listings: 311 to 510 even, within 12 %)."""
    return 190 + acc + (6.6 if masked else 3.9) * copies


def step(copies: int, mmas: int, wide: int, masked: bool) -> Counts:
    """One step of the pipelined loop (listings: 73 to 179 even, within 5 %; masked 100 to 229, within 13 %).

    before: from the wait for the copies to the first matrix instruction; after: among and behind the copies; mask: compares
    and selects among them.
    """
    total = 34 + 3.3 * copies + 2.5 * mmas + 3.75 * wide
    before, between = 32.0, 2.5 * mmas
    return Counts(before, between, max(total - before - between - copies, 4.0), (22 + 1.5 * copies) if masked else 0.0)


def wide_multiplies(stages: int, b_copies: int) -> int:
    """64-bit address updates per thread and step: address registers are recomputed when few stages keep too little distance."""
    if b_copies < 4:
        return 0
    return {2: 2 * b_copies, 3: b_copies}.get(stages, 0)


def epilogue(acc: int) -> float:
    """Packing to the output type, staging through shared memory, addresses and stores (listings: 80, 136, 229 to 250)."""
    return 30 + 1.6 * acc


def epilogue_barriers(acc: int, warps: int) -> int:
    """Barriers of the staging (listings: 8 for 128 accumulators with 4 warps, 4 with 8 warps)."""
    return max(2, acc // 4 // warps)


def registers(acc: int, copies: int) -> int:
    """Registers per thread of a pipelined step before the limit (80 compiled configurations: median error 4 %)."""
    return acc + 4 * copies + (8 if acc >= 128 else 16)


def serial_registers(acc: int, data: int, addresses: int, for_two: int) -> int:
    """Registers per thread of a step that loads to registers, before the limit: accumulators, loaded data, addresses.

    The compiler stays at `for_two`, with which two CTAs fit an SM, when it is near (listings of 8 warps: 122 to 128 where
    132 to 140 are wanted).
    """
    wanted = acc + data + 2 * addresses + (42 if acc >= 128 else 30)
    return for_two if for_two < wanted <= for_two * 9 // 8 else wanted


def load_rounds(taken: int, vectors: int, data: int, held: int) -> int:
    """Bursts into which loads to registers are cut when their `data` registers do not fit beside the `taken` ones in the
    `held` registers of a thread; a loop takes 14 registers and an address for each of the `vectors` (listings of 14 loops without a pipeline and their
    registers: the bursts of 11, one less than seen in three)."""
    return -(-data // max(4, held - taken - 14 - 2 * vectors))


#: data registers in flight at once where addresses themselves come from spilled registers
SPILLED_WINDOW = 4
#: share of the prologue that stands before the first copy (listings: 0.49 to 0.60); the rest runs while the copies are under way
BEFORE_FIRST_COPY = 0.55
#: instructions per narrow piece besides its load: a compare for the mask and packing into vectors (listing: 96 loads, 96 + 144)
NARROW_INSTRUCTIONS = 2.5
#: accesses to local memory per spilled register and step (listing: 224 spills, 316 loads, 216 stores)
SPILL_LOADS, SPILL_STORES = 1.4, 1.0
#: instructions of a step without a pipeline besides loads, stores and matrix instructions: some; for each vector the address before its load, each
#: from the one before it (with four warps, and so twice the vectors, a step takes 25 to 50 cycles longer a vector than with eight); and some for each
#: vector that run while the tensor cores work (counters of 32 kernels: 3.7 a vector in all)
SERIAL_INSTRUCTIONS, SERIAL_ADDRESSES, SERIAL_AMONG = 6.0, 3.0, 0.7
#: shared-memory passes of stores that fill a swizzled tile, over the least possible (counters: 1.1 to 1.4)
STAGING_PASSES = 1.25
