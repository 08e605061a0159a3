"""Kernels of rows and elements, of the kinds that Triton's tutorials have."""

import gpusim.triton as triton
import gpusim.triton.language as tl
from gpusim.triton.language.extra import libdevice


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK
    at = first + tl.arange(0, BLOCK)
    inside = at < count
    total = tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, total, mask=inside)


@triton.jit
def persistent_softmax(out_ptr, in_ptr, in_stride, out_stride, rows, columns, BLOCK: tl.constexpr, stages: tl.constexpr):
    """Each program takes every n-th row."""
    first, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(first, rows, step, num_stages=stages):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        values = tl.load(in_ptr + row * in_stride + at, mask=inside, other=-float("inf"))
        e = tl.exp(values - tl.max(values, axis=0))
        tl.store(out_ptr + row * out_stride + at, e / tl.sum(e, axis=0), mask=inside)


@triton.jit
def seeded_dropout(x_ptr, out_ptr, count, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    x = tl.load(x_ptr + at, mask=inside)
    keep = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(keep, x / (1 - p), 0.0), mask=inside)


@triton.jit
def norm_forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, columns, eps, BLOCK: tl.constexpr):
    """Layer norm of a row in pieces: the mean, the variance, then the result."""
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
        x = tl.where(at < columns, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        w = tl.load(w_ptr + at, mask=inside)
        b = tl.load(b_ptr + at, mask=inside)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def norm_backward(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, columns, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """dx of a row; its share of dw and db is added to one of GROUPS partial sums, under a lock of that group."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    x_ptr += row * stride
    dy_ptr += row * stride
    dx_ptr += row * stride
    group = row % GROUPS
    lock_ptr += group
    seen_ptr = lock_ptr + GROUPS
    dw_ptr = dw_ptr + group * columns + at
    db_ptr = db_ptr + group * columns + at
    x = tl.load(x_ptr + at, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + at, mask=inside, other=0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.0)
    grown = tl.where(inside, w * dy, 0.0)
    c1 = tl.sum(normal * grown, axis=0) / columns
    c2 = tl.sum(grown, axis=0) / columns
    tl.store(dx_ptr + at, (grown - (normal * c1 + c2)) * rstd, mask=inside)
    part_w = (dy * normal).to(w.dtype)
    part_b = dy.to(w.dtype)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    seen = tl.load(seen_ptr)
    if seen == 0:
        tl.atomic_xchg(seen_ptr, 1)
    else:
        part_w += tl.load(dw_ptr, mask=inside)
        part_b += tl.load(db_ptr, mask=inside)
    tl.store(dw_ptr, part_w, mask=inside)
    tl.store(db_ptr, part_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def norm_sums(part_ptr, out_ptr, groups, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Adds the partial sums of `norm_backward` up."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((ROWS, BLOCK), dtype=tl.float32)
    for i in range(0, groups, ROWS):
        rows = i + tl.arange(0, ROWS)
        inside = (rows[:, None] < groups) & (at[None, :] < columns)
        total += tl.load(part_ptr + rows[:, None] * columns + at[None, :], mask=inside, other=0.0)
    tl.store(out_ptr + at, tl.sum(total, axis=0), mask=at < columns)


@triton.jit
def arc_sine(x_ptr, y_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    tl.store(y_ptr + at, libdevice.asin(x), mask=at < count)


@triton.jit
def staged_copy(x_ptr, y_ptr, count, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), count, tl.num_programs(0), num_stages=num_stages):
        at = row * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at))


@triton.jit
def ones_and_twos(left, right, pitch, BLOCK: tl.constexpr):
    at = tl.program_id(0) * pitch + tl.arange(0, BLOCK)
    tl.store(left + at, 1.0)
    tl.store(right + at, 2.0)
