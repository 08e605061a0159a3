"""The fingerprint of a run: equal exactly where the report is."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gpusim.ir.program import Program
from gpusim.spec.kinds import Device
from gpusim.trace.counters import Counters


def digest(program: Program, spec: Device, options: tuple[Any, ...], counters: Counters, picoseconds: int) -> str:
    """Of spec, program, options, integer counters and integer picoseconds."""
    parts = [spec.model_dump(mode="json", exclude={"provenance"}), repr(program), list(options), counters, picoseconds]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
