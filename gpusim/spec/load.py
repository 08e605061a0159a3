"""`load_spec`: from the name of a device or the path of a YAML file to a validated specification in which every number knows its source.

Shipped files lie in `gpusim/configs`; the file name is the device's name, `aliases.yaml` maps other names to it. A file may build
on another with `base:`; it then holds only what differs. `null` removes what the base has.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.spec.device import GpuSpec
from gpusim.spec.document import Document, Leaf, read
from gpusim.spec.explain import validate
from gpusim.spec.kinds import GPU, KINDS, Device
from gpusim.spec.tpu import TpuSpec

_CONFIGS = Path(__file__).resolve().parent.parent / "configs"
_ALIASES = "aliases.yaml"
_SUFFIXES = (".yaml", ".yml")
#: what a file says of itself and does not inherit
_OWN = ("name", "aliases", "validated", "note", "base")
_KIND = re.compile(r"^kind:\s*(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Listed:
    """A device that is shipped: its name, other names, and one line about it."""

    name: str
    aliases: tuple[str, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class _Origin:
    """A file in the chain of bases. label: its GPU's name; user: not one of ours."""

    path: Path
    label: str
    user: bool


def load_spec(name_or_path: str | PathLike[str] | Device) -> Device:
    """The device called `name_or_path` (case does not matter), or the one that a file ending in .yaml or .yml describes; a specification is itself.

    `provenance` of the result maps field paths such as "sm.registers" to their source. Raises GpusimError for an unknown
    name (with the nearest one), and with file and line for a file that is missing, malformed or has a wrong field.
    """
    if isinstance(name_or_path, GpuSpec | TpuSpec):
        return name_or_path
    try:
        given = fspath(name_or_path)
    except TypeError:
        raise GpusimError(f"{name_or_path!r} is neither the name of a GPU nor a path.", hint=f"Known: {', '.join(names(None))}.") from None
    if given.lower().endswith(_SUFFIXES):
        return _build(_Origin(Path(given), Path(given).stem, user=True))
    return _shipped(canonical(given))


def load_gpu(name_or_path: str | PathLike[str] | Device) -> GpuSpec:
    """`load_spec` where only a GPU will do: for kernels of threads, probes, calibration. GpusimError for another kind of device."""
    spec = load_spec(name_or_path)
    if not isinstance(spec, GpuSpec):
        word = KINDS[spec.KIND].word
        hint = f"Choose one of {', '.join(names())}; a {word} runs programs of tiles: gs.kernels, or kernels of tiles whose accesses are boxes."
        raise GpusimError(f"{spec.name} is a {word}, which has no threads: it cannot run kernels of threads, or what is made of them.", hint=hint)
    return spec


def canonical(name: str) -> str:
    """The shipped file's name for a name or alias; GpusimError with the nearest name otherwise."""
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    aliases = _aliases()
    known = names(None)
    found = aliases.get(wanted, wanted)
    if found in known:
        return found
    near = difflib.get_close_matches(wanted, [*known, *aliases], n=1, cutoff=0.5)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    raise GpusimError(f"unknown GPU '{name}'.", hint=f"{hint}Known: {', '.join([*known, *sorted(aliases)])}; or give the path of a .yaml file.")


@cache
def names(kind: str | None = GPU) -> tuple[str, ...]:
    """The names of all shipped devices of a kind, sorted; kind None: GPUs, then the others."""
    if kind is None:
        return tuple(name for each in KINDS for name in names(each))
    return tuple(sorted(path.stem for path in _CONFIGS.glob("*.yaml") if path.name != _ALIASES and _kind_of(path) == kind))


def _kind_of(path: Path) -> str:
    """What a shipped file says at its beginning, without reading it as YAML: listing names must stay quick."""
    found = _KIND.search(path.read_text(encoding="utf-8"))
    return found[1] if found else GPU


def list_specs() -> list[Listed]:
    """All shipped devices with their other names and a one-line summary, GPUs first, each kind sorted by name."""
    return [Listed(spec.name, spec.aliases, KINDS[spec.KIND].summary(spec)) for spec in map(_shipped, names(None))]


@cache
def _aliases() -> dict[str, str]:
    return {alias: leaf.value for alias, leaf in read(_CONFIGS / _ALIASES).leaves.items()}


@cache
def _shipped(name: str) -> Device:
    return _build(_Origin(_CONFIGS / f"{name}.yaml", name, user=False))


def _build(origin: _Origin) -> Device:
    own = read(origin.path)
    leaves, places = _resolve(origin, own, ())
    if not origin.user:
        leaves["aliases"] = (Leaf(tuple(a for a, name in _aliases().items() if name == origin.label), "", _ALIASES), origin)
    leaves.setdefault("name", (Leaf(origin.label, "", str(origin.path)), origin))
    present = {path: leaf for path, (leaf, _) in leaves.items() if leaf.value is not None}
    sources = {path: _source(leaf, leaves[path][1], origin) for path, leaf in present.items() if path not in _OWN}
    provenance = {path: source for path, source in sources.items() if source}
    return validate(_nested(present), provenance, places, str(origin.path))


def _resolve(origin: _Origin, document: Document, chain: tuple[Path, ...]) -> tuple[dict[str, tuple[Leaf, _Origin]], dict[str, str]]:
    """The leaves of a file over those of its bases, each with the file it comes from; and the place of every path."""
    chain = (*chain, origin.path.resolve())
    leaves: dict[str, tuple[Leaf, _Origin]] = {}
    places: dict[str, str] = {}
    if (base := document.leaves.get("base")) is not None:
        parent = _base(origin, base)
        if parent.path.resolve() in chain:
            loop = " -> ".join(path.stem for path in (*chain, parent.path))
            raise GpusimError(f"`base` runs in a circle: {loop}.", where=base.place, hint="Let one of these files stand on its own.")
        inherited, places = _resolve(parent, read(parent.path), chain)
        leaves = {path: entry for path, entry in inherited.items() if path not in _OWN}
    for path, leaf in document.leaves.items():
        if path != "base":
            _override(leaves, path)
            leaves[path] = (leaf, origin)
    return leaves, places | document.places


def _override(leaves: dict[str, tuple[Leaf, _Origin]], path: str) -> None:
    """Removes what `path` replaces: a section below it (a leaf, or null, in its place) or a leaf above it (a null of the base)."""
    above = {path[:i] for i, c in enumerate(path) if c == "."}
    below = path + "."
    for old in [old for old in leaves if old in above or old.startswith(below)]:
        del leaves[old]


def _base(origin: _Origin, base: Leaf) -> _Origin:
    if not isinstance(base.value, str):
        raise GpusimError(f"base = {base.value!r} is not the name of a GPU or a .yaml file.", where=base.place)
    if base.value.lower().endswith(_SUFFIXES):
        path = origin.path.parent / base.value
        if not path.is_file():
            raise GpusimError(f"base = '{base.value}': there is no file {path}.", where=base.place, hint="The path counts from the folder of this file.")
        return _Origin(path, path.stem, user=True)
    try:
        name = canonical(base.value)
    except GpusimError as error:
        raise GpusimError(error.what, where=f"{base.place}, base", hint=error.hint) from None
    return _Origin(_CONFIGS / f"{name}.yaml", name, user=False)


def _source(leaf: Leaf, of: _Origin, origin: _Origin) -> str:
    """The source of a leaf as this specification should state it: a number taken over from a base says from which."""
    source = leaf.source or (f"user file {of.path}" if of.user else "")
    return source if not source or of == origin else f"as on {of.label}: {source}"


def _nested(leaves: dict[str, Leaf]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *sections, last = path.split(".")
        node = tree
        for section in sections:
            node = node.setdefault(section, {})
        node[last] = leaf.value
    return tree
