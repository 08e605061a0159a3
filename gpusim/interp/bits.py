"""Integer functions whose meaning is that of the machine's words: division towards zero, shifts, high halves, and the Philox generator.

Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), with their multipliers and key increments.
"""

from __future__ import annotations

import numpy as np

_ROUNDS = 10
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_INCREMENTS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b without its fraction; 0 where b is 0."""
    whole = a // b
    return whole + ((a % b != 0) & ((a < 0) != (b < 0))).astype(whole.dtype)


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What `quotient` leaves: it has the sign of a."""
    return np.fmod(a, b)


def shifted_left(a: np.ndarray, count: np.ndarray) -> np.ndarray:
    """a << count; 0 from the width of the word on."""
    return np.where(count < 8 * a.dtype.itemsize, np.left_shift(a, count), np.zeros((), a.dtype))


def shifted_right(a: np.ndarray, count: np.ndarray) -> np.ndarray:
    """a >> count; signed words keep their sign."""
    return np.right_shift(a, np.minimum(count, 8 * a.dtype.itemsize - 1).astype(a.dtype))


def mulhi(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The upper half of the product of two words of 32 bits."""
    wide = np.uint64 if a.dtype.kind == "u" else np.int64
    return (a.astype(wide) * b.astype(wide) >> wide(32)).astype(a.dtype)


def philox(seed: np.ndarray, counter: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The four words (uint32) of counter (its lower 32 bits, 0, 0, 0) under the 64 bits of `seed` as key."""
    seed, counter = np.broadcast_arrays(seed.astype(np.uint64), counter.astype(np.uint64))
    words = [counter & _LOW, counter >> _HALF, np.zeros_like(counter), np.zeros_like(counter)]
    key = [seed & _LOW, seed >> _HALF]
    for _ in range(_ROUNDS):
        a, b = _MULTIPLIERS[0] * words[0], _MULTIPLIERS[1] * words[2]
        words = [(b >> _HALF) ^ words[1] ^ key[0], b & _LOW, (a >> _HALF) ^ words[3] ^ key[1], a & _LOW]
        key = [(k + step) & _LOW for k, step in zip(key, _INCREMENTS, strict=True)]
    w0, w1, w2, w3 = (w.astype(np.uint32) for w in words)
    return w0, w1, w2, w3


def uniform(word: np.ndarray) -> np.ndarray:
    """fp32 in [0, 1): the word as a signed number, negative ones mirrored (-1 - x), times the largest fp32 that keeps the result below 1."""
    signed = word.astype(np.uint32).view(np.int32)
    return np.where(signed < 0, -1 - signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)
