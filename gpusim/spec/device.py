"""What a GPU is, in numbers: the tree that a YAML file in `configs/` fills.

Every field has a unit in its type and a meaning in its description; where each number comes from stands beside it in the
YAML and is kept in `GpuSpec.provenance`. Nothing here is derived: `resolve.py` turns it into cycles and bytes per cycle.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpusim.spec.part import Part
from gpusim.spec.power import Power
from gpusim.spec.units import Bytes, BytesPerSecond, Fraction, Hertz, Nanoseconds, OpsPerSecond, Plain

Count = Annotated[int, Plain, Field(gt=0)]
HbmStandard = Literal["HBM2", "HBM2e", "HBM3", "HBM3e"]
Half = Annotated[int, Plain, Field(ge=0, le=1)]
Cycles = Annotated[float, Plain, Field(ge=0, json_schema_extra={"unit": "cycles"})]
BytesPerCycle = Annotated[float, Plain, Field(gt=0, json_schema_extra={"unit": "B/cycle"})]
FmaPerCycle = Annotated[float, Plain, Field(gt=0, json_schema_extra={"unit": "FMA/cycle/SM"})]


class Clocks(Part):
    boost: Hertz = Field(description="SM clock without tensor work: the highest the chip runs at")
    tensor: Hertz = Field(description="SM clock from the first tensor instruction on")


class Clusters(Part):
    """CTAs of a cluster run side by side on one GPC, meet at barriers, and reach each other's shared memory."""

    max_ctas: Count = Field(description="CTAs of the largest cluster")
    sms_per_cpc: Count = Field(description="SMs of a CPC, the part of a GPC between TPC and GPC")
    barrier: Cycles = Field(description="from the last arrival until the warps of a CTA that is its own cluster go on, without sm.barrier_per_warp")
    barrier_level: Cycles = Field(description="added for a cluster that spans a TPC, again for one that spans a CPC, again for a GPC")
    fence: Cycles = Field(description="cycles of an SM for each warp that makes its writes known before it arrives")
    own_latency: Cycles = Field(description="load from the CTA's own shared memory through an address of the cluster")
    remote_latency: Cycles = Field(description="load from another CTA's shared memory")
    remote_bytes_per_cycle: BytesPerCycle = Field(description="what an SM receives from other SMs of its cluster")


class Chip(Part):
    gpc_sms: tuple[Count, ...] = Field(min_length=1, description="SMs in each GPC, in the order in which blocks are dealt to GPCs")
    gpc_half: tuple[Half, ...] = Field(description="the L2 half (0 or 1) each GPC belongs to")
    gpc_side: tuple[Half, ...] = Field(default=(), description="the side of the chip each GPC stands on; with gpc_cpc and l2.near it says how far slices are")
    gpc_cpc: tuple[Annotated[int, Plain, Field(ge=0)], ...] = Field(
        default=(), description="the CPC (TPCs that share a way out of the GPC) of each GPC's first TPC; the others follow in turn"
    )
    gpc_number: tuple[Annotated[int, Plain, Field(ge=0)], ...] = Field(
        default=(),
        description="the GPC that each entry of gpc_sms is part of, where one is dealt to in two parts; thread kernels merge requests in the whole of it",
    )
    clusters: Clusters | None = Field(default=None, description="clusters of CTAs; absent on chips without")
    sms_per_tpc: Count = Field(description="SMs that share a TPC and get consecutive blocks")
    gpcs_dealt_first: Annotated[int, Field(ge=0)] = Field(description="leading GPCs that a small grid fills before the others share the rest evenly")
    gpc_bytes_per_cycle_per_sm: BytesPerCycle = Field(description="read data L2 delivers into one GPC, distinct lines, for each of its SMs")
    gpc_bytes_per_cycle: Annotated[float, Plain, Field(ge=0)] = Field(
        default=0.0, description="the same of threads' loads, bytes a cycle into the whole GPC; 0: as much as its SMs together"
    )
    merge_requests: Count = Field(description="SMs of one GPC whose requests for a line in flight are served by one L2 request (1: none)")
    merge_window: Cycles = Field(description="how long after an L2 hit was requested another SM of the GPC may still join it, without queueing")
    merge_together: Fraction = Field(description="share of the requests that could merge which do, while CTAs run in step (thread kernels)")
    merge_steps: Annotated[float, Field(gt=0)] = Field(
        description="steps of its loop after which a CTA that shares its SM has drifted away from the others (thread kernels)"
    )
    merge_drift: Annotated[float, Field(gt=0)] = Field(
        description="loop steps after which half of the CTAs that share their SMs are out of step with those that read the same tiles (tile kernels)"
    )
    merge_queue_share: Fraction = Field(description="share of a request's wait for L2 bandwidth during which another SM of the GPC may still join it")


class Sm(Part):
    subcores: Count = Field(description="SM partitions, each with one warp scheduler that issues one instruction per cycle")
    max_warps: Count = Field(description="resident warps of an SM")
    max_ctas: Count = Field(description="resident CTAs of an SM")
    registers: Count = Field(description="32-bit registers")
    max_registers_per_thread: Count = Field(description="registers one thread can address")
    register_granule: Count = Field(description="registers are given to a warp in multiples of this")
    shared_max: Bytes = Field(description="shared memory of an SM at the largest carve-out")
    shared_max_per_cta: Bytes = Field(description="largest shared memory one CTA may ask for")
    shared_reserved_per_cta: Bytes = Field(description="shared memory the system takes of each CTA")
    shared_granule: Bytes = Field(description="shared memory is given in multiples of this")
    l1_and_shared: Bytes = Field(description="the SRAM that L1 and shared memory divide")
    carveouts: tuple[Bytes, ...] = Field(default=(), description="bytes of it that can be set aside for shared memory; none: any")
    l1_reserved: Bytes = Field(default=0, description="bytes of it that neither gets")
    l1_ways: Annotated[int, Plain, Field(ge=0)] = Field(default=0, description="lines of a set of the largest L1; 0: one order over all lines")
    l1_protected: Bytes = Field(default=0, description="lines touched twice that those touched once cannot displace, at most")
    l1_open: Bytes = Field(default=0, description="of L1, what such lines never take")
    fma_lanes: Count = Field(description="fp32 FMA per cycle of the SM")
    alu_lanes: Count = Field(description="integer and logic operations per cycle of the SM")
    xu_lanes: Count = Field(description="special functions per cycle of the SM")
    lsu_lanes: Count = Field(description="load/store lanes of the SM")
    alu_latency: Cycles = Field(description="dependent issue of an ordinary instruction")
    shared_latency: Cycles = Field(description="a shared-memory load without conflicts")
    l1_latency: Cycles = Field(description="an L1 hit")
    shared_bytes_per_cycle: BytesPerCycle = Field(description="shared memory, no conflicts")
    copy_queue: Annotated[float, Field(ge=0, json_schema_extra={"unit": "lines"})] = Field(
        description="lines of asynchronous copies that wait for the L1 tag stage without holding the warps that issued them"
    )
    copy_jitter: Fraction = Field(description="how much longer or shorter than its mean a CTA's copy phase is, at most: arbitration between warps")
    l1_lines_per_cycle: Annotated[float, Field(gt=0, json_schema_extra={"unit": "lines/cycle"})] = Field(
        description="distinct lines the L1 tag stage takes per cycle"
    )
    fill_bytes_per_cycle: BytesPerCycle = Field(description="read data one SM can receive from L2")
    store_bytes_per_cycle: BytesPerCycle = Field(description="write data one SM can send to L2")
    barrier_base: Cycles = Field(description="__syncthreads: cycles of the barrier itself")
    barrier_per_warp: Cycles = Field(description="__syncthreads: additional cycles per warp of the CTA")
    fence: Cycles = Field(description="making shared-memory stores visible to the asynchronous proxy (tensor core reading shared memory)")


class Simt(Part):
    """How one SM issues the instructions of threads. Keys of `interval` and `latency`: a pipe, or a mnemonic that differs from its
    pipe, with "_" for "."."""

    interval: dict[str, Cycles] = Field(
        description="cycles that a warp instruction holds its pipe of the sub-core (fma: one half of the pipe); by pipe, mnemonic, or mnemonic_bits"
    )
    latency: dict[str, Cycles] = Field(description="cycles from issue until a dependent instruction may issue")
    gap: dict[str, Cycles] = Field(description="cycles until the warp's next instruction, dependent or not, where that is more than 1; by mnemonic")
    fma_halves: Count = Field(description="FMA pipes of a sub-core, each with 16 lanes; the second multiplies no integers")
    guard_latency: Cycles = Field(description="from the instruction that sets a predicate to one that it guards, a branch or a vote among them")
    pipe_change: Cycles = Field(description="what a result takes longer to an instruction of another pipe than to one of its own")
    register_ports: Count = Field(description="registers a sub-core reads per cycle; an operand the warp's previous instruction had as well is not read again")
    branch: Cycles = Field(description="from a branch to the warp's next instruction, whether it jumps or not")
    branch_fetch: Fraction = Field(description="share of the time behind a branch in which the warp waits for instructions, not for the branch")
    split: Cycles = Field(description="added where the lanes of a warp go both ways")
    side_switch: Cycles = Field(description="from the end of one side of a divergent branch to the first instruction of the other side")
    shuffle_index: Cycles = Field(description="what a shuffle takes longer when the lane comes from a register")
    constant_gap: Cycles = Field(
        description="from an instruction that reads special registers or constants to a load of constants, or of the CTA's number, right behind it"
    )
    barrier: Cycles = Field(description="from the last arrival at a barrier until the warps go on, without sm.barrier_per_warp for each arrival")
    code_buffer: Bytes = Field(gt=0, description="instructions a sub-core keeps at hand")
    code_fetch: Cycles = Field(description="what a jump to an instruction that is not at hand takes longer")
    queue: Cycles = Field(description="work for the SM's memory pipeline that may wait before a sub-core must hold back more of it")
    latency_per_wavefront: Cycles = Field(description="latency of a shared-memory access for each wavefront after the first")
    constant_address: Cycles = Field(description="cycles in which the SM's constant memory serves one of the different addresses of a load by index")
    constant_line: Bytes = Field(gt=0, description="bytes under one tag of the constant caches")
    constant_cache: Bytes = Field(description="the SM's cache for loads of constants by index")
    constant_ways: Count = Field(description="lines of a set of that cache")
    constant_miss: Cycles = Field(description="what a load of a constant by index takes longer where that cache lacks it")
    uniform_constants: Annotated[int, Plain, Field(ge=0)] = Field(description="lines of constants that the uniform pipe keeps at hand")
    uniform_constant_miss: Cycles = Field(description="what a load of a constant to a uniform register takes longer where it is not at hand")
    warp_launch: Cycles = Field(description="for each warp of a CTA that an SM starts, until it starts the next CTA")
    warp_start: Cycles = Field(description="that a new warp holds its place before its first instruction")
    warp_end: Cycles = Field(description="that a warp holds its place behind its last instruction, or until its stores have left the SM")
    cta_end: Cycles = Field(description="that an SM counts as active behind the last warp of a CTA")
    cold_start: Cycles = Field(description="the same before the first instruction of the launch on an SM; part of launch.start")
    cold_line: Cycles = Field(gt=0, description="for each 128 bytes of code, what the first warps of a launch wait for them, up to launch.cold_fetch")
    l2_request_rate: Hertz = Field(description="lines from which L2 serves sectors per second, whole chip, when each request wants one sector")
    l2_wait: Nanoseconds = Field(description="service time in the mean wait of a request for L2 behind other SMs' requests, M/D/1")
    dram_wait: Nanoseconds = Field(description="the same for DRAM")
    page: Cycles = Field(description="for each page of memory beyond the first that a request to DRAM touches")
    dram_spread: Nanoseconds = Field(
        description="standard deviation of the time that a piece of a row takes from DRAM, exponentially distributed above the quickest: banks, refresh"
    )
    atomic_latency: Cycles = Field(description="what an atomic takes longer than a load that hits at the line's home")
    atomic_step: Hertz = Field(
        description="steps of atomics per second in one slice of L2: lanes on one word one after the other, different words of a sector together"
    )
    atomic_rate: Hertz = Field(description="the same for all slices")


class MmaSync(Part):
    """Warp-level matrix instructions (HMMA): operands in registers, brought there by ldmatrix."""

    fma_per_cycle: dict[str, FmaPerCycle] = Field(description="dense FMA per cycle of the SM, by operand format")
    latency: Cycles = Field(description="from issue to the accumulator, one m16n8k16")
    ldmatrix: bool = Field(description="whether ldmatrix exists (else fragments are loaded with ordinary shared loads)")


class Wgmma(Part):
    """Warpgroup matrix instructions (HGMMA): m64nNkK, B and possibly A read from shared memory by the tensor core."""

    fma_per_cycle: dict[str, FmaPerCycle] = Field(description="dense FMA per cycle of the SM, by operand format")
    operand_base: Cycles = Field(description="an instruction that reads A from shared memory takes at least operand_base + N * operand_per_n")
    operand_per_n: Cycles = Field(description="see operand_base: additional cycles per column of B")
    latency: Cycles = Field(description="isolated latency of one instruction beyond its own cycles")
    queue: Count = Field(description="instructions of one SM that may be outstanding before the next one waits at issue")
    register_least: Cycles = Field(description="an instruction that reads A from registers takes at least so long")
    register_latency: Cycles = Field(description="latency, as above, of one that reads A from registers")
    issue_least: Cycles = Field(description="from the issue of one to the warp's next instruction, at least")
    issue_per_n: Cycles = Field(description="the same for each column of B, less issue_hidden")
    issue_hidden: Cycles = Field(description="see issue_per_n")
    wide_multiply: Cycles = Field(description="what a 64-bit multiply-add holds its warp while matrix instructions run")
    beside: dict[str, Cycles] = Field(
        default={},
        description="while matrix instructions run: cycles that an instruction of another warp holds the dispatch of its sub-core (fma; wide: 64-bit "
        "multiply-adds; other), and the alu and xu pipes; steal: tensor cycles lost to each of many FMA instructions in a row; empty: as without them",
    )
    wide_multiply_steal: Cycles = Field(description="tensor cycles lost to one 64-bit multiply-add of a warp on the same sub-core")


class Tensor(Part):
    mma_sync: MmaSync = Field(description="warp-level matrix instructions")
    wgmma: Wgmma | None = Field(default=None, description="warpgroup matrix instructions; absent on chips without")


class Bulk(Part):
    """The engine that copies pieces of global memory to shared memory, and mbarriers, at which their bytes count."""

    latency: Cycles = Field(description="a bulk copy over a plain load of its last bytes, until a thread that waits for its mbarrier goes on")
    bytes_per_cycle: BytesPerCycle = Field(description="what the engine of an SM asks for and receives")
    interval: Cycles = Field(description="from one copy that the engine takes to the next, of different warps")
    issue: Cycles = Field(description="from a copy to the next instruction of its thread")
    taken: Cycles = Field(description="from a copy until its thread may use an mbarrier again")
    mbarrier_arrive: Cycles = Field(description="from an arrival at an mbarrier until it counts")
    mbarrier_warp: Cycles = Field(description="cycles of the SM's memory pipeline for an arrival of a warp, or for its wait")
    mbarrier_wake: Cycles = Field(description="from the end of a phase until a warp that waits for it goes on")


class CopyEngines(Part):
    cp_async: bool = Field(description="whether asynchronous copies from global to shared memory exist")
    cp_async_latency: Cycles = Field(description="cp.async over a plain load to the same level")
    tma: bool = Field(description="whether the bulk copy engine exists")
    bulk: Bulk | None = Field(default=None, description="the bulk copy engine as threads use it; absent on chips without")


class L2(Part):
    capacity: Bytes = Field(gt=0, description="all of L2")
    halves: Annotated[int, Plain, Field(ge=1, le=2)] = Field(
        description="2: each SM looks in its near half; a line's home is in one half, the other keeps a copy"
    )
    usable: Fraction = Field(description="share of the capacity that LRU replacement effectively holds")
    line: Bytes = Field(gt=0, description="bytes under one tag")
    sector: Bytes = Field(gt=0, description="smallest piece L2 and the SMs exchange")
    hit_latency: Cycles = Field(description="a load that hits the near half, from issue to use")
    far_latency: Cycles = Field(description="added when the line comes from the other half")
    near: tuple[float, ...] = Field(default=(), description="cycles a hit takes beyond the mean, by CPC, in slices on the SM's own side of the chip")
    far: tuple[float, ...] = Field(default=(), description="the same in slices on the other side")
    slice_spread: Cycles = Field(default=0.0, description="how much beyond that a slice may be farther or nearer, at most")
    read_bandwidth: BytesPerSecond = Field(description="read data L2 delivers to all SMs")
    write_bandwidth: BytesPerSecond = Field(description="write data L2 takes from all SMs")
    part_share: Fraction = Field(
        description="share of the capacity that may hold lines with sectors written in part; what is beyond is read from DRAM and written back"
    )
    evict_latency: Nanoseconds = Field(description="what a read from DRAM waits for a dirty line whose place it takes (thread kernels)")
    dirty_share: Fraction = Field(description="share of the capacity that may stay dirty")


class Dram(Part):
    """High-bandwidth memory. What its standard says of commands and banks is a row of `spec/hbm.py`."""

    standard: HbmStandard = Field(description="HBM2, HBM2e, HBM3, HBM3e")
    capacity: Bytes = Field(description="all of device memory")
    bandwidth: BytesPerSecond = Field(description="pin bandwidth of all channels together")
    stacks: Count = Field(description="stacks of DRAM dies")
    channels: Count = Field(description="channels in use, all stacks together; each is two pseudo-channels, which share the bandwidth evenly")
    efficiency: Fraction = Field(description="share of the pin bandwidth that long reads reach")
    latency: Nanoseconds = Field(description="added to an L2 access that misses at the line's home")
    burst_spread: Nanoseconds = Field(description="how much later than the mean the last line of a burst of many lines arrives (banks, refresh)")
    atom: Bytes = Field(gt=0, description="smallest piece read: two bursts")
    piece: Bytes = Field(gt=0, description="consecutive bytes in one row of one pseudo-channel; the next ones lie elsewhere")
    activate_window: Nanoseconds = Field(description="a pseudo-channel activates at most four rows in this time (tFAW)")
    open_share: Fraction = Field(description="probability that another atom of a piece comes while its row is still open")
    write_batch: Count = Field(description="pieces of writes that a pseudo-channel gathers before it turns its bus around")


class Launch(Part):
    overhead: Nanoseconds = Field(description="what timing events around a launch see beyond the kernel")
    start: Nanoseconds = Field(description="from the start of the kernel's clock to the first instruction, and from the last exit to its end: an empty grid")
    start_spread: Nanoseconds = Field(description="the first CTAs of a launch start within this time of each other")
    cold_fetch: Nanoseconds = Field(description="what an SM's first CTA of a launch waits for instructions and kernel parameters that no cache holds")
    per_cta: Nanoseconds = Field(description="retiring and replacing a CTA, chip-wide")
    cta_change: Cycles = Field(description="from the last store of a CTA to the first instruction of its successor in the slot")
    between: Nanoseconds | None = Field(
        default=None, description="from the last exit of a launch to the first instruction of the next, where that waits on the device: nodes of a graph"
    )
    submit: Nanoseconds | None = Field(default=None, description="what the host takes for each launch that it puts into a stream")


class GpuSpec(Part):
    """One GPU. `peak` holds published dense rates by operand format; `validated` says whether measured kernels stand behind the model."""

    KIND: ClassVar[str] = "gpu"

    name: str
    aliases: tuple[str, ...] = ()
    architecture: str
    compute_capability: str
    validated: bool = False
    note: str = ""
    clocks: Clocks
    chip: Chip
    sm: Sm
    simt: Simt | None = Field(default=None, description="how threads are issued; absent: the machine runs tile kernels only")
    tensor: Tensor
    copy_engines: CopyEngines
    l2: L2
    dram: Dram
    launch: Launch
    power: Power | None = Field(default=None, description="energies and limits; absent: nobody knows what the chip draws, or when its clock falls")
    peak: dict[str, OpsPerSecond] = Field(description="published dense rate; bf16, fp16, tf32 of the tensor cores, fp32 and fp64 of the others")
    provenance: dict[str, str] = Field(default_factory=dict, repr=False, description="field path -> source")

    @property
    def sms(self) -> int:
        return sum(self.chip.gpc_sms)
