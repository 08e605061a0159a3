"""Quantities as people write them: "192KiB", "4.8TB/s", "1.98GHz", "357ns", "97.7%", or a plain number in the base unit.

A `Unit` is a table of suffixes. `parse` reads, `show` prints the shortest text that `parse` reads back to the same number. The
annotated types below are what the specification tree uses; they keep the base unit in `json_schema_extra["unit"]`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(\S*)\s*")
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of quantity. base: the unit of a plain number; factors: suffix -> base units; whole: only whole numbers make sense."""

    kind: str
    base: str
    factors: dict[str, Decimal]
    example: str
    whole: bool = False

    def accepted(self) -> str:
        """What may be written, in words."""
        return f"Give a number in {self.base or 'the range 0 to 1'} or with a suffix of {', '.join(self.factors)}, such as {self.example}."


def _table(*groups: tuple[str, dict[str, int]]) -> dict[str, Decimal]:
    """Suffix -> factor for each base name with each of its prefixes, the bare name first."""
    return {prefix + name: Decimal(factor) for name, prefixes in groups for prefix, factor in {"": 1, **prefixes}.items()}


BYTES = Unit("size", "B", _table(("B", _DECIMAL | _BINARY)), "192KiB", whole=True)
BYTES_PER_SECOND = Unit("bandwidth", "B/s", _table(("B/s", _DECIMAL | _BINARY)), "4.8TB/s")
HERTZ = Unit("frequency", "Hz", _table(("Hz", {k: _DECIMAL[k] for k in "kMG"})), "1.98GHz")
NANOSECONDS = Unit("time", "ns", {"ns": Decimal(1), "us": Decimal(10**3), "µs": Decimal(10**3), "ms": Decimal(10**6), "s": Decimal(10**9)}, "357ns")
OPS_PER_SECOND = Unit("rate", "FLOP/s", _table(("FLOP/s", _DECIMAL), ("OP/s", _DECIMAL)), "989.4TFLOP/s")
WATTS = Unit("power", "W", _table(("W", {"k": 10**3})), "700W")
PICOJOULES = Unit("energy", "pJ", {"pJ": Decimal(1), "nJ": Decimal(10**3), "uJ": Decimal(10**6)}, "8.7pJ")
FRACTION = Unit("share", "", {"%": Decimal("0.01")}, "0.97 or 97%")

#: base unit -> the Unit that prints it
BY_BASE = {unit.base: unit for unit in (BYTES, BYTES_PER_SECOND, HERTZ, NANOSECONDS, OPS_PER_SECOND, WATTS, PICOJOULES, FRACTION)}


def parse(value: Any, unit: Unit) -> float:
    """`value` in base units (an int where `unit.whole`). Raises ValueError that names the value and what is accepted."""
    factor, number = Decimal(1), value
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match is None or match[2] not in {"", *unit.factors}:
            raise ValueError(f"{value!r} is not a {unit.kind}. {unit.accepted()}")
        number, factor = match[1], unit.factors.get(match[2], Decimal(1))
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a {unit.kind}. {unit.accepted()}")
    exact = Decimal(str(number).replace("_", "")) * factor
    if not math.isfinite(float(exact)):
        raise ValueError(f"{value!r} is not a {unit.kind}. {unit.accepted()}")
    if not unit.whole:
        return float(exact)
    if exact != exact.to_integral_value():
        raise ValueError(f"{value!r} is not a whole number of {unit.base}. {unit.accepted()}")
    return int(exact)


def show(value: float, base: str) -> str:
    """`value` with the largest suffix that reads back to the same number: show(233472, "B") -> "228KiB".

    base: a base unit of this module, or any other label, which is then only appended.
    """
    unit = BY_BASE.get(base)
    if unit is None or unit is FRACTION:
        return f"{value:g} {base}".strip() if float(f"{value:g}") == value else f"{value!r} {base}".strip()
    for suffix, factor in sorted(unit.factors.items(), key=lambda item: -item[1]):
        short = f"{value / float(factor):.6g}"
        if 1 <= float(short) < 10**6 and float(Decimal(short) * factor) == value:
            return short + suffix
    return f"{value!r}{unit.base}"


def _not_bool(value: Any) -> Any:
    """YAML reads `yes` as true, and true would pass as the number 1."""
    if value is True or value is False:
        raise ValueError(f"{value!r} is not a number.")
    return value


def _reader(unit: Unit) -> BeforeValidator:
    return BeforeValidator(lambda value: parse(value, unit))


#: for plain numbers without a unit: refuses true and false
Plain = BeforeValidator(_not_bool)

Bytes = Annotated[int, _reader(BYTES), Field(ge=0, json_schema_extra={"unit": "B"})]
BytesPerSecond = Annotated[float, _reader(BYTES_PER_SECOND), Field(gt=0, json_schema_extra={"unit": "B/s"})]
Hertz = Annotated[float, _reader(HERTZ), Field(gt=0, json_schema_extra={"unit": "Hz"})]
Nanoseconds = Annotated[float, _reader(NANOSECONDS), Field(ge=0, json_schema_extra={"unit": "ns"})]
OpsPerSecond = Annotated[float, _reader(OPS_PER_SECOND), Field(gt=0, json_schema_extra={"unit": "FLOP/s"})]
Watts = Annotated[float, _reader(WATTS), Field(gt=0, json_schema_extra={"unit": "W"})]
Picojoules = Annotated[float, _reader(PICOJOULES), Field(ge=0, json_schema_extra={"unit": "pJ"})]
Fraction = Annotated[float, _reader(FRACTION), Field(ge=0, le=1, json_schema_extra={"unit": ""})]
