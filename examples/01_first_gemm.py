"""
A first matrix product
======================

One call simulates one launch: a product of two 2048 x 2048 matrices on an H200. No GPU is needed.
"""

import gpusim as gs

# %%
# A kernel is data: its tensors, its grid of blocks, and what one block does. Printing it shows the program.

program = gs.kernels.gemm(2048, 2048, 2048, tile=(256, 128, 64))
print(program)

# %%
# `gs.run` simulates it. The report prints as a block of text, and a notebook shows it as a table.

report = gs.run(program, gpu="h200")
print(report)

# %%
# Every number is an attribute. What the run cannot know is None and never 0.

print(f"{report.time_us:.1f} us, {report.waves} wave of {report.ctas} blocks, {report.fraction_of_peak:.0%} of peak")
print(f"bottleneck: {report.bottleneck}; bytes read from DRAM: {report.traffic['dram_read_bytes']:,}")

# %%
# To put a measurement beside the model, `detailed` prints each counter with its unit, its meaning and its name
# in Nsight Compute.

print(report.detailed())
