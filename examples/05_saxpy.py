"""
A kernel of one's own
=====================

A kernel is a Python function that says what one thread does, spelled as in Numba. The simulator runs it, and tells how long a GPU would
take and why. No GPU is needed.
"""

import numpy as np

import gpusim as gs
from gpusim import cuda, float32

# %%
# One thread for each element: y = a x + y.


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


# %%
# The launch changes `y` in place, and the report comes with it.

n = 1 << 20
x = np.arange(n, dtype=np.float32)
y = np.ones(n, np.float32)
report = gs.run(saxpy, gpu="h100", grid=n // 256, block=256, args=(float32(2), x, y))
print(report)
print(f"y[:4] = {y[:4]}, {report.time_us:.1f} us, {report.ctas} blocks of 256 threads")

# %%
# What does an element cost if neighbouring threads read elements that lie far apart? Each warp then moves 32 bytes for every 4 that it uses.


@cuda.jit
def saxpy_strided(a, x, y, stride):
    i = cuda.grid(1)
    j = (i * stride) % x.size + (i * stride) // x.size
    y[j] = a * x[j] + y[j]


strided = gs.run(saxpy_strided, gpu="h100", grid=n // 256, block=256, args=(float32(2), x, y, 32))
print(f"in order {report.sectors_per_request:.1f} sectors a request, with stride 32 {strided.sectors_per_request:.1f}")

# %%
# The Numba way works too: the device is the current one, and the report waits in the kernel.

cuda.set_gpu("h200")
saxpy[n // 256, 256](float32(2), x, y)
print(saxpy.report.gpu, f"{saxpy.report.time_us:.1f} us")
