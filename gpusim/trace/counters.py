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
    "tensor_fma": Meaning("FMA", "", "multiply-adds done by tensor cores, padding included"),
    "l1_load_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors (32 bytes) requested by loads and copies"),
    "l1_store_sectors": Meaning("sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors written by the SMs"),
    "shared_wavefronts": Meaning("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "passes of 128 bytes through the shared-memory port"),
    "merged_sectors": Meaning("sectors", "", "sectors requested while another SM of the GPC had them in flight: they never reach L2"),
    "l2_read_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_op_read.sum", "read sectors L2 received from SMs"),
    "l2_write_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_op_write.sum", "written sectors L2 received from SMs"),
    "l2_hit_sectors": Meaning("sectors", "lts__t_sectors_srcunit_tex_lookup_hit.sum", "of the read and written ones, those that hit the near half"),
    "fabric_sectors": Meaning("sectors", "lts__t_sectors_srcunit_ltcfabric.sum", "sectors that crossed between the L2 halves"),
    "dram_read_bytes": Meaning("bytes", "dram__bytes_read.sum", "bytes read from DRAM"),
    "dram_write_bytes": Meaning("bytes", "dram__bytes_write.sum", "bytes written to DRAM"),
    "l2_dirty_bytes": Meaning("bytes", "", "written bytes that L2 still holds when the kernel ends"),
    "spill_bytes": Meaning("bytes", "smsp__inst_executed_op_local.sum", "local-memory traffic of spilled registers"),
}

Counters = dict[str, int]
