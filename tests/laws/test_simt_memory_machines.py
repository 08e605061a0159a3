"""Thread kernels on other machines: a better one is not slower, any positive number of parts works, and what cannot be is told in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

import gpusim as gs
from gpusim import cuda
from gpusim.errors import GpusimError
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec
from tests.laws.cases import few
from tests.laws.simt_memory import SECTOR, STREAMS, Access, accesses, copy, h200
from tests.laws.specs import changed

#: dealing CTAs to other SMs may cost so much: a share, and cycles (some SMs are farther from L2 than others)
GRANTED, FARTHER = 0.02, 128.0

Better = Callable[[GpuSpec], GpuSpec]

BETTER: dict[str, Better] = {
    "DRAM bandwidth": lambda s: changed(s, dram__bandwidth=2 * s.dram.bandwidth),
    "DRAM latency": lambda s: changed(s, dram__latency=s.dram.latency / 2),
    "L2 bandwidth": lambda s: changed(s, l2__read_bandwidth=2 * s.l2.read_bandwidth, l2__write_bandwidth=2 * s.l2.write_bandwidth),
    "L2 capacity": lambda s: changed(s, l2__capacity=2 * s.l2.capacity),
    "L2 latency": lambda s: changed(s, l2__hit_latency=s.l2.hit_latency / 2, l2__far_latency=s.l2.far_latency / 2),
    "SM ports": lambda s: changed(s, sm__fill_bytes_per_cycle=2 * s.sm.fill_bytes_per_cycle, sm__store_bytes_per_cycle=2 * s.sm.store_bytes_per_cycle),
    "SMs": lambda s: changed(s, chip__gpc_sms=tuple(n + 2 for n in s.chip.gpc_sms)),
}


@pytest.mark.parametrize("what", BETTER)
@few(8)
@given(access=accesses(ctas=2000))
def test_better_is_not_slower(what: str, access: Access) -> None:
    assert access.run(BETTER[what](h200())).cycles <= access.run().cycles * (1 + GRANTED) + FARTHER


@pytest.mark.parametrize("what", BETTER)
@pytest.mark.parametrize("name", ["copied", "spread"])
def test_better_is_not_slower_beyond_l2(what: str, name: str) -> None:
    assert STREAMS[name].run(BETTER[what](h200())).cycles <= STREAMS[name].run().cycles * (1 + GRANTED)


def test_what_limits_helps() -> None:
    """The tests above could not fail if the model ignored the machine."""
    slow = changed(h200(), dram__bandwidth=4e11)
    assert STREAMS["copied"].run(slow).cycles > 1.7 * STREAMS["copied"].run(BETTER["DRAM bandwidth"](slow)).cycles
    again = Access("copy", 50_000, 256, 1, 0)
    small, large = (again.run(changed(h200(), l2__capacity=mib << 20), l2="warm").counters["dram_read_bytes"] for mib in (8, 512))
    assert large == 0 and small > SECTOR * again.read // 2
    alone = Access("copy", 1, 32, 1, 0)
    assert alone.run(BETTER["DRAM latency"](h200())).cycles < alone.run().cycles


def _small(sms: int) -> GpuSpec:
    chip = h200().chip.model_copy(update={"gpc_sms": (sms,), "gpc_half": (0,), "gpc_number": (), "gpc_side": (), "gpc_cpc": (), "gpcs_dealt_first": 0})
    return h200().model_copy(update={"chip": chip})


MACHINES: dict[str, Callable[[], GpuSpec]] = {
    **{f"{n} channels": lambda n=n: changed(h200(), dram__channels=n) for n in (1, 2, 81, 97)},
    **{f"{n} SMs": lambda n=n: _small(n) for n in (1, 3, 81)},
    "one half": lambda: changed(h200(), l2__halves=1),
    "an odd L2": lambda: changed(h200(), l2__capacity=81 * 128 * 3),
    "81 MB of L2": lambda: changed(h200(), l2__capacity=81_000_000),
}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_any_positive_number_of_parts_works(machine: Callable[[], GpuSpec]) -> None:
    access = Access("copy", 700, 256, 1, 0)
    run = access.run(machine())
    c = run.counters
    assert c["dram_read_bytes"] == SECTOR * access.read
    assert c["dram_write_bytes"] + c["l2_dirty_bytes"] == SECTOR * access.written
    assert run.cycles >= access.run(changed(h200(), dram__bandwidth=1e15)).cycles * 0.5


def test_one_half_has_no_fabric() -> None:
    assert Access("copy", 700, 256, 1, 0).run(changed(h200(), l2__halves=1)).counters.get("fabric_sectors", 0) == 0


#: what a user's file says -> words of the answer
WRONG_MACHINES = {
    "dram: {channels: 0}": "dram.channels = 0",
    "dram: {channels: -3}": "dram.channels = -3",
    "dram: {stacks: 0}": "dram.stacks = 0",
    "chip: {gpc_sms: [0]}": "chip.gpc_sms",
    "l2: {halves: 0}": "l2.halves = 0",
    "sm: {carveouts: [8KiB, 400KiB]}": "sm.carveouts must fit in sm.l1_and_shared",
    "sm: {shared_max: 300KiB}": "sm.shared_max must fit in sm.l1_and_shared",
}


@pytest.mark.parametrize("text", WRONG_MACHINES)
def test_an_impossible_machine_is_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"name: mine\nbase: h200\n{text}\n")
    with pytest.raises(GpusimError) as caught:
        load_spec(str(path))
    assert WRONG_MACHINES[text] in str(caught.value) and "mine.yaml, line 3" in str(caught.value)


@cuda.jit
def wide(x, y, at):
    i = cuda.grid(1)
    a, b, c, d = cuda.load4(x, 4 * i + at)
    y[i] = a + b + c + d


def _refused(kernel: object, *args: object, **options: object) -> str:
    with pytest.raises(GpusimError) as caught:
        gs.run(kernel, grid=1, block=32, args=args, gpu="h200", **options)
    return str(caught.value)


def test_accesses_that_cannot_be_are_one_sentence() -> None:
    x, y = np.zeros(256, np.float32), np.zeros(32, np.float32)
    gs.run(wide, grid=1, block=32, args=(x, y, 4), gpu="h200")
    assert "misaligned access of 16 bytes to x" in _refused(wide, x, y, 1)
    assert "out of bounds" in _refused(copy, x, y[:16], 1, 0)
    assert "out of bounds" in _refused(copy, x, y, 9, 0)
    assert "None cannot be indexed like an array" in _refused(copy, x, None, 1, 0)


def test_more_shared_memory_than_any_carve_out_is_one_sentence() -> None:
    said = _refused(copy, np.zeros(32, np.float32), np.zeros(32, np.float32), 1, 0, shared=300 * 1024)
    assert "shared memory" in said and str(300 * 1024) in said
