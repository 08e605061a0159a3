"""Which of the cases that were read are asked for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from gpusim.errors import GpusimError
from gpusim.validate.cases import Case


def select(cases: Sequence[Case], groups: Iterable[str] = (), families: Iterable[str] = (), ids: Iterable[str] = ()) -> list[Case]:
    """The cases in any of `groups` and any of `families` (all, where none is named) whose id passes `ids`: patterns with * and ?,
    those that begin with ! exclude. Each entry may hold several, separated by commas. GpusimError for a name or pattern that nothing has."""
    found = list(cases)
    for option, key, wanted in (("--group", "group", _split(groups)), ("--family", "family", _split(families))):
        known = {getattr(case, key) for case in cases}
        for name in wanted:
            if name not in known:
                raise _unknown(option, name, known)
        found = [case for case in found if not wanted or getattr(case, key) in wanted]
    patterns = _split(ids)
    found = [case for case in found if _passes(case.id, patterns)]
    if not found:
        raise GpusimError(f"none of {len(cases)} cases is left.", where="--group, --family, --id", hint="Loosen one of them.")
    return found


def _split(names: Iterable[str]) -> list[str]:
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def _passes(name: str, patterns: list[str]) -> bool:
    include = [p for p in patterns if not p.startswith("!")]
    exclude = [p[1:] for p in patterns if p.startswith("!")]
    return (not include or any(fnmatchcase(name, p) for p in include)) and not any(fnmatchcase(name, p) for p in exclude)


def _unknown(option: str, name: str, known: set[str]) -> GpusimError:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"There are {', '.join(sorted(known))}."
    return GpusimError(f"no case has '{name}'.", where=option, hint=hint)
