"""A tile in the registers of one thread, and the three forms of 16-bit numbers there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from struct import pack

from gpusim.ir.simt.nodes import Imm, Value
from gpusim.ir.types import DType
from gpusim.lower.blocked.emit import FLOAT, WORD, Element, Emitter, now

#: 16-bit formats: arithmetic takes place in fp32
NARROW = ("bf16", "fp16")
#: the byte permutation that brings the upper half of a word down
UPPER = 0x7732


@dataclass(frozen=True, slots=True)
class Held:
    """A tile: one register for each place of `layout.offsets`, where `shape` are its extents along the axes of the layout. `words`: two neighbouring 16-bit
    numbers in each register instead."""

    shape: tuple[int, ...]
    dtype: DType
    values: tuple[Element, ...]
    words: bool = False


def wide(e: Emitter, tile: Held) -> tuple[Element, ...]:
    """The elements as arithmetic takes them: 16-bit floats as fp32, all else as it is."""
    if tile.dtype.name not in NARROW:
        return tile.values
    if tile.words:
        return tuple(half for word in tile.values for half in _halves(e, word, tile.dtype))
    return tuple(Imm(v.value, FLOAT) if isinstance(v, Imm) else e.later(partial(_widened, e, v)) for v in tile.values)


def _widened(e: Emitter, element: Element) -> Value:
    return e.cast(now(element), FLOAT)


def _halves(e: Emitter, word: Element, dtype: DType) -> tuple[Element, Element]:
    both = e.later(lambda: _unpacked(e, now(word), dtype))
    return e.later(lambda: both.get()[0]), e.later(lambda: both.get()[1])


def _unpacked(e: Emitter, word: Value, dtype: DType) -> tuple[Value, Value]:
    """Both numbers of a word. bf16 is the upper half of fp32: the lower number is shifted up, the upper one brought down and shifted up, as the
    compiler emits it (`compiled/layernorm_bf16_4096_w8.sassops`: PRMT and two SHF a pair)."""
    if dtype.name == "fp16":
        low, high = (e.cast(e.op(f"unpack.{half}", dtype.numpy, word), FLOAT) for half in ("lo", "hi"))
        return low, high
    sixteen = Imm(16, WORD)
    high = e.op("prmt", WORD, word, Imm(0, WORD), Imm(UPPER, WORD))
    return tuple(e.op("bitcast", FLOAT, e.op("shl", WORD, half, sixteen)) for half in (word, high))  # type: ignore[return-value]


def narrowed(e: Emitter, values: tuple[Element, ...], dtype: DType, paired: bool) -> tuple[tuple[Element, ...], bool]:
    """fp32 values rounded to a 16-bit format, two in a word where neighbours are `paired`; and whether they are."""
    if not paired:
        return tuple(e.later(partial(_rounded, e, v, dtype)) for v in values), False
    pairs = zip(values[::2], values[1::2], strict=True)
    return tuple(e.later(partial(_packed, e, *pair, dtype)) for pair in pairs), True


def _rounded(e: Emitter, element: Element, dtype: DType) -> Value:
    return e.cast(now(element), dtype.numpy)


def _packed(e: Emitter, low: Element, high: Element, dtype: DType) -> Value:
    pair = (now(low), now(high)) if dtype.name == "bf16" else (_rounded(e, low, dtype), _rounded(e, high, dtype))
    return e.op("pack", WORD, *pair)


def computing(dtype: DType) -> str:
    """Type of the registers in which elements of `dtype` are computed."""
    return FLOAT if dtype.name in NARROW else dtype.numpy


def pattern(number: float, dtype: DType) -> int:
    """The 16 bits of a constant."""
    if dtype.name == "fp16":
        return int.from_bytes(pack("<e", number), "little")
    bits = int.from_bytes(pack("<f", number), "little")
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
