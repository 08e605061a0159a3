"""The shipped TPUs: every number has a source and agrees with the published figures; a variant inherits; mistakes are told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpusim as gs
from gpusim.errors import GpusimError
from gpusim.spec.load import load_gpu, load_spec, names
from gpusim.spec.show import devices_text, spec_rows, spec_text
from gpusim.spec.tpu import TpuSpec

ALL = names("tpu")
ORIGIN = re.compile(r"(as on [a-z0-9-]+: )?(published|derived|fitted|assumed)\b")
#: cores, MXUs of a core, their side, MiB of vector memory, HBM in GB/s, bf16 peak in TFLOP/s, CMEM in MiB
PUBLISHED = {
    "tpu-v2": (2, 1, 128, 16, 600, 46, 0),
    "tpu-v3": (2, 2, 128, 16, 900, 123, 0),
    "tpu-v4": (2, 4, 128, 16, 1200, 275, 128),
    "tpu-v4i": (1, 4, 128, 16, 614, 137, 128),
    "tpu-v5e": (1, 4, 128, 128, 819, 197, 0),
    "tpu-v5p": (2, 4, 128, 64, 2765, 459, 0),
    "tpu-v6e": (1, 2, 256, 128, 1640, 918, 0),
    "tpu-v7x": (2, 2, 256, 64, 7380, 2307, 0),
}


def test_published_figures_cover_all() -> None:
    assert set(PUBLISHED) == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_published_figures(name: str) -> None:
    s = load_spec(name)
    assert isinstance(s, TpuSpec)
    shown = (s.chip.cores, s.mxu.count, s.mxu.dim, s.vmem.capacity / 2**20, s.dram.bandwidth / 1e9, s.peak["bf16"] / 1e12, s.chip.cmem / 2**20)
    assert shown == PUBLISHED[name]
    assert not s.validated and "No kernel was measured" in s.note


@pytest.mark.parametrize("name", ALL)
def test_every_number_has_a_source(name: str) -> None:
    spec = load_spec(name)
    rows = [row for row in spec_rows(spec) if not isinstance(row.value, str)]
    assert len(rows) > 35
    assert [row.path for row in rows if not ORIGIN.match(row.source)] == []
    assert all(row.source in spec_text(spec, provenance=True) and row.meaning for row in rows)


def test_devices_list_them_behind_the_gpus() -> None:
    lines = devices_text().splitlines()
    assert [line.split()[0] for line in lines if line.startswith("tpu")] == list(ALL)
    assert lines[-1].startswith("tpu") and "2 x 4 MXU 128x128" in next(line for line in lines if line.startswith("tpu-v4 "))
    assert gs.load_spec("tpu-7x").name == "tpu-v7x"


def test_a_variant_inherits_and_changes_one_number(tmp_path: Path) -> None:
    path = tmp_path / "wide.yaml"
    path.write_text("base: tpu-v5e\nmxu:\n  count: 8\n")
    spec = load_spec(path)
    assert isinstance(spec, TpuSpec) and spec.mxu.count == 8 and spec.mxu.dim == 128
    program = gs.kernels.gemm(4096, 4096, 4096)
    assert gs.run(program, gpu=path).time_us < 0.62 * gs.run(program, gpu="tpu-v5e").time_us


@pytest.mark.parametrize(
    "text, message",
    [
        ("base: tpu-v5e\nmxu:\n  sides: 8\n", "unknown key 'mxu.sides'"),
        ("base: tpu-v5e\nsm:\n  registers: 8\n", "unknown key 'sm'"),
        ("base: tpu-v5e\nkind: npu\n", "kind = 'npu' is no kind of device"),
        ("base: tpu-v5e\nvmem:\n  tile_rows: {'16': 12}\n", "multiples of vpu.sublanes"),
        ("base: tpu-v5e\npeak:\n  int3: 3TFLOP/s\n", "no operand format"),
        ("base: tpu-v5e\nclock: fast\n", "clock"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(GpusimError, match=re.escape(message)) as caught:
        load_spec(path)
    assert "wrong.yaml, line" in str(caught.value)


def test_where_only_a_gpu_will_do() -> None:
    assert load_gpu("h100").name == "h100-sxm"
    with pytest.raises(GpusimError, match="no threads"):
        load_gpu("tpu-v4")
