"""A calibration for people (a table) and for `load_spec` (YAML with a source for each value)."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from gpusim.calibrate.derive import Calibration, Field
from gpusim.spec.units import show


def table(calibration: Calibration) -> str:
    """Changed fields old -> new, then those that were confirmed, then those that were not determined, by reason."""
    changed = [f for f in calibration.fields if f.changed]
    confirmed = [f.path for f in calibration.fields if f.new is not None and not f.changed]
    lines = [f"{calibration.file}: {calibration.device}, against {calibration.base}", ""]
    lines += [f"Changed ({len(changed)}):", *_columns([_cells(f) for f in changed])]
    lines += ["", f"Confirmed within 1 % ({len(confirmed)}): {', '.join(confirmed) or 'none'}"]
    why: dict[str, list[str]] = defaultdict(list)
    for field in calibration.fields:
        if field.new is None:
            why[field.why].append(field.path)
    lines += [
        "",
        f"Not determined, the base's value stays ({sum(map(len, why.values()))}):",
        *(f"  {reason}: {', '.join(paths)}" for reason, paths in why.items()),
    ]
    if calibration.failed:
        lines += ["", f"Steps that ended in an error: {', '.join(calibration.failed)}"]
    return "\n".join(lines)


def _cells(field: Field) -> tuple[str, ...]:
    change = "" if field.change is None else f"{field.change:+.1%}"
    return field.path, readable(field.old, field.unit), "->", readable(field.new, field.unit), change, field.source


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def readable(value: Any, unit: str) -> str:
    """A value with its unit; lists with spaces between their numbers."""
    return " ".join(map(str, value)) or "none" if isinstance(value, tuple) else show(value, unit)


def yaml_text(calibration: Calibration, name: str, base: str) -> str:
    """The specification `name` on `base` (a name, or a path from the folder of the file): changed fields only, each with its source."""
    note = f"Calibrated from {calibration.file} ({calibration.device}). Fields that are not here are those of {calibration.base}."
    lines = ["# Written by `gpusim calibrate`.", f"name: {json.dumps(name)}", f"base: {json.dumps(base)}", f"note: {json.dumps(note)}"]
    open_sections: list[str] = []
    for field in (f for f in calibration.fields if f.changed):
        *sections, key = field.path.split(".")
        shared = next((i for i, (a, b) in enumerate(zip(sections, open_sections, strict=False)) if a != b), min(len(sections), len(open_sections)))
        if not shared:
            lines.append("")
        lines += ["  " * depth + section + ":" for depth, section in enumerate(sections) if depth >= shared]
        open_sections = sections
        lines.append("  " * len(sections) + f"{key}: {{value: {_scalar(field.new, field.unit)}, source: {json.dumps(field.source)}}}")
    return "\n".join(lines) + "\n"


def _scalar(value: Any, unit: str) -> str:
    """What `load_spec` reads back to `value`."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    text = show(value, unit)
    return text if text[:1].isdigit() and unit in ("B", "B/s", "Hz", "ns", "FLOP/s") else f"{value:g}" if float(f"{value:g}") == value else repr(value)
