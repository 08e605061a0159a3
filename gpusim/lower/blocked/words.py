"""What a thread does with words: the Philox generator and the number in [0, 1) that comes from a word of it.

Philox 4x32-10 as in `interp.bits`: ten rounds of two 32 x 32 -> 64 bit products, two exclusive ors of three words, and two additions to the key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.ir.simt.nodes import Imm, Value
from gpusim.lower.blocked.emit import BOOL, FLOAT, INT, WORD, Emitter

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
INCREMENTS = (0x9E3779B9, 0xBB67AE85)
#: the largest fp32 by which a word of 31 bits stays below 1
SCALE = 4.6566127342e-10

Function = Callable[[Emitter, tuple[Value, ...]], Value]


def philox(word: int) -> Function:
    """Word 0 to 3 of a counter (second argument) under the seed (first)."""

    def make(e: Emitter, args: tuple[Value, ...]) -> Value:
        seed, counter = args
        words = [*_halves(e, counter), Imm(0, WORD), Imm(0, WORD)]
        key = _halves(e, seed)
        for _ in range(ROUNDS):
            words = _round(e, words, key)
            key = [e.op("add", WORD, k, Imm(step, WORD)) for k, step in zip(key, INCREMENTS, strict=True)]
        return words[word]

    return make


def _round(e: Emitter, words: list[Value], key: list[Value]) -> list[Value]:
    high = [e.op("mulhi", WORD, w, Imm(m, WORD)) for w, m in zip((words[0], words[2]), MULTIPLIERS, strict=True)]
    low = [e.op("mul", WORD, w, Imm(m, WORD)) for w, m in zip((words[0], words[2]), MULTIPLIERS, strict=True)]
    mixed = [e.op("xor", WORD, e.op("xor", WORD, h, w), k) for h, w, k in zip((high[1], high[0]), (words[1], words[3]), key, strict=True)]
    return [mixed[0], low[1], mixed[1], low[0]]


def _halves(e: Emitter, value: Value) -> list[Value]:
    """Lower and upper 32 bits."""
    kind: Any = value.dtype
    upper: Value = e.cast(e.op("shr", kind, value, Imm(32, kind)), WORD) if kind.endswith("64") else Imm(0, WORD)
    return [e.cast(value, WORD), upper]


def uniform(e: Emitter, args: tuple[Value, ...]) -> Value:
    """fp32 in [0, 1): negative words are mirrored."""
    signed = e.op("bitcast", INT, args[0])
    positive = e.op("select", INT, e.op("lt", BOOL, signed, Imm(0, INT)), e.op("not", INT, signed), signed)
    return e.op("mul", FLOAT, e.op("cvt", FLOAT, positive), Imm(SCALE, FLOAT))
