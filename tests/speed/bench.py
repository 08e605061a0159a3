"""How fast the simulator is: `python -m tests.speed.bench [--record]` from the root of the repository.

Every item runs in a process of its own. Its seconds are divided by those of a yardstick of plain simpy events that is timed in the same run, so
that the noted ratios hold on other machines. Exit status 1 if a bar is missed or a ratio has grown by half.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

NOTED = Path(__file__).with_name("ratios.json")
GROWTH = 1.5

YARDSTICK = """
import time, simpy
def process(env):
    for _ in range(200_000):
        yield env.timeout(1)
start = time.perf_counter()
env = simpy.Environment()
env.process(process(env))
env.run()
print(time.perf_counter() - start)
"""

IMPORT = """
import time
start = time.perf_counter()
import gpusim
gpusim.run, gpusim.kernels
print(time.perf_counter() - start)
"""

PRODUCT = """
import time, resource
from gpusim.kernels import gemm
from gpusim.launch.run import simulate
from gpusim.spec.load import load_spec
program, spec = gemm(8192, 8192, 8192, tile=(256, 128, 64)), load_spec("h100")
start = time.perf_counter()
simulate(program, spec)
print({result})
"""

STAIRCASE = """
import time
import gpusim as gs
start = time.perf_counter()
gs.sweep(gs.kernels.gemm, gpu="a100", m=range(1536, 2304, 16), n="m", k="m", tile=(256, 128, 32))
print(time.perf_counter() - start)
"""

EXACT = """
import time
from gpusim.kernels import gemm
from gpusim.launch.run import simulate
from gpusim.spec.load import load_spec
program, spec = gemm(2048, 2048, 2048), load_spec("h100")
start = time.perf_counter()
simulate(program, spec, exact=True)
print(time.perf_counter() - start)
"""

SHELL = ["-m", "gpusim", "run", "gemm", "--gpu", "h100", "--m", "4096", "--n", "4096", "--k", "4096"]


@dataclass(frozen=True)
class Item:
    """`measure` gives one value; the median of `repeats` stands against `bar` (None: only noted)."""

    name: str
    unit: str
    bar: float | None
    repeats: int
    measure: Callable[[], float]


def printed(code: str) -> Callable[[], float]:
    """Runs `code` in a fresh interpreter; it prints its own value last."""
    return lambda: float(_python("-c", code).split()[-1])


def wall() -> float:
    """From the shell's start of the command to its end."""
    start = time.perf_counter()
    _python(*SHELL)
    return time.perf_counter() - start


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


ITEMS = (
    Item("import", "s", 0.4, 5, printed(IMPORT)),
    Item("shell to answer, 4096^3", "s", 1.5, 3, wall),
    Item("simulation, 8192^3", "s", 1.0, 3, printed(PRODUCT.format(result="time.perf_counter() - start"))),
    Item("peak memory, 8192^3", "MB", 500.0, 1, printed(PRODUCT.format(result="resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024"))),
    Item("staircase of 48 points, one core", "s", 20.0, 1, printed(STAIRCASE)),
    Item("exact, 2048^3", "s", None, 1, printed(EXACT)),
)


def main(record: bool) -> int:
    """Measure all, print the table, and with `record` write the ratios down."""
    noted = json.loads(NOTED.read_text()) if NOTED.exists() else {}
    yardstick = median(printed(YARDSTICK)() for _ in range(3))
    print(f"yardstick: 200,000 simpy events in {yardstick:.3f} s\n{'':34}{'value':>10}{'bar':>10}{'ratio':>9}{'noted':>9}")
    ratios, failed = {}, False
    for item in ITEMS:
        value = median(item.measure() for _ in range(item.repeats))
        ratio = ratios[item.name] = round(value / (yardstick if item.unit == "s" else 1), 3)
        before = noted.get(item.name)
        missed = item.bar is not None and value > item.bar
        grown = not record and before is not None and ratio > GROWTH * before
        failed |= missed or grown
        remark = " above the bar" * missed + " slower than noted" * grown
        print(f"{item.name:34}{value:8.2f} {item.unit:2}{item.bar or '-':>9}{ratio:9.2f}{before or '-':>9}{remark}")
    if record:
        NOTED.write_text(json.dumps(ratios, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main("--record" in sys.argv[1:]))
