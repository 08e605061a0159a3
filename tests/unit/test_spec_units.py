"""Quantities: what is read, what is refused and how, and that what is printed reads back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from gpusim.spec import units
from gpusim.spec.units import BY_BASE, BYTES, BYTES_PER_SECOND, FRACTION, HERTZ, NANOSECONDS, OPS_PER_SECOND, Unit, parse, show

READ: list[tuple[Unit, Any, float]] = [
    (BYTES, "192KiB", 196608),
    (BYTES, "60MiB", 62914560),
    (BYTES, "80GB", 80_000_000_000),
    (BYTES, "0.5KiB", 512),
    (BYTES, 128, 128),
    (BYTES, "128", 128),
    (BYTES, " 1 KiB ", 1024),
    (BYTES_PER_SECOND, "4.8TB/s", 4.8e12),
    (BYTES_PER_SECOND, "900GB/s", 9e11),
    (BYTES_PER_SECOND, "1.5e3GB/s", 1.5e12),
    (HERTZ, "1.98GHz", 1.98e9),
    (HERTZ, "1980MHz", 1.98e9),
    (NANOSECONDS, "357ns", 357),
    (NANOSECONDS, "1.57us", 1570),
    (NANOSECONDS, "1.57µs", 1570),
    (NANOSECONDS, 0.604, 0.604),
    (OPS_PER_SECOND, "989.4TFLOP/s", 989.4e12),
    (OPS_PER_SECOND, "1.98POP/s", 1.98e15),
    (FRACTION, "97.7%", 0.977),
    (FRACTION, 0.12, 0.12),
]

REFUSED: list[tuple[Unit, Any]] = [
    (BYTES, "60mb"),  # mega or milli, byte or bit?
    (BYTES, "60KB"),  # 1000 or 1024?
    (BYTES, "1.3B"),
    (BYTES, 1.5),
    (BYTES, "80GB/s"),
    (BYTES, True),
    (BYTES, None),
    (BYTES, [1]),
    (BYTES, ""),
    (BYTES, "KiB"),
    (BYTES, "1,000"),
    (BYTES, "1e999"),
    (BYTES, 10**400),
    (BYTES_PER_SECOND, "4.8TB"),
    (HERTZ, "1.98 ghz"),
    (HERTZ, float("nan")),
    (NANOSECONDS, "357 cycles"),
    (NANOSECONDS, float("inf")),
    (OPS_PER_SECOND, "989TFLOPS"),
    (FRACTION, "a half"),
]


@pytest.mark.parametrize(("unit", "text", "value"), READ)
def test_reads(unit: Unit, text: Any, value: float) -> None:
    assert parse(text, unit) == value


def test_sizes_are_whole_numbers() -> None:
    assert isinstance(parse("0.5KiB", BYTES), int)


@pytest.mark.parametrize(("unit", "text"), REFUSED)
def test_refusal_names_the_value_and_what_is_accepted(unit: Unit, text: Any) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text, unit)
    assert repr(text) in str(caught.value)
    assert all(suffix in str(caught.value) for suffix in unit.factors)


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (62914560, "B", "60MiB"),
        (233472, "B", "228KiB"),
        (80 * 10**9, "B", "80GB"),
        (128, "B", "128B"),
        (4.815e12, "B/s", "4.815TB/s"),
        (1.98e9, "Hz", "1.98GHz"),
        (1570.0, "ns", "1.57us"),
        (0.604, "ns", "0.604ns"),
        (989.4e12, "FLOP/s", "989.4TFLOP/s"),
        (0.977, "", "0.977"),
        (12.6, "cycles", "12.6 cycles"),
        (65536, "", "65536"),
        (1234567, "", "1234567"),
    ],
)
def test_prints_readably(value: float, base: str, text: str) -> None:
    assert show(value, base) == text


@given(st.integers(min_value=0, max_value=10**18))
def test_printed_sizes_read_back(value: int) -> None:
    assert parse(show(value, "B"), BYTES) == value


@given(st.sampled_from(sorted(BY_BASE)), st.floats(min_value=0, max_value=1e18, allow_nan=False))
def test_printed_quantities_read_back(base: str, value: float) -> None:
    unit = BY_BASE[base]
    number = int(value) if unit.whole else value
    assert parse(show(number, base), unit) == number


@pytest.mark.parametrize(
    ("name", "unit", "good", "bad"),
    [
        ("Bytes", "B", "1KiB", -1),
        ("BytesPerSecond", "B/s", "1GB/s", 0),
        ("Hertz", "Hz", "1GHz", 0),
        ("Nanoseconds", "ns", "1us", -1),
        ("OpsPerSecond", "FLOP/s", "1TFLOP/s", 0),
        ("Fraction", "", "50%", "130%"),
    ],
)
def test_types_carry_their_unit_and_range(name: str, unit: str, good: str, bad: Any) -> None:
    adapter: TypeAdapter[float] = TypeAdapter(getattr(units, name))
    assert adapter.json_schema()["unit"] == unit
    assert adapter.validate_python(good) == parse(good, BY_BASE[unit])
    with pytest.raises(ValidationError):
        adapter.validate_python(bad)


def test_plain_numbers_refuse_yes_and_no() -> None:
    class Model(BaseModel):
        count: units.Annotated[int, units.Plain]

    assert Model(count=3).count == 3
    with pytest.raises(ValidationError, match="True is not a number"):
        Model.model_validate({"count": True})
