"""Why a field that no row determines keeps the base's value. First match wins; a prefix stands for all below it."""

from __future__ import annotations

#: (prefix of the path, reason)
REASONS: tuple[tuple[str, str], ...] = (
    ("name", "says what the chip is"),
    ("architecture", "says what the chip is"),
    ("compute_capability", "says what the chip is"),
    ("peak", "published rates, not measured ones"),
    ("chip.merge", "shows only in counters of requests that reach L2"),
    ("chip.clusters.max_ctas", "published, the same for the compute capability"),
    ("chip.clusters", "follows only from simulating the barriers and copies of clusters, or is published"),
    ("chip.gpcs_dealt_first", "shows only in start stamps of small grids"),
    ("sm.copy", "shows only in counters of whole kernels"),
    ("sm.l1_protected", "needs lines that are loaded twice, and others once"),
    ("sm.l1_open", "needs lines that are loaded twice, and others once"),
    ("sm.carveouts", "published; the staircase is measured at both ends only"),
    ("sm.subcores", "says what the chip is"),
    ("sm.max_registers_per_thread", "published, the same for the compute capability"),
    ("sm.register_granule", "shows only in how many CTAs of kernels with different registers fit"),
    ("sm.shared_granule", "shows only in how many CTAs with different shared memory fit"),
    ("sm.fence", "not isolated by a microbenchmark"),
    ("sm.l1_and_shared", "published; L1's own staircase shows what is left beside shared memory and tags"),
    ("simt.register_ports", "needs the registers that the compiler gave the chain"),
    ("simt.latency", "assumed on the base; no record isolates it"),
    ("simt.interval", "assumed on the base; no record isolates it"),
    ("simt.warp", "shows only in counters of empty grids"),
    ("simt.cta_end", "shows only in counters of empty grids"),
    ("simt.cold", "shows only in counters of small grids"),
    ("simt.constant_gap", "shows only in stall samples"),
    ("simt.constant_line", "needs chases in steps of a word"),
    ("simt.constant_ways", "needs footprints between those that are measured"),
    ("simt.uniform_constants", "needs footprints between those that are measured"),
    ("simt.constant_address", "no record loads from different constant addresses"),
    ("simt.queue", "no record isolates it"),
    ("simt.l2_wait", "follows only from simulating loads of many warps at once"),
    ("simt.dram_wait", "follows only from simulating loads of many warps at once"),
    ("simt.page", "follows only from simulating a load of 32 pages"),
    ("simt.atomic_latency", "needs a word whose home is known"),
    ("simt", "follows only from simulating the divergent loops, not from one record"),
    ("tensor.wgmma", "no record of this format, or shows only beside other instructions"),
    ("copy_engines", "says what the chip is"),
    ("tensor.mma_sync.ldmatrix", "says what the chip is"),
    ("l2.part_share", "shows only in counters of DRAM reads for sectors written in part"),
    ("l2.evict_latency", "shows only where launches are timed behind clean and behind dirty lines"),
    ("l2.dirty_share", "shows only in counters of write-backs"),
    ("l2", "says what the chip is"),
    ("dram.stacks", "says what the chip is"),
    ("dram.piece", "follows only from a series of strides, by comparison of models"),
    ("dram.write_batch", "follows only from simulating mixes of reads and writes"),
    ("dram.standard", "says what the chip is"),
    ("dram.burst_spread", "shows only in launches of many CTAs"),
    ("launch.cta_change", "shows only where a CTA stamps its end and the next one its start"),
    ("launch", "events around an empty grid hold overhead and start together"),
)


def reason(path: str) -> str:
    """The reason for `path`; a general one for a field that is newer than this table."""
    return next((text for prefix, text in REASONS if path.startswith(prefix)), "no microbenchmark here determines it")
