"""
The wave cliff
==============

Why does a matrix product of 1793 take twice as long as one of 1792? A GPU works on as many tiles at once as it has slots. On an
A100 with tiles of 256 x 128 there are 108 slots. 1792 needs 98 tiles: one wave. 1793 needs 120: one wave of 108, and one of 12.
"""

import gpusim as gs

TILE = (256, 128, 32)


def product(n: int) -> gs.Report:
    return gs.run(gs.kernels.gemm(n, n, n, tile=TILE), gpu="a100")


# %%
# One row more, and the machine works a second time, with 96 of its 108 SMs idle.

fits, spills = product(1792), product(1793)
for n, report in ((1792, fits), (1793, spills)):
    print(f"{n}: tiles {report.ctas}, waves {report.waves}, in the last {report.tail_ctas}, {report.time_us:.1f} us, {report.tflops:.0f} TFLOP/s")
print(f"{spills.time_us / fits.time_us:.2f} times the time")

# %%
# The report says so itself.

print(spills.bottleneck, "-", spills.advice)

# %%
# Drawn over the size, the rate is a saw: it climbs until the slots are full, and falls when a wave is added. Every cliff is
# labelled with the number of tiles, of waves, and of tiles in the last wave.

df = gs.sweep(gs.kernels.gemm, gpu="a100", m=range(1536, 2305, 128), n="m", k="m", tile=TILE, plot="wave-cliff.png")
print(df[["m", "ctas", "waves", "tail_ctas", "time_us", "tflops"]].to_string(index=False))
