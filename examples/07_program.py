"""
Several launches, one L2
========================

What a launch leaves in L2, the next one need not read from DRAM. `gs.program` takes launches in order and keeps the L2 between them.
"""

import numpy as np

import gpusim as gs
from gpusim import cuda

# %%
# One kernel writes an array, the next one reads it.


@cuda.jit
def produce(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = i


@cuda.jit
def scale(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = np.float32(0.5) * x[i]


def both(megabytes, **options):
    n = (megabytes << 20) // 4
    x, y = np.zeros(n, np.float32), np.zeros(n, np.float32)
    shape = {"grid": n // 256, "block": 256}
    launches = [gs.Launch(produce, args=(x,), **shape), gs.Launch(scale, args=(x, y), **shape)]
    return gs.program(launches, gpu="h200", values=False, **options)


# %%
# 16 MB stay in the 60 MB of L2; of 128 MB nothing is left when the second kernel asks for it.

small, large = both(16), both(128)
print(small)
print()
print(large)
print(f"scale reads {small.launches[1].dram_read_bytes >> 20} of 16 MB from DRAM, and {large.launches[1].dram_read_bytes >> 20} of 128")

# %%
# Alone, with nothing in L2, the second kernel reads every byte.

n = 4 << 20
alone = gs.run(scale, gpu="h200", grid=n // 256, block=256, args=(np.zeros(n, np.float32), np.zeros(n, np.float32)), values=False)
print(f"alone {alone.dram_read_bytes >> 20} MB, {alone.time_us:.1f} us; behind produce {small.launches[1].time_us:.1f} us")

# %%
# What events around both launches see: in one graph the device has the second launch at hand, from the host each costs microseconds.

for submit in ("graph", "stream"):
    tiny = both(1, launch="in", submit=submit)
    print(f"{submit:6}  {tiny.time_us:.1f} us, of which {tiny.between_us:.1f} us between and around the launches")
