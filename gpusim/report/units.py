"""Numbers as people read them."""

from __future__ import annotations

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def count(value: float) -> str:
    """1234567 -> "1,234,567"."""
    return f"{value:,.0f}"


def size(value: float) -> str:
    """Bytes with a decimal prefix: 1234567 -> "1.23 MB"."""
    for factor, prefix in _PREFIXES:
        if value >= factor:
            return f"{value / factor:.3g} {prefix}B" if value < 999.5 * factor else f"{value / factor:.0f} {prefix}B"
    return f"{value:.0f} B"


def percent(value: float) -> str:
    """0.1234 -> "12.3 %"."""
    return f"{value * 100:.1f} %"


def microseconds(value: float) -> str:
    """Four significant digits, and the unit that suits."""
    if value >= 1000:
        return f"{value / 1000:.4g} ms"
    return f"{value:.4g} us"


def plural(number: int, word: str, several: str = "") -> str:
    """1, "CTA" -> "1 CTA"; 2, "CTA" -> "2 CTAs". several: the plural where it is not the word and an s."""
    return f"{count(number)} {word}" if number == 1 else f"{count(number)} {several or word + 's'}"
