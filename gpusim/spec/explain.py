"""Validation of a specification, told to people: the field's path, its value, file and line, and what is expected."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gpusim.errors import GpusimError
from gpusim.spec.kinds import GPU, KINDS, Device, Kind


@dataclass(frozen=True, slots=True)
class _Given:
    """What a file says. root: the model that it fills; places: path -> "file, line n"."""

    root: type[BaseModel]
    tree: dict[str, Any]
    places: dict[str, str]


def validate(tree: dict[str, Any], provenance: dict[str, str], places: dict[str, str], file: str) -> Device:
    """The specification of a nested dict. places: path -> "file, line n". Raises GpusimError for the first wrong field."""
    kind = _kind(tree, places, file)
    tree = {key: value for key, value in tree.items() if key != "kind"}
    if "provenance" in tree:
        raise GpusimError("'provenance' cannot be given: it is collected.", where=places.get("provenance", file), hint="Write `{value: ..., source: ...}`.")
    try:
        spec = kind.model.model_validate(tree | {"provenance": provenance})
    except ValidationError as error:
        raise _told(error, _Given(kind.model, tree, places), file) from None
    for paths, holds, text in kind.rules:
        if not holds(spec):
            # a variant that breaks a rule changed one of the fields itself: point there, not at its base
            blamed = next((path for path in paths if _place(path, places, file).startswith(f"{file}, line")), paths[0])
            raise GpusimError(f"{blamed} = {_at(tree, blamed.split('.'))!r}: {text}.", where=_place(blamed, places, file))
    return spec


def _kind(tree: dict[str, Any], places: dict[str, str], file: str) -> Kind:
    name = tree.get("kind", GPU)
    if name not in KINDS:
        raise GpusimError(f"kind = {name!r} is no kind of device.", where=_place("kind", places, file), hint=f"Give one of {', '.join(KINDS)}.")
    return KINDS[name]


def _told(error: ValidationError, given: _Given, file: str) -> GpusimError:
    """The most telling of pydantic's errors: a misspelt key before the field that is missing because of it."""
    details = error.errors(include_url=False)
    first = min(details, key=lambda d: d["type"] != "extra_forbidden")
    path = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
    more = f" ({len(details) - 1} more wrong.)" if len(details) > 1 else ""
    what, hint = _TELLERS.get(first["type"], _wrong_value)(first, path, given)
    return GpusimError(what, where=_place(path, given.places, file), hint=hint + more)


def _unknown_key(detail: ErrorDetails, path: str, given: _Given) -> tuple[str, str]:
    *section, key = path.split(".")
    fields = [name for name in _model(given.root, section).model_fields if name != "provenance"] + ([] if section else ["base"])
    near = difflib.get_close_matches(key, fields, n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return f"unknown key '{path}'.", f"{hint}Known here: {', '.join(fields)}."


def _missing(detail: ErrorDetails, path: str, given: _Given) -> tuple[str, str]:
    if path in given.places:
        return f"{path} is empty, which removes it, but it cannot be absent.", "Give it a value or delete the line."
    return f"{path} is missing.", _meaning(given.root, path) or "Add it, or give a `base:` that has it."


def _not_a_section(detail: ErrorDetails, path: str, given: _Given) -> tuple[str, str]:
    return f"{path} = {detail['input']!r} must be a section.", f"Its fields: {', '.join(_model(given.root, path.split('.')).model_fields)}."


def _wrong_value(detail: ErrorDetails, path: str, given: _Given) -> tuple[str, str]:
    if (reason := detail.get("ctx", {}).get("error")) is not None:  # our own readers name the value themselves
        return f"{path}: {reason}", _meaning(given.root, path)
    told = detail["msg"].replace("Input should", "it should")
    quote = " Put it between quotes." if detail["type"] == "string_type" else ""
    return f"{path} = {_at(given.tree, path.split('.'))!r}: {told}.{quote}", _meaning(given.root, path)


#: pydantic's kind of error -> how it is told; all others are `_wrong_value`
_TELLERS = {"extra_forbidden": _unknown_key, "missing": _missing, "model_type": _not_a_section}


def _model(root: type[BaseModel], section: list[str]) -> type[BaseModel]:
    """The model that describes a section of the tree."""
    model = root
    for name in section:
        annotation = model.model_fields[name].annotation
        options = [annotation, *get_args(annotation)]
        model = next(option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return model


def _meaning(root: type[BaseModel], path: str) -> str:
    """What the field at `path` means, as a sentence; "" if nothing is known."""
    parts = path.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            field = _model(root, parts[: depth - 1]).model_fields[parts[depth - 1]]
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
