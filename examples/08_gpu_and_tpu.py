"""
The same product on GPUs and TPUs
=================================

A GPU has hundreds of small matrix units and hides latency with many warps; a TPU has a few large arrays, a large memory that its program manages, and
copies that run ahead. The program is the same; `gs.compare` puts the reports side by side.
"""

import gpusim as gs
from gpusim.parts.systolic_frames import frames
from gpusim.report import systolic

# %%
# A large product suits both. The tile is left open: each device takes its own.

large = gs.compare(gs.kernels.gemm(4096, 4096, 4096), ["a100", "h100", "tpu-v4", "tpu-v5p"])
print(large)

# %%
# Few rows do not. The weights of a layer are 4096 x 4096; m is the number of tokens. Decoding takes 8 to 64 of them at once, prefill thousands. A
# chip reaches its peak only where every weight that it reads is used for many tokens.

chips = ["h100", "tpu-v5e", "tpu-v6e"]
df = gs.sweep(gs.kernels.gemm, gpu=chips, m=[8, 64, 256, 1024, 4096], n=4096, k=4096)
share = (100 * df.pivot(index="m", columns="gpu", values="fraction_of_peak")).round(1)
print("share of the published peak, %")
print(share.to_string())
print("time, us")
print(df.pivot(index="m", columns="gpu", values="time_us").round(1).to_string())

# %%
# Why the steps of a TPU's grid must be large: every step costs scalar work, and fills and drains the arrays.

ladder = {b: gs.run(gs.kernels.gemm(4096, 4096, 4096, tile=b), gpu="tpu-v5e") for b in ("128x128x128", "256x256x256", "512x512x512", "512x1024x1024")}
for block, report in ladder.items():
    lost = report.stalls["fill_drain"] + report.stalls["step"]
    print(f"block {block:14} {report.run.counters['grid_steps']:6} steps {100 * report.fraction_of_peak:5.1f} % of peak, {100 * lost:4.1f} % lost to steps")

# %%
# Columns come in whole squares of weights: 129 cost as much as 256.

for n in (64, 128, 129, 256):
    report = gs.run(gs.kernels.gemm(16384, n, 4096, tile=f"1024x{128 if n <= 128 else 256}x4096"), gpu="tpu-v5e")
    print(f"{n:4} columns: the arrays multiply for {report.bounds['MXU'] / report.clock_mhz:6.1f} us, of which {100 * report.useful_share:5.1f} % is useful")

# %%
# What a pass is, on an array small enough to watch: weights move in, rows run through, the next weights wait behind them.

print(systolic.text(list(frames(dim=3, rows=5, passes=2))))
systolic.plot(list(frames(dim=8, rows=16, passes=2)), "systolic.png")
