"""
Change one number
=================

An architect asks: what if an H100 had a quarter of the memory bandwidth, or a tenth of the L2? A machine of your own is a YAML file with a
`base` and what differs; every other number, and its source, comes from the base.
"""

import tempfile
from pathlib import Path

import gpusim as gs

folder = Path(tempfile.mkdtemp())
(folder / "slow-memory.yaml").write_text("base: h100-sxm\ndram:\n  bandwidth: 840GB/s\n")
(folder / "small-l2.yaml").write_text("base: h100-sxm\nl2:\n  capacity: 5MiB\n")

# %%
# A path stands wherever a name may stand. Small tiles read their operands often, so this kernel feels the memory.

program = gs.kernels.gemm(2048, 2048, 2048, tile=(128, 64, 64))
for gpu in ("h100", folder / "slow-memory.yaml", folder / "small-l2.yaml"):
    report = gs.run(program, gpu=gpu)
    print(f"{report.gpu:12} {report.time_us:7.1f} us, {report.dram_read_bytes / 1e6:5.0f} MB read from DRAM, bottleneck {report.bottleneck}")

# %%
# The provenance tells a changed number from an inherited one.

spec = gs.load_spec(folder / "slow-memory.yaml")
print(spec.dram.bandwidth, "-", spec.provenance["dram.bandwidth"])
print(spec.l2.capacity, "-", spec.provenance["l2.capacity"])
