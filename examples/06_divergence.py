"""
Divergence
==========

The 32 threads of a warp share one instruction stream. Where they take different ways, the ways run one after the other, and the lanes that
do not take part sit idle. Here it can be seen.
"""

import numpy as np

import gpusim as gs
from gpusim import cuda

# %%
# How long a number takes to reach 1 by halving or 3 n + 1 is anybody's guess, so neighbouring threads need different numbers of steps.


@cuda.jit
def collatz(start, steps):
    i = cuda.grid(1)
    if i < start.size:
        n = start[i]
        count = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            count += 1
        steps[i] = count


rng = np.random.default_rng(0)
mixed = rng.integers(1, 1000, 262_144).astype(np.int64)
steps = np.zeros(262_144, np.int64)
report = gs.run(collatz, gpu="h100", grid=1024, block=256, args=(mixed, steps))
print(report)

# %%
# Which line costs what: `lanes` is the mean number of active threads of 32.

print(report.source_view())

# %%
# The active lanes of a few warps over time. Colours are source lines; the marks show where lanes meet again.

report.plot_divergence("divergence.png")

# %%
# The same numbers, sorted by how long they take: neighbours now agree, the lanes stay busy, and the same work takes less time. (With few
# blocks it would not: then the longest chain of steps decides, and sorting cannot shorten that.)

ordered = mixed[np.argsort(steps)]
better = gs.run(collatz, gpu="h100", grid=1024, block=256, args=(ordered, steps))
print(f"mixed:  {report.active_threads:4.1f} active threads, {report.cycles:8.0f} cycles")
print(f"sorted: {better.active_threads:4.1f} active threads, {better.cycles:8.0f} cycles")
