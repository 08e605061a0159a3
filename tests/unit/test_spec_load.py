"""Names, files, inheritance, provenance, and the message of every mistake."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from gpusim.errors import GpusimError
from gpusim.spec import load
from gpusim.spec.load import canonical, list_specs, load_spec, names

H200, H100, A100 = "h200-sxm", "h100-sxm", "a100-sxm-80gb"


@pytest.fixture
def write(tmp_path: Path):
    def _write(text: str, name: str = "mine.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return _write


def failure(given: str | Path) -> str:
    with pytest.raises(GpusimError) as caught:
        load_spec(given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("h200", H200),
        ("H200", H200),
        ("h200_sxm", H200),
        ("H200 SXM", H200),
        ("h100", H100),
        ("a100", A100),
        ("v100", "v100"),
        ("v100-sxm2", "v100"),
        ("b200", "b200-sxm"),
    ],
)
def test_names_and_aliases(given: str, name: str) -> None:
    assert canonical(given) == name
    assert load_spec(given).name == name


def test_every_alias_leads_to_a_file_and_shadows_none() -> None:
    aliases = load._aliases()
    assert set(aliases.values()) <= set(names(None))
    assert not set(aliases) & set(names(None))
    assert "h200" in load_spec("h200").aliases and "h200" not in load_spec("h100").aliases


def test_listing_names_all_shipped_gpus() -> None:
    listed = list_specs()
    assert [g.name for g in listed] == ["a100-sxm-40gb", "a100-sxm-80gb", "b200-sxm", "h100-pcie", "h100-sxm", "h200-sxm", "v100", *names("tpu")]
    h200 = next(g for g in listed if g.name == H200)
    assert h200.aliases == ("h200",)
    assert all(part in h200.summary for part in ("Hopper", "132 SMs", "1980 MHz", "60 MiB", "HBM3e"))
    assert [g.name for g in listed if "not validated" not in g.summary] == [H200]


def test_specs_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_spec("h200").sm.registers = 3  # type: ignore[misc]


def test_a_variant_overrides_one_number_and_says_so(write) -> None:
    path = write("base: h200\nl2:\n  capacity: 100MiB\n")
    variant, base = load_spec(path), load_spec("h200")
    assert variant.l2.capacity == 100 * 2**20
    assert variant.provenance["l2.capacity"] == f"user file {path}"
    assert variant.provenance["sm.registers"] == f"as on h200-sxm: {base.provenance['sm.registers']}"
    assert variant.model_copy(update={"l2": base.l2, "name": base.name}).model_dump(exclude={"aliases", "note", "validated", "provenance"}) == base.model_dump(
        exclude={"aliases", "note", "validated", "provenance"}
    )


def test_a_variant_does_not_inherit_what_a_file_says_of_itself(write) -> None:
    variant = load_spec(write("base: h200\n", "my-chip.yaml"))
    assert (variant.name, variant.aliases, variant.validated, variant.note) == ("my-chip", (), False, "")
    assert load_spec(write("base: h200\nname: other\nvalidated: true\n")).name == "other"


def test_the_users_own_source_is_kept(write) -> None:
    spec = load_spec(write('base: h200\nsm:\n  registers: {value: 32768, source: "a thought"}\n'))
    assert spec.sm.registers == 32768 and spec.provenance["sm.registers"] == "a thought"


def test_a_source_may_stand_once_for_a_map(write) -> None:
    spec = load_spec(write("base: h100\npeak: {value: {bf16: 1PFLOP/s, fp16: 2PFLOP/s}, source: mine}\n"))
    assert (spec.peak["bf16"], spec.peak["fp16"]) == (1e15, 2e15)
    assert spec.provenance["peak.bf16"] == spec.provenance["peak.fp16"] == "mine"
    assert spec.peak["tf32"] == load_spec("h100").peak["tf32"]


def test_null_removes_a_section_or_an_entry(write) -> None:
    spec = load_spec(write("base: h100\ntensor: {wgmma: null}\npeak: {fp64: null}\n"))
    assert spec.tensor.wgmma is None and "fp64" not in spec.peak
    assert not [path for path in spec.provenance if path.startswith("tensor.wgmma") or path == "peak.fp64"]


def test_bases_chain_through_user_files(write) -> None:
    write("base: a100-40gb\nsm: {registers: 32768}\nl2: {capacity: 10MiB}\n", "first.yaml")
    spec = load_spec(write("base: first.yaml\nl2: {capacity: 20MiB}\n", "second.yaml"))
    assert (spec.sm.registers, spec.l2.capacity, spec.sms) == (32768, 20 * 2**20, 108)
    assert spec.provenance["sm.registers"].startswith("as on first: user file")
    assert spec.provenance["chip.gpc_sms"].startswith("as on a100-sxm-40gb: ")


def test_unknown_gpu_suggests_the_nearest_and_lists_all() -> None:
    message = failure("h10")
    assert "unknown GPU 'h10'" in message and "Did you mean 'h100'?" in message
    assert all(name in message for name in names())


#: text of the file, then what the message must hold; the line is that of the mistake
WRONG: dict[str, tuple[str, tuple[str, ...]]] = {
    "typo in a key": ("base: h100\nsm:\n  registres: 3\n", ("line 3", "'sm.registres'", "Did you mean 'registers'?")),
    "typo in a section": ("base: h100\nsn:\n  registers: 3\n", ("line 2", "'sn'", "Did you mean 'sm'?")),
    "negative": ("base: h100\nsm:\n  registers: -3\n", ("line 3", "sm.registers = -3", "greater than 0", "32-bit registers")),
    "yes for a number": ("base: h100\nsm:\n  registers: yes\n", ("line 3", "sm.registers", "True is not a number")),
    "unit": ("base: h100\nl2:\n  capacity: 60 mb\n", ("line 3", "l2.capacity", "'60 mb'", "MiB")),
    "share above 1": ("base: h100\nl2: {usable: 130%}\n", ("line 2", "l2.usable", "130%", "less than or equal to 1")),
    "infinite": ("base: h100\nsm: {alu_latency: .inf}\n", ("line 2", "sm.alu_latency = inf", "finite")),
    "number for text": ("base: h100\ncompute_capability: 9.0\n", ("line 2", "compute_capability = 9.0", "quotes")),
    "value for a section": ("base: h100\nsm: 4\n", ("line 2", "sm = 4", "section", "registers")),
    "list entry": ("base: h100\nchip: {gpc_sms: [16, 0.5]}\n", ("line 2", "chip.gpc_sms = [16, 0.5]")),
    "half beyond 1": ("base: h100\nchip: {gpc_half: [0, 2]}\n", ("line 2", "chip.gpc_half")),
    "missing without base": ("sm:\n  registers: 3\n", ("architecture is missing", "base")),
    "removed but needed": ("base: h100\nsm:\n  registers:\n", ("line 3", "sm.registers is empty")),
    "new section incomplete": ("base: a100\ntensor: {wgmma: {queue: 3}}\n", ("line 2", "tensor.wgmma.fma_per_cycle is missing")),
    "unknown format": ("base: h100\npeak: {bf61: 3TFLOP/s}\n", ("line 2", "bf61", "no operand format")),
    "strange word in a leaf": ("base: h100\nsm: {registers: {value: 3, src: q}}\n", ("line 2", "sm.registers", "'src'")),
    "source alone": ("base: h100\nsm: {registers: {source: q}}\n", ("line 2", "sm.registers", "no 'value'")),
    "twice": ("base: h100\nsm:\n  registers: 3\n  registers: 4\n", ("line 4", "sm.registers", "second time", "line 3")),
    "section twice": ("base: h100\nsm: {registers: 3}\nl2: {line: 128}\nsm: {registers: 4}\n", ("line 4", "'sm'", "second time")),
    "two values": ("base: h100\nsm: {registers: {value: 3, value: 4}}\n", ("line 2", "sm.registers", "'value'")),
    "twice in a map": ("base: h100\npeak: {value: {bf16: 1, bf16: 2}, source: q}\n", ("line 2", "'peak.bf16'", "second time")),
    "map in a map": ("base: h100\npeak: {value: {bf16: {a: 1}}, source: q}\n", ("line 2", "peak.bf16", "{'a': 1}")),
    "provenance": ("base: h100\nprovenance: {a: b}\n", ("line 2", "provenance")),
    "bad yaml": ("base: h100\nsm:\n  registers: [3\nl2: 4\n", ("line 4", "not YAML")),
    "tab": ("base: h100\nsm:\n\tregisters: 3\n", ("line 3", "not YAML")),
    "no such anchor": ("base: h100\nl2: {capacity: *b}\n", ("line 2", "not YAML", "alias")),
    "python object": ("base: h100\nname: !!python/object:os.system x\n", ("line 2", "not YAML")),
    "anchor in itself": ("base: h100\nsm: &a {x: *a}\n", ("line 2", "too deep")),
    "impossible date": ("base: h100\nnote: 2020-99-99\n", ("line 2", "cannot be read")),
    "list": ("- a\n", ("no sections",)),
    "empty": ("", ("no sections",)),
    "unknown base": ("\nbase: h10\n", ("line 2", "unknown GPU 'h10'", "Did you mean 'h100'?")),
    "base is no name": ("base: [h100]\n", ("line 1", "base = ['h100']")),
    "base file missing": ("base: other.yaml\n", ("line 1", "other.yaml", "no file")),
    "halves do not match": ("base: h100\nchip: {gpc_sms: [16, 16]}\n", ("line 2", "chip.gpc_sms = [16, 16]", "chip.gpc_half")),
    "one half only": ("base: h100\nl2: {halves: 1}\n", ("line 2", "l2.halves = 1", "chip.gpc_half")),
    "half a TPC": ("base: h100\nchip: {sms_per_tpc: 4}\n", ("line 2", "chip.sms_per_tpc = 4", "chip.gpc_sms")),
    "shared beyond L1": ("base: h100\nsm: {shared_max: 300KiB}\n", ("line 2", "sm.shared_max = '300KiB'", "sm.l1_and_shared")),
    "CTA beyond SM": ("base: h100\nsm: {shared_max_per_cta: 228KiB}\n", ("line 2", "sm.shared_max_per_cta", "sm.shared_max")),
    "warps over subcores": ("base: h100\nsm: {max_warps: 62}\n", ("line 2", "sm.max_warps = 62", "sm.subcores")),
    "tensor clock": ("base: h100\nclocks: {tensor: 2GHz}\n", ("line 2", "clocks.tensor", "clocks.boost")),
    "sectors": ("base: h100\nl2: {sector: 48}\n", ("line 2", "l2.sector = 48", "l2.line")),
    "TMA without cp.async": ("base: h100\ncopy_engines: {cp_async: false}\n", ("copy_engines.tma", "copy_engines.cp_async")),
}


@pytest.mark.parametrize("mistake", sorted(WRONG))
def test_mistakes_are_told_with_file_line_and_field(mistake: str, write) -> None:
    text, parts = WRONG[mistake]
    path = write(text)
    message = failure(path)
    assert "mine.yaml" in message
    for part in parts:
        assert part in message, message


def test_several_mistakes_are_counted(write) -> None:
    assert "(1 more wrong.)" in failure(write("base: h100\nsm: {registers: -1, max_warps: -1}\n"))


def test_circular_base_names_the_circle(write) -> None:
    write("base: b.yaml\n", "a.yaml")
    path = write("base: a.yaml\n", "b.yaml")
    message = failure(path)
    assert "circle" in message and "b -> a -> b" in message and "a.yaml, line 1" in message
    assert "circle" in failure(write("base: self.yaml\n", "self.yaml"))


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    assert "no such file" in failure(tmp_path / "none.yaml")
    (tmp_path / "folder.yaml").mkdir()
    assert "cannot be read" in failure(tmp_path / "folder.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"note: \xff\n")
    assert "cannot be read" in failure(tmp_path / "latin.yaml")


def test_what_is_no_name_at_all() -> None:
    assert "neither the name" in failure(5)  # type: ignore[arg-type]
    assert "unknown GPU ''" in failure("")


def test_a_spec_loads_fast() -> None:
    """Aim: 15 ms for one spec with its bases; ten times that still tells a parse of all files or a slow loader."""
    load_spec("h100-pcie")
    load._shipped.cache_clear()
    start = time.perf_counter()
    load_spec("h100-pcie")
    assert time.perf_counter() - start < 0.15


def test_only_the_needed_files_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = load.read
    monkeypatch.setattr(load, "read", lambda path: seen.append(path.name) or real(path))
    load._shipped.cache_clear()
    load_spec("a100")
    assert seen == ["a100-sxm-80gb.yaml", "a100-sxm-40gb.yaml"]
