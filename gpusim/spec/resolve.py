"""GpuSpec + SM clock -> Machine: everything in SM cycles and bytes per SM cycle. The only unit conversion.

What lives in nanoseconds or bytes per second (DRAM, L2 bandwidth, launch) is converted at the clock of the launch, so that a
slower SM clock leaves it unchanged in time.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import GpusimError
from gpusim.spec.device import Bulk, Clusters, Dram, GpuSpec, MmaSync, Simt, Wgmma
from gpusim.spec.hbm import hbm_timings


@dataclass(frozen=True, slots=True)
class SimtCosts:
    """`spec.simt` with rates per cycle; the fields are described there."""

    interval: dict[str, float]
    latency: dict[str, float]
    gap: dict[str, float]
    fma_halves: int
    guard_latency: float
    pipe_change: float
    register_ports: int
    branch: float
    branch_fetch: float
    split: float
    side_switch: float
    shuffle_index: float
    constant_gap: float
    barrier: float
    code_buffer: int
    code_fetch: float
    queue: float
    latency_per_wavefront: float
    constant_address: float
    constant_line: int
    constant_cache: int
    constant_ways: int
    constant_miss: float
    uniform_constants: int
    uniform_constant_miss: float
    warp_launch: float
    warp_start: float
    warp_end: float
    cta_end: float
    cold_start: float
    cold_line: float
    l2_request_rate: float
    l2_wait: float
    dram_wait: float
    page: float
    dram_spread: float
    atomic_latency: float
    atomic_step: float
    atomic_rate: float


@dataclass(frozen=True, slots=True)
class Noc:
    """Where GPCs stand and how far slices are. side, cpc: of each GPC, and of its first TPC. near, far: cycles by CPC; spread: cycles either way."""

    gpc_side: tuple[int, ...]
    gpc_cpc: tuple[int, ...]
    near: tuple[float, ...]
    far: tuple[float, ...]
    spread: float


@dataclass(frozen=True, slots=True)
class DramTimes:
    """Device memory at one SM clock: cycles, bytes, bytes per cycle. What the fields mean for time: parts/dram.py.

    rate: what long reads reach, whole chip. turnaround: that the bus moves nothing while it turns from reading to writing and back.
    refresh_interval: between refreshes of any two banks of a pseudo-channel; refresh: that a bank is away. row_open, row_miss, row_conflict:
    from the first command to the last beat of a burst whose row is open, whose bank is closed, whose bank has another row open.
    """

    pseudo_channels: int
    rate: float
    atom: int
    burst: int
    piece: int
    banks: int
    open_share: float
    activate_window: float
    activate_gap: float
    turnaround: float
    write_batch: float
    refresh_interval: float
    refresh_gap: float
    refresh: float
    latency: float
    row_open: float
    row_miss: float
    row_conflict: float


@dataclass(frozen=True, slots=True)
class Machine:
    """A GPU at one SM clock. Rates are per cycle, latencies in cycles, sizes in bytes."""

    name: str
    clock_hz: float
    gpc_sms: tuple[int, ...]
    gpc_half: tuple[int, ...]
    gpc_number: tuple[int, ...]
    sms_per_tpc: int
    gpcs_dealt_first: int
    gpc_rate_per_sm: float
    gpc_rate: float
    merge_requests: int
    merge_window: float
    merge_together: float
    merge_steps: float
    merge_drift: float
    merge_queue_share: float
    noc: Noc
    subcores: int
    issue_lanes: int
    fma_lanes: int
    threads: SimtCosts | None
    alu_lanes: int
    alu_latency: float
    shared_latency: float
    shared_rate: float
    l1_bytes: int
    carveouts: tuple[int, ...]
    l1_reserved: int
    l1_ways: int
    l1_protected: int
    l1_open: int
    l1_line_rate: float
    copy_queue: float
    copy_jitter: float
    l1_latency: float
    fill_rate: float
    store_rate: float
    barrier_base: float
    barrier_per_warp: float
    fence: float
    mma_sync: MmaSync
    wgmma: Wgmma | None
    cp_async: bool
    cp_async_latency: float
    bulk: Bulk | None
    clusters: Clusters | None
    halves: int
    half_bytes: float
    dirty_bytes: float
    evict_latency: float
    line: int
    sector: int
    l2_latency: float
    far_latency: float
    l2_read_rate: float
    l2_write_rate: float
    dram_rate: float
    dram_latency: float
    dram_spread: float
    dram_atom: int
    dram: DramTimes
    launch_overhead: float
    launch_start: float
    start_spread: float
    cold_fetch: float
    per_cta: float
    cta_change: float

    @property
    def simt(self) -> SimtCosts:
        """What issuing threads costs. Raises GpusimError for a machine that does not say."""
        if self.threads is None:
            raise GpusimError(f"{self.name} has no section 'simt', so thread kernels cannot be timed on it", hint="add it, or give a `base:` that has it")
        return self.threads

    @property
    def alu_slots(self) -> float:
        """Issue slots of an integer or logic instruction: it occupies its narrower pipe for so many cycles."""
        return max(1.0, self.subcores * self.issue_lanes / self.alu_lanes)

    @property
    def fma_slots(self) -> float:
        """The same for an fp32 multiply-add."""
        return max(1.0, self.subcores * self.issue_lanes / self.fma_lanes)

    @property
    def sms(self) -> int:
        return sum(self.gpc_sms)


def _simt(simt: Simt, hz: float) -> SimtCosts:
    given = {name: getattr(simt, name) / hz for name in ("l2_request_rate", "atomic_step", "atomic_rate")}
    ns = hz * 1e-9
    given |= {name: getattr(simt, name) * ns for name in ("l2_wait", "dram_wait", "dram_spread")}
    same = {name: getattr(simt, name) for name in SimtCosts.__dataclass_fields__ if name not in given}
    tables = {name: {key.replace("_", "."): value for key, value in same[name].items()} for name in ("interval", "latency", "gap")}
    return SimtCosts(**{**same, **tables}, **given)


def dram_times(dram: Dram, hz: float) -> DramTimes:
    """`dram` and the row of its standard, in cycles of a clock of `hz`."""
    row, ns, pseudo_channels = hbm_timings(dram.standard), hz * 1e-9, 2 * dram.channels
    column = row.burst_bytes / dram.bandwidth * pseudo_channels * hz
    read = row.cl * ns + column
    return DramTimes(
        pseudo_channels=pseudo_channels,
        rate=dram.bandwidth * dram.efficiency / hz,
        atom=dram.atom,
        burst=row.burst_bytes,
        piece=dram.piece,
        banks=row.banks,
        open_share=dram.open_share,
        activate_window=dram.activate_window * ns,
        activate_gap=row.rrd_short * ns,
        turnaround=max(0.0, (row.read_write + row.write_read) * ns - 2.0 * column),
        write_batch=dram.write_batch,
        refresh_interval=row.refi / row.banks * ns,
        refresh_gap=row.rrefd * ns,
        refresh=row.rfc_bank * ns,
        latency=dram.latency * ns,
        row_open=read,
        row_miss=read + row.rcd_read * ns,
        row_conflict=read + (row.rp + row.rcd_read) * ns,
    )


def resolve(spec: GpuSpec, clock_mhz: float) -> Machine:
    """`spec` at an SM clock of `clock_mhz` MHz."""
    hz = clock_mhz * 1e6
    ns = hz * 1e-9
    sm, l2, dram = spec.sm, spec.l2, spec.dram
    return Machine(
        name=spec.name,
        clock_hz=hz,
        gpc_sms=spec.chip.gpc_sms,
        gpc_half=spec.chip.gpc_half,
        gpc_number=spec.chip.gpc_number or tuple(range(len(spec.chip.gpc_sms))),
        sms_per_tpc=spec.chip.sms_per_tpc,
        gpcs_dealt_first=spec.chip.gpcs_dealt_first,
        gpc_rate_per_sm=spec.chip.gpc_bytes_per_cycle_per_sm,
        gpc_rate=spec.chip.gpc_bytes_per_cycle,
        merge_requests=spec.chip.merge_requests,
        merge_window=spec.chip.merge_window,
        merge_together=spec.chip.merge_together,
        merge_steps=spec.chip.merge_steps,
        merge_drift=spec.chip.merge_drift,
        merge_queue_share=spec.chip.merge_queue_share,
        noc=Noc(spec.chip.gpc_side, spec.chip.gpc_cpc, l2.near, l2.far, l2.slice_spread),
        subcores=sm.subcores,
        issue_lanes=32,
        fma_lanes=sm.fma_lanes,
        threads=None if spec.simt is None else _simt(spec.simt, hz),
        alu_lanes=sm.alu_lanes,
        alu_latency=sm.alu_latency,
        shared_latency=sm.shared_latency,
        shared_rate=sm.shared_bytes_per_cycle,
        l1_bytes=sm.l1_and_shared,
        carveouts=sm.carveouts,
        l1_reserved=sm.l1_reserved,
        l1_ways=sm.l1_ways,
        l1_protected=sm.l1_protected,
        l1_open=sm.l1_open,
        l1_line_rate=sm.l1_lines_per_cycle,
        copy_queue=sm.copy_queue,
        copy_jitter=sm.copy_jitter,
        l1_latency=sm.l1_latency,
        fill_rate=sm.fill_bytes_per_cycle,
        store_rate=sm.store_bytes_per_cycle,
        barrier_base=sm.barrier_base,
        barrier_per_warp=sm.barrier_per_warp,
        fence=sm.fence,
        mma_sync=spec.tensor.mma_sync,
        wgmma=spec.tensor.wgmma,
        cp_async=spec.copy_engines.cp_async,
        cp_async_latency=spec.copy_engines.cp_async_latency,
        bulk=spec.copy_engines.bulk,
        clusters=spec.chip.clusters,
        halves=l2.halves,
        half_bytes=l2.capacity * l2.usable / l2.halves,
        evict_latency=l2.evict_latency * ns,
        dirty_bytes=l2.capacity * l2.dirty_share / l2.halves,
        line=l2.line,
        sector=l2.sector,
        l2_latency=l2.hit_latency,
        far_latency=l2.far_latency,
        l2_read_rate=l2.read_bandwidth / hz,
        l2_write_rate=l2.write_bandwidth / hz,
        dram_rate=dram.bandwidth * dram.efficiency / hz,
        dram_latency=dram.latency * ns,
        dram_spread=dram.burst_spread * ns,
        dram_atom=dram.atom,
        dram=dram_times(dram, hz),
        launch_overhead=spec.launch.overhead * ns,
        launch_start=spec.launch.start * ns,
        start_spread=spec.launch.start_spread * ns,
        cold_fetch=spec.launch.cold_fetch * ns,
        per_cta=spec.launch.per_cta * ns,
        cta_change=spec.launch.cta_change,
    )
