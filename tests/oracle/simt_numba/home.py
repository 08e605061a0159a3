"""Where `cuda` and the types come from: gpusim, or Numba where the environment variable GPUSIM_KERNELS_FROM says so."""

import importlib
import os

HOME = os.environ.get("GPUSIM_KERNELS_FROM", "gpusim")
package = importlib.import_module(HOME)
cuda = importlib.import_module(f"{HOME}.cuda")
random = importlib.import_module(f"{HOME}.cuda.random")
float32, float64, int32, int64, uint8, uint32, uint64, void = (
    getattr(package, name) for name in "float32 float64 int32 int64 uint8 uint32 uint64 void".split()
)
