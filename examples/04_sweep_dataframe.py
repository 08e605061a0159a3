"""
A sweep is a table
==================

`gs.sweep` runs a kernel at every combination of its axes and returns a pandas DataFrame: one row a point, one column a number.
"""

import tempfile
from pathlib import Path

import gpusim as gs

# %%
# A list or a range is an axis; the name of another parameter follows it; anything else is one value. With `cache`, a finished
# point is kept at once: an interrupted sweep goes on where it stopped, and a repeated one costs nothing.

cache = Path(tempfile.mkdtemp()) / "points.jsonl"
axes = {"m": range(1024, 3073, 1024), "n": "m", "k": 1024, "tile": ["128x128x64", "256x128x64"]}
df = gs.sweep(gs.kernels.gemm, gpu=["a100", "h100"], cache=cache, **axes)
print(df[["gpu", "m", "tile", "time_us", "tflops", "bottleneck"]].to_string(index=False))

# %%
# Which tile is best for each size?

best = df.loc[df.groupby(["gpu", "m"])["time_us"].idxmin()]
print(best[["gpu", "m", "tile", "tflops"]].to_string(index=False))

# %%
# Tables of pandas answer the rest: how much faster is the newer machine?

times = best.pivot(index="m", columns="gpu", values="time_us")
print((times["a100-sxm-80gb"] / times["h100-sxm"]).round(2).to_string())
