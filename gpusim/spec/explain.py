"""Validation of a specification, told to people: the field's path, its value, file and line, and what is expected."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpusim.errors import GpusimError
from gpusim.spec.device import GpuSpec

#: operand formats that tables of rates may name
FORMATS = frozenset(("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8"))
_FORMATS = f"a key is no operand format; there are {', '.join(sorted(FORMATS))}"

#: (fields concerned, condition that must hold, what it says): what no single field can say
RULES: tuple[tuple[tuple[str, ...], Callable[[GpuSpec], bool], str], ...] = (
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


def validate(tree: dict[str, Any], provenance: dict[str, str], places: dict[str, str], file: str) -> GpuSpec:
    """The GpuSpec of a nested dict. places: path -> "file, line n". Raises GpusimError for the first wrong field."""
    if "provenance" in tree:
        raise GpusimError("'provenance' cannot be given: it is collected.", where=places.get("provenance", file), hint="Write `{value: ..., source: ...}`.")
    try:
        spec = GpuSpec.model_validate(tree | {"provenance": provenance})
    except ValidationError as error:
        raise _told(error, tree, places, file) from None
    for paths, holds, text in RULES:
        if not holds(spec):
            # a variant that breaks a rule changed one of the fields itself: point there, not at its base
            blamed = next((path for path in paths if _place(path, places, file).startswith(f"{file}, line")), paths[0])
            raise GpusimError(f"{blamed} = {_at(tree, blamed.split('.'))!r}: {text}.", where=_place(blamed, places, file))
    return spec


def _told(error: ValidationError, tree: dict[str, Any], places: dict[str, str], file: str) -> GpusimError:
    """The most telling of pydantic's errors: a misspelt key before the field that is missing because of it."""
    details = error.errors(include_url=False)
    first = min(details, key=lambda d: d["type"] != "extra_forbidden")
    path = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    more = f" ({len(details) - 1} more wrong.)" if len(details) > 1 else ""
    what, hint = _TELLERS.get(first["type"], _wrong_value)(first, path, tree, places)
    return GpusimError(what, where=_place(path, places, file), hint=hint + more)


def _unknown_key(detail: ErrorDetails, path: str, tree: dict[str, Any], places: dict[str, str]) -> tuple[str, str]:
    *section, key = path.split(".")
    fields = [name for name in _model(section).model_fields if name != "provenance"] + ([] if section else ["base"])
    near = difflib.get_close_matches(key, fields, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"unknown key '{path}'.", f"{hint}Known here: {', '.join(fields)}."


def _missing(detail: ErrorDetails, path: str, tree: dict[str, Any], places: dict[str, str]) -> tuple[str, str]:
    if path in places:
        return f"{path} is empty, which removes it, but it cannot be absent.", "Give it a value or delete the line."
    return f"{path} is missing.", _meaning(path) or "Add it, or give a `base:` that has it."


def _not_a_section(detail: ErrorDetails, path: str, tree: dict[str, Any], places: dict[str, str]) -> tuple[str, str]:
    return f"{path} = {detail['input']!r} must be a section.", f"Its fields: {', '.join(_model(path.split('.')).model_fields)}."


def _wrong_value(detail: ErrorDetails, path: str, tree: dict[str, Any], places: dict[str, str]) -> tuple[str, str]:
    if (reason := detail.get("ctx", {}).get("error")) is not None:  # our own readers name the value themselves
        return f"{path}: {reason}", _meaning(path)
    told = detail["msg"].replace("Input should", "it should")
    quote = " Put it between quotes." if detail["type"] == "string_type" else ""
    return f"{path} = {_at(tree, path.split('.'))!r}: {told}.{quote}", _meaning(path)


#: pydantic's kind of error -> how it is told; all others are `_wrong_value`
_TELLERS = {"extra_forbidden": _unknown_key, "missing": _missing, "model_type": _not_a_section}


def _model(section: list[str]) -> type[BaseModel]:
    """The model that describes a section of the tree."""
    model: type[BaseModel] = GpuSpec
    for name in section:
        annotation = model.model_fields[name].annotation
        options = [annotation, *get_args(annotation)]
        model = next(option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return model


def _meaning(path: str) -> str:
    """What the field at `path` means, as a sentence; "" if nothing is known."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            field = _model(parts[: depth - 1]).model_fields[parts[depth - 1]]
        except (KeyError, StopIteration):
            continue
        return f"{parts[depth - 1]}: {field.description}." if field.description else ""
    return ""


def _place(path: str, places: dict[str, str], file: str) -> str:
    """Where `path` or the nearest section around it stands."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        if (place := places.get(".".join(parts[:depth]))) is not None:
            return place
    return file


def _at(tree: Any, parts: list[str]) -> Any:
    for part in parts:
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree
