"""Whole small programs: several launches, random numbers, an algorithm of use."""

import math

import numpy as np
from home import cuda, float64, int64, random


@cuda.jit
def heat_step(old, new, k):
    """Explicit heat equation on a rod; its ends keep their temperature."""
    i = cuda.grid(1)
    if i < old.size:
        if i == 0 or i == old.size - 1:
            new[i] = old[i]
        else:
            new[i] = old[i] + k * (old[i - 1] - 2.0 * old[i] + old[i + 1])


@cuda.jit
def heat_block(buffers, steps, k):
    """The same in one launch: two buffers in turn, a barrier between the steps."""
    i = cuda.threadIdx.x
    n = buffers.shape[1]
    for step in range(steps):
        old = step % 2
        new = 1 - old
        value = buffers[old, i]
        if i > 0 and i < n - 1:
            value += k * (buffers[old, i - 1] - 2.0 * buffers[old, i] + buffers[old, i + 1])
        buffers[new, i] = value
        cuda.syncthreads()


@cuda.jit
def life(cells, following):
    """One generation on a torus."""
    y, x = cuda.grid(2)
    rows, cols = cells.shape
    if y < rows and x < cols:
        neighbours = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dy != 0 or dx != 0:
                    neighbours += cells[(y + dy + rows) % rows, (x + dx + cols) % cols]
        alive = cells[y, x] == 1
        following[y, x] = 1 if neighbours == 3 or (alive and neighbours == 2) else 0


@cuda.jit
def pi_kernel(states, rounds, out):
    t = cuda.grid(1)
    inside = 0
    for _ in range(rounds):
        x = random.xoroshiro128p_uniform_float32(states, t)
        y = random.xoroshiro128p_uniform_float32(states, t)
        if float64(x) * float64(x) + float64(y) * float64(y) <= 1.0:
            inside += 1
    out[t] = 4.0 * inside / rounds


@cuda.jit
def draws(states, out):
    t = cuda.grid(1)
    if t < out.shape[0]:
        for j in range(out.shape[1]):
            out[t, j] = random.xoroshiro128p_uniform_float64(states, t)


@cuda.jit(device=True)
def curve(x):
    return 4.0 / (1.0 + x * x)


@cuda.jit
def integrate(states, low, high, samples, out):
    """The mean of a function at random places, times the width."""
    t = cuda.grid(1)
    total = 0.0
    for _ in range(samples):
        x = low + random.xoroshiro128p_uniform_float64(states, t) * (high - low)
        total += curve(x)
    out[t] = total / samples * (high - low)


@cuda.jit
def sessions_begin(user, time, gap, session):
    """A session begins where the user changes or a pause is too long."""
    i = cuda.grid(1)
    if i < user.size:
        new = i == 0 or user[i] != user[i - 1] or time[i] - time[i - 1] > gap
        session[i] = i if new else -1


@cuda.jit
def sessions_number(session):
    """Every click takes the number of the last beginning before it; what a neighbour writes meanwhile is the same."""
    i = cuda.grid(1)
    if i < session.size:
        j = i
        while session[j] < 0:
            j -= 1
        cuda.atomic.max(session, i, session[j])


@cuda.jit
def nbody_forces(position, force):
    """All pairs, in float64, with a softening."""
    i = cuda.grid(1)
    if i < position.shape[0]:
        fx, fy = 0.0, 0.0
        for j in range(position.shape[0]):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            r = math.sqrt(dx * dx + dy * dy + 0.01)
            fx += dx / (r * r * r)
            fy += dy / (r * r * r)
        force[i, 0] = fx
        force[i, 1] = fy


@cuda.jit
def odd_even_sort(x):
    """One block sorts; each phase compares neighbours."""
    t = cuda.threadIdx.x
    for phase in range(x.size):
        j = 2 * t + phase % 2
        if j + 1 < x.size and x[j] > x[j + 1]:
            x[j], x[j + 1] = x[j + 1], x[j]
        cuda.syncthreads()


@cuda.jit
def primes(out):
    """Trial division; lanes leave the loop at different times."""
    n = cuda.grid(1)
    if n >= out.size:
        return
    out[n] = 0
    if n < 2:
        return
    d = int64(2)
    while d * d <= n:
        if n % d == 0:
            return
        d += 1
    out[n] = 1


@cuda.reduce
def total(a, b):
    return a + b


def case_heat(rng):
    a = np.zeros(120)
    a[0], a[60] = 100.0, 50.0
    old, new = cuda.to_device(a), cuda.to_device(a)
    for _ in range(6):
        heat_step[2, 64](old, new, 0.25)
        old, new = new, old
    return {"rod": old.copy_to_host()}


def case_heat_block(rng):
    buffers = np.zeros((2, 50))
    buffers[:, 0] = 10.0
    buffers[0, 20:30] = rng.random(10)
    heat_block[1, 50](buffers, 7, 0.25)
    return {"buffers": buffers}


def case_life(rng):
    cells = rng.integers(0, 2, (15, 18)).astype(np.int32)
    following = np.zeros_like(cells)
    for _ in range(3):
        life[(2, 3), (8, 8)](cells, following)
        cells, following = following, cells
    return {"cells": cells}


def case_pi(rng):
    states, out = random.create_xoroshiro128p_states(64, seed=1), np.zeros(64)
    pi_kernel[2, 32](states, 20, out)
    return {"out": out}


def case_draws(rng):
    states, out = random.create_xoroshiro128p_states(20, seed=99, subsequence_start=2), np.zeros((20, 6))
    draws[1, 32](states, out)
    return {"out": out}


def case_integrate(rng):
    states, out = random.create_xoroshiro128p_states(32, seed=5), np.zeros(32)
    integrate[1, 32](states, 0.0, 1.0, 10, out)
    return {"out": out}


def case_sessions(rng):
    user = np.sort(rng.integers(0, 6, 100))
    time = np.concatenate([np.sort(rng.integers(0, 500, n)) for n in np.bincount(user, minlength=6)])
    session = np.zeros(100, np.int64)
    sessions_begin[2, 64](user, time, 20, session)
    sessions_number[2, 64](session)
    return {"session": session}


def case_nbody(rng):
    position, force = rng.random((40, 2)), np.zeros((40, 2))
    nbody_forces[1, 64](position, force)
    return {"force": force}


def case_sort(rng):
    x = rng.permutation(50).astype(np.float32)
    odd_even_sort[1, 32](x)
    return {"x": x}


def case_primes(rng):
    out = np.zeros(200, np.int32)
    primes[4, 64](out)
    return {"out": out}


def case_reduce(rng):
    x = rng.integers(-1000, 1000, 700)
    return {"sum": np.array([total(x), total(x, init=5), total(x[:1])])}
