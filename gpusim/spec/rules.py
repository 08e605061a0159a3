"""What no single field of a specification can say: rules over several of them, a table for each kind of device."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.spec.device import GpuSpec
from gpusim.spec.tpu import TpuSpec

#: operand formats that tables of rates may name
FORMATS = frozenset(("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"))
_FORMATS = f"a key is no operand format; there are {', '.join(sorted(FORMATS))}"

#: (fields concerned, condition that must hold, what it says): what no single field can say
GPU_RULES: tuple[tuple[tuple[str, ...], Callable[[GpuSpec], bool], str], ...] = (
    (
        ("chip.gpc_half", "chip.gpc_sms"),
        lambda s: len(s.chip.gpc_half) == len(s.chip.gpc_sms),
        "chip.gpc_half and chip.gpc_sms must have one entry for each GPC",
    ),
    (("chip.gpc_half", "l2.halves"), lambda s: all(half < s.l2.halves for half in s.chip.gpc_half), "chip.gpc_half must name halves below l2.halves"),
    (
        ("chip.gpc_side", "chip.gpc_cpc", "chip.gpc_sms"),
        lambda s: {len(s.chip.gpc_side), len(s.chip.gpc_cpc)} in ({0}, {len(s.chip.gpc_sms)}),
        "chip.gpc_side and chip.gpc_cpc must have one entry for each GPC, or none",
    ),
    (
        ("chip.gpc_number", "chip.gpc_sms"),
        lambda s: len(s.chip.gpc_number) in (0, len(s.chip.gpc_sms)),
        "chip.gpc_number must have one entry for each entry of chip.gpc_sms, or none",
    ),
    (
        ("l2.near", "l2.far", "chip.gpc_cpc"),
        lambda s: len(s.l2.near) == len(s.l2.far) and all(cpc < max(1, len(s.l2.near)) for cpc in s.chip.gpc_cpc),
        "l2.near and l2.far must have one entry for each CPC that chip.gpc_cpc names",
    ),
    (
        ("chip.gpc_sms", "chip.sms_per_tpc"),
        lambda s: not any(n % s.chip.sms_per_tpc for n in s.chip.gpc_sms),
        "chip.gpc_sms must be multiples of chip.sms_per_tpc",
    ),
    (("sm.max_warps", "sm.subcores"), lambda s: s.sm.max_warps % s.sm.subcores == 0, "sm.max_warps must be a multiple of sm.subcores"),
    (("sm.shared_max", "sm.l1_and_shared"), lambda s: s.sm.shared_max <= s.sm.l1_and_shared, "sm.shared_max must fit in sm.l1_and_shared"),
    (
        ("sm.carveouts", "sm.shared_max"),
        lambda s: not s.sm.carveouts or max(s.sm.carveouts) >= s.sm.shared_max,
        "the largest of sm.carveouts must hold sm.shared_max",
    ),
    (("sm.carveouts", "sm.l1_and_shared"), lambda s: all(c <= s.sm.l1_and_shared for c in s.sm.carveouts), "sm.carveouts must fit in sm.l1_and_shared"),
    (
        ("sm.shared_max_per_cta", "sm.shared_reserved_per_cta", "sm.shared_max"),
        lambda s: s.sm.shared_max_per_cta + s.sm.shared_reserved_per_cta <= s.sm.shared_max,
        "sm.shared_max_per_cta and sm.shared_reserved_per_cta together must fit in sm.shared_max",
    ),
    (("clocks.tensor", "clocks.boost"), lambda s: s.clocks.tensor <= s.clocks.boost, "clocks.tensor must not exceed clocks.boost"),
    (("l2.line", "l2.sector"), lambda s: s.l2.line % s.l2.sector == 0, "l2.line must be a multiple of l2.sector"),
    (
        ("copy_engines.tma", "copy_engines.cp_async"),
        lambda s: s.copy_engines.cp_async or not s.copy_engines.tma,
        "a chip with copy_engines.tma has copy_engines.cp_async as well",
    ),
    (("peak",), lambda s: FORMATS.issuperset(s.peak), _FORMATS),
    (("tensor.mma_sync.fma_per_cycle",), lambda s: FORMATS.issuperset(s.tensor.mma_sync.fma_per_cycle), _FORMATS),
    (("tensor.wgmma.fma_per_cycle",), lambda s: s.tensor.wgmma is None or FORMATS.issuperset(s.tensor.wgmma.fma_per_cycle), _FORMATS),
)

TPU_RULES: tuple[tuple[tuple[str, ...], Callable[[TpuSpec], bool], str], ...] = (
    (("peak",), lambda s: FORMATS.issuperset(s.peak), _FORMATS),
    (("mxu.rows_per_cycle",), lambda s: FORMATS.issuperset(s.mxu.rows_per_cycle), _FORMATS),
    (
        ("vmem.tile_rows", "vpu.sublanes"),
        lambda s: not any(rows % s.vpu.sublanes for rows in s.vmem.tile_rows.values()),
        "vmem.tile_rows must be multiples of vpu.sublanes",
    ),
    (("vmem.tile_rows",), lambda s: {"8", "16", "32"} <= set(s.vmem.tile_rows), "vmem.tile_rows must say 8, 16 and 32 bits"),
)
