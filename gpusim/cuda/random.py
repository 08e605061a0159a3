# mypy: allow-untyped-defs
"""Random numbers in kernels: xoroshiro128+, one generator a thread, the same numbers as `numba.cuda.random`.

The states are an opaque array of uint64 with shape (n, 2). Generator i is 2**64 steps ahead of generator i - 1.
Source: Blackman and Vigna, https://prng.di.unimi.it (xoroshiro128plus.c of 2016, with shifts 55, 14, 36); seeded by one step of SplitMix64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpusim.cuda.arrays import DeviceArray, device_array
from gpusim.cuda.dispatcher import jit
from gpusim.cuda.types import float32, float64, int64, uint32, uint64
from gpusim.errors import GpusimError

xoroshiro128p_dtype = np.dtype(np.uint64)
UNIT = 2.0**-53
TWO_PI_FLOAT32 = np.float32(2 * math.pi)
TWO_PI_FLOAT64 = np.float64(2 * math.pi)
JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
MASK = 2**64 - 1


@jit(device=True)
def init_xoroshiro128p_state(states, index, seed):
    """Seeds generator `index`."""
    index = int64(index)
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint32(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint32(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint32(31))
    states[index, 0] = z
    states[index, 1] = z


@jit(device=True)
def rotl(x, k):
    """The 64 bits of x, rotated left by k."""
    return (uint64(x) << uint32(k)) | (uint64(x) >> uint32(64 - k))


@jit(device=True)
def xoroshiro128p_next(states, index):
    """The next uint64 of generator `index`."""
    index = int64(index)
    s0 = states[index, 0]
    s1 = states[index, 1]
    result = s0 + s1
    s1 ^= s0
    states[index, 0] = rotl(s0, 55) ^ s1 ^ (s1 << uint32(14))
    states[index, 1] = rotl(s1, 36)
    return result


@jit(device=True)
def xoroshiro128p_jump(states, index):
    """Generator `index` goes 2**64 steps ahead."""
    index = int64(index)
    s0 = uint64(0)
    s1 = uint64(0)
    for b in range(128):
        word = uint64(0xBEAC0467EBA5FACB) if b < 64 else uint64(0xD86B048B86AA9922)
        if (word >> uint64(b & 63)) & uint64(1):
            s0 ^= states[index, 0]
            s1 ^= states[index, 1]
        xoroshiro128p_next(states, index)
    states[index, 0] = s0
    states[index, 1] = s1


@jit(device=True)
def uint64_to_unit_float64(x):
    """The upper 53 bits as a float64 in [0, 1)."""
    return (uint64(x) >> uint32(11)) * UNIT


@jit(device=True)
def uint64_to_unit_float32(x):
    """The same rounded to float32: in [0, 1]."""
    return float32(uint64_to_unit_float64(x))


@jit(device=True)
def xoroshiro128p_uniform_float32(states, index):
    """A float32 between 0 and 1."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


@jit(device=True)
def xoroshiro128p_uniform_float64(states, index):
    """A float64 in [0, 1)."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


@jit(device=True)
def xoroshiro128p_normal_float32(states, index):
    """A normally distributed float32 of mean 0 and deviation 1 (Box-Muller, of two uniform ones)."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float32(-2.0) * math.log(u1)) * math.cos(TWO_PI_FLOAT32 * u2)


@jit(device=True)
def xoroshiro128p_normal_float64(states, index):
    """A normally distributed float64; made, as in Numba, of two uniform float32."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float64(-2.0) * math.log(u1)) * math.cos(TWO_PI_FLOAT64 * u2)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> DeviceArray:
    """States of n generators, 2**64 steps apart, the first of them `subsequence_start` * 2**64 steps into the sequence."""
    states = device_array((n, 2), np.uint64)
    init_xoroshiro128p_states(states, seed, subsequence_start)
    return states


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Seeds `states` as create_xoroshiro128p_states does."""
    if states.ndim != 2 or states.shape[1] != 2 or states.dtype != np.uint64:
        raise GpusimError(f"random states have shape {states.shape} and type {states.dtype}.", hint="Make them with create_xoroshiro128p_states(n, seed).")
    if not 0 <= seed <= MASK or subsequence_start < 0:
        raise GpusimError(f"seed = {seed}, subsequence_start = {subsequence_start}.", hint="Give a seed of 0 to 2**64 - 1 and a start of 0 or more.")
    made = _sequence(states.shape[0], _seeded(seed), subsequence_start)
    states.copy_to_device(made) if isinstance(states, DeviceArray) else np.copyto(states, made)


def _seeded(seed: int) -> np.ndarray:
    """(1, 2): the state of the first generator."""
    z = (seed + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return np.full((1, 2), z ^ (z >> 31), np.uint64)


def _sequence(n: int, first: np.ndarray, start: int) -> np.ndarray:
    """(n, 2): states that are 2**64 steps apart. A jump is linear over single bits, so 2**k jumps are a 128 x 128 matrix, and each
    doubling makes the second half of the array from the first."""
    if n == 0:
        return np.empty((0, 2), np.uint64)
    jump = _jumped(_basis())
    power = jump
    while start:
        if start & 1:
            first = _apply(power, first)
        power, start = _apply(power, power), start >> 1
    made, power = first, jump
    while len(made) < n:
        made, power = np.concatenate([made, _apply(power, made[: n - len(made)])]), _apply(power, power)
    return made


def _basis() -> np.ndarray:
    """(128, 2): state b has bit b alone."""
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    zero = np.zeros(64, np.uint64)
    return np.concatenate([np.stack([bits, zero], 1), np.stack([zero, bits], 1)])


def _apply(matrix: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The linear map on each of `states` (m, 2); matrix (128, 2): the images of the single bits."""
    out = np.zeros_like(states)
    for byte in range(16):
        table = np.zeros((256, 2), np.uint64)
        for bit in range(8):
            table[1 << bit : 2 << bit] = table[: 1 << bit] ^ matrix[8 * byte + bit]
        word = states[:, byte // 8] >> np.uint64(8 * (byte % 8))
        out ^= table[(word & np.uint64(255)).astype(np.intp)]
    return out


def _jumped(states: np.ndarray) -> np.ndarray:
    """(m, 2): `states` 2**64 steps later, as the authors' jump() does it."""
    s0, s1 = states[:, 0].copy(), states[:, 1].copy()
    out = np.zeros_like(states)
    for b in range(128):
        if JUMP[b // 64] >> (b % 64) & 1:
            out[:, 0] ^= s0
            out[:, 1] ^= s1
        s1 ^= s0
        s0, s1 = _rotated(s0, 55) ^ s1 ^ (s1 << np.uint64(14)), _rotated(s1, 36)
    return out


def _rotated(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))
