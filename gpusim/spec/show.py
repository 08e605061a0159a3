"""A specification as rows for people: every number with its path, readable value, unit, source and meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpusim.spec.kinds import Device
from gpusim.spec.load import Listed, list_specs
from gpusim.spec.units import show

#: shown above the rows, not among them
_HEAD = ("name", "aliases", "note", "validated", "provenance")


@dataclass(frozen=True, slots=True)
class Row:
    """One value of a specification. value: in base units; text: readable, with its unit; source: "" if the file names none."""

    path: str
    value: Any
    text: str
    unit: str
    source: str
    meaning: str


def spec_rows(spec: Device) -> list[Row]:
    """All values of `spec` in the order of the tree."""
    return [row for row in _walk(spec, "", spec.provenance) if row.path.split(".")[0] not in _HEAD]


def spec_text(spec: Device, *, provenance: bool = False) -> str:
    """`gpusim show`: a heading, then a line for each value; with `provenance` also its source."""
    rows = spec_rows(spec)
    paths, texts = max(len(row.path) for row in rows), max(len(row.text) for row in rows)
    state = "validated against measured kernels" if spec.validated else "not validated"
    head = [f"{spec.name} ({', '.join(spec.aliases)}): {state}" if spec.aliases else f"{spec.name}: {state}", *([spec.note] if spec.note else []), ""]
    lines = [f"{row.path:<{paths}}  {row.text:<{texts}}  {row.source if provenance else row.meaning}".rstrip() for row in rows]
    return "\n".join(head + lines)


def device_rows() -> list[Listed]:
    """The shipped devices, GPUs first."""
    return list_specs()


def devices_text() -> str:
    """`gpusim devices`: a line for each shipped device."""
    listed = device_rows()
    names, aliases = max(len(g.name) for g in listed), max(len(", ".join(g.aliases)) for g in listed)
    return "\n".join(f"{g.name:<{names}}  {', '.join(g.aliases):<{aliases}}  {g.summary}" for g in listed)


def _walk(model: BaseModel, prefix: str, sources: dict[str, str]) -> Iterator[Row]:
    for name, field in type(model).model_fields.items():
        value, path = getattr(model, name), prefix + name
        if isinstance(value, BaseModel):
            yield from _walk(value, path + ".", sources)
        elif isinstance(value, dict):
            yield from (_row(f"{path}.{key}", item, field, sources) for key, item in value.items())
        elif value is not None:
            yield _row(path, value, field, sources)


def _row(path: str, value: Any, field: FieldInfo, sources: dict[str, str]) -> Row:
    unit = unit_of(field)
    return Row(path, value, _text(value, unit), unit, sources.get(path, ""), field.description or "")


def _text(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(str(item) for item in value)
    return show(value, unit) if isinstance(value, (int, float)) else str(value)


def unit_of(field: FieldInfo) -> str:
    """The base unit of a field, or of the values of a map; "" for plain numbers and text."""
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "unit" in extra:
        return str(extra["unit"])
    for part in (meta for arg in get_args(field.annotation) for meta in get_args(arg)[1:]):
        if isinstance(part, FieldInfo) and isinstance(part.json_schema_extra, dict):
            return str(part.json_schema_extra.get("unit", ""))
    return ""
