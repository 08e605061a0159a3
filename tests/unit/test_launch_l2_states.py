"""What L2 holds before a launch, whatever kind of program it is; and that values change neither time nor traffic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim.cli.app import main
from gpusim.devices.gpu import Gpu
from gpusim.kernels.simt import LIBRARY
from gpusim.kernels.simt.entry import materialise
from gpusim.launch.dealing import deal
from gpusim.launch.streaming import stream
from gpusim.launch.traffic import left_behind, walk
from gpusim.report.report import Report
from tests.laws.specs import toy, toy_machine
from tests.unit.lowering import lowered

GPU = "h200"
L2 = ("cold", "foreign-clean", "foreign-dirty", "warm")


def threads(name: str, params: dict[str, Any], *, values: bool = False, **options: Any) -> Report:
    entry = LIBRARY[name]
    given = {**entry.params, **params}
    shape = entry.launch(given)
    args = list(materialise(entry.args(given), np.random.default_rng(1)).values())
    return gs.run(entry.build(given), GPU, grid=shape.grid, block=shape.block, shared=shape.shared, args=args, values=values, **options)


def tiles(**options: Any) -> Report:
    return gs.run(gs.kernels.gemm(m=1024, n=1024, k=1024), GPU, **options)


def saxpy(**options: Any) -> Report:
    return threads("saxpy", {"n": 1 << 20}, **options)


@pytest.mark.parametrize("run", [tiles, saxpy])
def test_states_order_time_and_traffic(run: Any) -> None:
    cold, clean, dirty, warm = (run(l2=l2) for l2 in L2)
    assert (clean.cycles, clean.traffic) == (cold.cycles, cold.traffic)
    assert warm.cycles < cold.cycles <= dirty.cycles
    assert dirty.dram_write_bytes > cold.dram_write_bytes and dirty.dram_read_bytes == cold.dram_read_bytes
    assert warm.dram_read_bytes == 0 < cold.dram_read_bytes
    assert [r.protocol.l2 for r in (cold, clean, dirty, warm)] == list(L2)


@pytest.mark.parametrize("run", [tiles, saxpy])
def test_clock_and_launch_overhead(run: Any) -> None:
    slow, fast, into = run(clock=1000), run(clock=2000), run(clock=1000, launch="in")
    assert slow.clock_mhz == 1000 and slow.time_us > fast.time_us
    assert into.time_us - slow.time_us == pytest.approx(1.7, abs=0.01)


@pytest.mark.parametrize("l2", L2)
def test_from_the_command_line(l2: str, capsys: pytest.CaptureFixture[str]) -> None:
    protocol = ["--gpu", GPU, "--l2", l2, "--launch", "in", "--clock", "1500"]
    for kernel in (["gemm", "--m", "256", "--n", "256", "--k", "256"], ["saxpy", "--n", "1024"]):
        assert main(["run", *kernel, *protocol]) == 0
        assert "with launch overhead; SM clock 1500 MHz" in capsys.readouterr().out
    assert main(["sweep", "gemm", "--m", "128,256", "--n", "m", "--k", "m", *protocol]) == 0


@pytest.mark.parametrize("sizes", [(256, 192, 512), (512, 512, 256)])
@pytest.mark.parametrize("halves", [1, 2])
def test_tiles_of_an_identical_launch_are_found_again(sizes: tuple[int, int, int], halves: int) -> None:
    machine = toy_machine(halves=halves)
    made = stream(lowered(toy(), *sizes, tile=(64, 64, 32)))
    timed = Gpu(machine, made, 1, "warm", 1.0, left_behind(made, machine, 1)).run(range(made.ctas), deal(machine, made.ctas, 1))
    walked = walk(made, machine, 1, "warm")
    assert walked.dram_read == timed.counts["dram_read_bytes"] == 0
    assert walk(made, machine, 1, "cold").dram_read > 0


def test_more_than_l2_holds_is_read_again() -> None:
    machine = toy_machine(half_bytes=2.0**17, dirty_bytes=2.0**16)
    made = stream(lowered(toy(), 512, 512, 1024, tile=(64, 64, 32)))
    cold, warm = (walk(made, machine, 1, l2) for l2 in ("cold", "warm"))
    assert warm.dram_read > 0.9 * cold.dram_read
    assert warm.dram_write > cold.dram_write, "what the launch before left dirty goes out during this one"


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("saxpy", {"n": 300_000}),
        ("transpose_tiled", {"n": 512, "pad": 0}),
        ("copy_offset", {"n": 200_000, "offset": 3}),
        ("copy_wstride", {"n": 50_000, "stride": 4}),
        ("sgemm_tile32", {"M": 256, "N": 192, "K": 64, "ld": 256}),
    ],
)
@pytest.mark.parametrize("l2", ["cold", "warm"])
def test_values_change_neither_time_nor_traffic(name: str, params: dict[str, Any], l2: str) -> None:
    without, having = (threads(name, params, values=values, l2=l2) for values in (False, True))
    assert having.traffic == without.traffic
    assert having.cycles == without.cycles


def test_a_warm_launch_writes_back_as_much_as_it_writes() -> None:
    """What the launch before left dirty goes out, what this one leaves stays; the writes of the launch before are not its own."""
    report = threads("vector_add_f4", {"n": 1 << 24}, l2="warm")
    assert report.dram_write_bytes == pytest.approx(4 << 24, rel=0.02)
