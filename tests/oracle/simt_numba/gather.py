"""Runs every case and writes its results: `GPUSIM_KERNELS_FROM=numba NUMBA_ENABLE_CUDASIM=1 python gather.py out.npz`.

Needs NumPy and the package that the kernels come from, nothing else. Prints the seconds that each case took.
"""

import importlib
import sys
import time
import zlib
from pathlib import Path

MODULES = ("simple", "blocks", "programs")
#: cases that Numba's simulator gets wrong, and why; NumPy says what is right
NUMBA_IS_WRONG = {"blocks.two_on_a_line": "two shared arrays on one line are one array to it"}


def cases():
    """ "module.case" -> the function that runs it."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(name)
        found |= {f"{name}.{n.removeprefix('case_')}": f for n, f in vars(module).items() if n.startswith("case_")}
    return found


def run(name, function):
    """The results of a case; its random input follows from its name."""
    import numpy as np

    return function(np.random.default_rng(zlib.crc32(name.encode())))


def main(path):
    import numpy as np

    results = {}
    for name, function in cases().items():
        start = time.perf_counter()
        results |= {f"{name}/{key}": value for key, value in run(name, function).items()}
        print(f"{time.perf_counter() - start:8.3f} {name}", flush=True)
    np.savez(path, **results)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main(sys.argv[1])
