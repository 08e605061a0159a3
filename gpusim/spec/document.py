"""A specification file as flat leaves: "sm.registers" -> value, source and line. Knows YAML and nothing of the fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpusim.errors import GpusimError

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_VALUE, _SOURCE = "value", "source"
#: deeper sections than any specification has
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of a file. source: where the number comes from ("" if the file does not say). place: "file, line n"."""

    value: Any
    source: str
    place: str


@dataclass(slots=True)
class Document:
    """The leaves of one file, and the place of every section and leaf, by dotted path."""

    leaves: dict[str, Leaf] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Document:
    """Reads a YAML file in which a leaf is a plain value or `{value: ..., source: "..."}`.

    Raises GpusimError with file and line for a missing, unreadable or malformed file and for a key that stands twice.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise GpusimError("there is no such file.", where=str(path), hint="Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise GpusimError(f"the file cannot be read: {error}.", where=str(path)) from None
    return parse(text, str(path))


def parse(text: str, name: str) -> Document:
    """The Document of YAML `text`; `name` stands for the file in messages."""
    loader = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode) or not root.value:
            raise GpusimError("the file holds no sections.", where=name, hint="Begin with `base:` and the name of a GPU, then the fields to change.")
        reader = _Reader(loader, name)
        reader.section(root, "")
        return reader.document
    except yaml.YAMLError as error:
        raise _malformed(error, name) from None
    finally:
        if loader is not None:
            loader.dispose()


def _malformed(error: yaml.YAMLError, name: str) -> GpusimError:
    mark = getattr(error, "problem_mark", None)
    where = f"{name}, line {mark.line + 1}" if mark else name
    told = ", ".join(str(part) for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part) or str(error).splitlines()[0]
    return GpusimError(f"this is not YAML: {told}.", where=where, hint="Check indentation, colons, brackets and quotes on this line and the one above.")


@dataclass(slots=True)
class _Reader:
    """Walks the nodes of one file into a Document."""

    loader: Any
    name: str
    document: Document = field(default_factory=Document)

    def section(self, node: yaml.MappingNode, path: str) -> None:
        for key_node, value_node in node.value:
            place = self.place(key_node)
            if not isinstance(key_node, yaml.ScalarNode) or not key_node.value:
                raise GpusimError("a key must be a word.", where=place)
            self.entry(value_node, f"{path}.{key_node.value}" if path else key_node.value, place)

    def entry(self, node: yaml.Node, path: str, place: str) -> None:
        if path.count(".") > _DEPTH:
            raise GpusimError("sections lie too deep in each other.", where=place, hint="Does an anchor (&) contain itself?")
        self.note(path, place)
        if not isinstance(node, yaml.MappingNode):
            self.leaf(node, path, "", place)
        elif {_VALUE, _SOURCE}.isdisjoint(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            self.section(node, path)
        else:
            self.sourced(node, path, place)

    def sourced(self, node: yaml.MappingNode, path: str, place: str) -> None:
        """`{value: ..., source: ...}`; a map of values under one source gives one leaf each."""
        keys = [str(key.value) for key, _ in node.value]
        strange = [key for key in keys if key not in (_VALUE, _SOURCE)] or sorted({key for key in keys if keys.count(key) > 1})
        if strange:
            hint = f"Only one '{_VALUE}' and one '{_SOURCE}' are possible."
            raise GpusimError(f"{path}: '{strange[0]}' does not belong here.", where=place, hint=hint)
        parts = {str(key.value): value for key, value in node.value}
        if _VALUE not in parts:
            raise GpusimError(f"{path} has a '{_SOURCE}' but no '{_VALUE}'.", where=place, hint=f"Add `{_VALUE}:`.")
        source = str(self.construct(parts[_SOURCE], place)) if _SOURCE in parts else ""
        if not isinstance(parts[_VALUE], yaml.MappingNode):
            self.leaf(parts[_VALUE], path, source, place)
            return
        for key, item in parts[_VALUE].value:
            self.note(f"{path}.{key.value}", self.place(key))
            self.leaf(item, f"{path}.{key.value}", source, self.place(key))

    def note(self, path: str, place: str) -> None:
        """Remembers where `path` stands; it must not stand twice."""
        if (first := self.document.places.get(path)) is not None:
            raise GpusimError(f"'{path}' stands here for the second time (first: {first}).", where=place, hint="Remove one of the two.")
        self.document.places[path] = place

    def leaf(self, node: yaml.Node, path: str, source: str, place: str) -> None:
        self.document.leaves[path] = Leaf(self.construct(node, place), source, place)

    def construct(self, node: yaml.Node, place: str) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except ValueError as error:  # a date that does not exist, a number of thousands of digits
            raise GpusimError(f"this value cannot be read: {error}.", where=place, hint="Put text between quotes.") from None

    def place(self, node: yaml.Node) -> str:
        return f"{self.name}, line {node.start_mark.line + 1}"
