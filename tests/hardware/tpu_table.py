"""Published times of TPUs beside simulated ones: `python -m tests.hardware.tpu_table`."""

from __future__ import annotations

import gpusim as gs
from tests.hardware.test_tpu_published import DATA, one_core


def main() -> None:
    """Print a line for each published time."""
    print("v5e, Pallas, wall clock, TFLOP/s")
    for c in DATA["v5e"]:
        here = gs.run(gs.kernels.gemm(c["size"], c["size"], c["size"], tile=c["tile"]), gpu="tpu-v5e", launch="in").tflops
        print(f"  {c['tile']:>14} {c['size']:5}^3 {c['value']:8.2f} {here:8.2f} {here / c['value'] - 1:+7.1%}")
    for name, gpu in (("v6e", "tpu-v6e"), ("v4", one_core("tpu-v4"))):
        print(f"{name}, device time, us" + (", one core assumed" if name == "v4" else ""))
        for c in DATA[name]:
            here = gs.run(gs.kernels.gemm(c["m"], c["n"], c["k"]), gpu=gpu).time_us
            print(f"  {c['m']:5} x {c['n']:5} x {c['k']:5} {c['value']:8.2f} {here:8.2f} {here / c['value'] - 1:+7.1%}")


if __name__ == "__main__":
    main()
