"""Raw counters of a run, with the metric of Nsight Compute that means the same. Formulas over them live in `report/`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    unit: str
    metric: str
    text: str


#: name -> what it counts. A device that has no such thing leaves the counter out; it never reads 0 for "unknown".
MEANINGS: dict[str, Meaning] = {
    "instructions": Meaning("warp instructions", "smsp__inst_executed.sum", "instructions issued by all warps"),
    "thread_instructions": Meaning("thread instructions", "smsp__thread_inst_executed.sum", "active lanes, summed over the instructions issued"),
    "branches": Meaning("warp instructions", "smsp__inst_executed_op_branch.sum", "branches, exits and points of reconvergence"),
    "alu_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_alu.sum", "integer, logic and comparisons"),
    "fma_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_fma.sum", "fp32 and integer multiply-adds"),
    "half_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_fp16.sum", "packed 16-bit arithmetic"),
    "fp64_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_fp64.sum", "fp64 arithmetic"),
    "xu_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_xu.sum", "special functions and conversions"),
    "lsu_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_lsu.sum", "memory, shuffles, thread numbers"),
    "uniform_instructions": Meaning("warp instructions", "smsp__inst_executed_pipe_uniform.sum", "one value for a warp"),
    "tensor_instructions": Meaning("warp instructions", "sm__inst_executed_pipe_tensor.sum", "warp-level matrix instructions"),
    "tensor_fma": Meaning("FMA", "", "multiply-adds done by tensor cores or systolic arrays, padding included"),
    "l1_load_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors (32 bytes) requested by loads and copies"),
    "l1_store_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors written by the SMs"),
    "l1_load_requests": Meaning("requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "warp-level loads from global memory"),
    "l1_store_requests": Meaning("requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "warp-level stores to global memory"),
    "l1_hit_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "loaded sectors that L1 had"),
    "global_atomic_requests": Meaning("requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "warp-level atomics whose old value is used"),
    "global_atomic_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", "their sectors"),
    "global_red_requests": Meaning("requests", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum", "warp-level atomics without result"),
    "global_red_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "their sectors"),
    "local_load_requests": Meaning("requests", "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "warp-level loads from local memory"),
    "local_load_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "their sectors"),
    "local_store_requests": Meaning("requests", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum", "warp-level stores to local memory"),
    "local_store_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum", "their sectors"),
    "bulk_copy_requests": Meaning("requests", "", "pieces of global memory that the bulk copy engine brought to shared memory"),
    "bulk_copy_sectors": Meaning("sectors", "", "their sectors, which pass L1 by"),
    "mbarrier_requests": Meaning("requests", "", "warp-level operations on mbarriers, waits once"),
    "cluster_load_requests": Meaning("requests", "", "warp-level loads from shared memory of the cluster"),
    "cluster_store_requests": Meaning("requests", "", "warp-level stores to shared memory of the cluster"),
    "cluster_atomic_requests": Meaning("requests", "", "warp-level atomics on shared memory of the cluster"),
    "shared_load_requests": Meaning("requests", "smsp__inst_executed_op_shared_ld.sum", "warp-level loads from shared memory"),
    "shared_load_wavefronts": Meaning("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "their passes"),
    "shared_load_conflicts": Meaning("wavefronts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "passes beyond what lanes side by side need"),
    "shared_store_requests": Meaning("requests", "smsp__inst_executed_op_shared_st.sum", "warp-level stores to shared memory"),
    "shared_store_wavefronts": Meaning("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "their passes"),
    "shared_store_conflicts": Meaning("wavefronts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "passes beyond what lanes side by side need"),
    "shared_atomic_requests": Meaning("requests", "smsp__inst_executed_op_shared_atom.sum", "warp-level atomics on shared memory"),
    "shared_atomic_wavefronts": Meaning("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum", "their passes"),
    "shared_wavefronts": Meaning("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "passes of 128 bytes through the shared-memory port"),
    "merged_sectors": Meaning("sectors", "", "sectors requested while another SM of the GPC had them in flight: they never reach L2"),
    "l2_read_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_op_read.sum", "read sectors L2 received from SMs"),
    "l2_write_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_op_write.sum", "written sectors L2 received from SMs"),
    "l2_atomic_sectors": Meaning("sectors", "", "sectors of atomics L2 received from SMs; they are executed at the line's home"),
    "l2_hit_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_lookup_hit.sum", "those of all these that hit the near half; stores and atomics do"),
    "l2_read_hit_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum", "read sectors that the near half had"),
    "l2_read_miss_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum", "sectors the near half fetched: whole 64-byte atoms"),
    "partial_write_sectors": Meaning("sectors", "", "of the written ones, those that a request did not write whole"),
    "fabric_sectors": Meaning("sectors", "lts__t_sectors_srcunit_ltcfabric.sum", "sectors that crossed between the L2 halves"),
    "fabric_read_sectors": Meaning("sectors", "", "of these, read from a home in the other half"),
    "fabric_write_sectors": Meaning("sectors", "", "of these, stored or updated at a home in the other half"),
    "dram_read_bytes": Meaning("bytes", "dram__bytes_read.sum", "bytes read from DRAM"),
    "dram_write_bytes": Meaning("bytes", "dram__bytes_write.sum", "bytes written to DRAM"),
    "dram_bursts": Meaning("bursts", "", "bursts that the channels moved, read and written"),
    "dram_row_hits": Meaning("bursts", "", "of these, those whose row was open"),
    "dram_turnarounds": Meaning("times", "", "changes of a channel between reading and writing"),
    "l2_dirty_bytes": Meaning("bytes", "", "written bytes that L2 still holds when the kernel ends"),
    "grid_steps": Meaning("steps", "", "iterations of the innermost loops, or blocks without loops, of all cores of a TPU"),
    "mxu_passes": Meaning("passes", "", "squares of weights that the systolic arrays of a TPU held, each as often as rows went through it"),
    "vector_operations": Meaning("registers", "", "arithmetic on whole vector registers"),
    "transcendental_operations": Meaning("registers", "", "transcendental functions of whole vector registers"),
    "cross_lane_operations": Meaning("registers", "", "vector registers that were reduced or permuted across lanes"),
    "vmem_bytes": Meaning("bytes", "", "bytes between the vector memory of the cores and their units"),
    "dma_copies": Meaning("copies", "", "blocks that were copied into vector memory or out of it"),
    "spill_bytes": Meaning("bytes", "smsp__inst_executed_op_local.sum", "local-memory traffic of spilled registers"),
}

Counters = dict[str, int]
