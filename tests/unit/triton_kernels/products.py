"""Kernels with matrix products, of the kinds that Triton's tutorials have."""

import gpusim.triton as triton
import gpusim.triton.language as tl


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


def configurations():
    return [triton.Config({"BM": bm, "BN": 64, "BK": 32, "GROUP": 8}, num_stages=3, num_warps=w) for bm, w in ((64, 4), (128, 8))]


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + ((pid % in_group) % height)
    pid_n = (pid % in_group) // height
    tl.assume(pid_m >= 0)
    at_m = (pid_m * BM + tl.arange(0, BM)) % M
    at_n = (pid_n * BN + tl.arange(0, BN)) % N
    at_k = tl.arange(0, BK)
    a_ptrs = a_ptr + (at_m[:, None] * stride_am + at_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (at_k[:, None] * stride_bk + at_n[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=at_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=at_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    if ACTIVATION == "leaky":
        acc = leaky(acc)
    c = acc.to(tl.float16)
    to_m = pid_m * BM + tl.arange(0, BM)
    to_n = pid_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + stride_cm * to_m[:, None] + stride_cn * to_n[None, :]
    tl.store(c_ptrs, c, mask=(to_m[:, None] < M) & (to_n[None, :] < N))


@triton.jit
def tile_of(tile, in_group, rows, GROUP: tl.constexpr):
    group = tile // in_group
    first = group * GROUP
    height = min(rows - first, GROUP)
    return first + tile % height, (tile % in_group) // height


@triton.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr
):
    """Row-major A [M, K], B [N, K] transposed, C [M, N], through descriptors; each program takes every PROGRAMS-th tile."""
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b_desc = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    start = tl.program_id(axis=0)
    rows, columns, steps = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    late = start - PROGRAMS
    for tile in tl.range(start, rows * columns, PROGRAMS, flatten=FLATTEN):
        pid_m, pid_n = tile_of(tile, GROUP * columns, rows, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(steps):
            a = a_desc.load([pid_m * BM, step * BK])
            b = b_desc.load([pid_n * BN, step * BK])
            acc = tl.dot(a, b.T, acc)
        late += PROGRAMS
        pid_m, pid_n = tile_of(late, GROUP * columns, rows, GROUP)
        c_desc.store([pid_m * BM, pid_n * BN], acc.to(tl.float16))


@triton.jit
def persistent_matmul_ptr(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """The same by pointers, with offsets that wrap at the edge."""
    start = tl.program_id(axis=0)
    rows, columns, steps = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    at_k = tl.arange(0, BK)
    for tile in tl.range(start, rows * columns, PROGRAMS):
        pid_m, pid_n = tile_of(tile, GROUP * columns, rows, GROUP)
        at_m = pid_m * BM + tl.arange(0, BM)
        at_n = pid_n * BN + tl.arange(0, BN)
        at_m = tl.where(at_m < M, at_m, 0)
        at_n = tl.where(at_n < N, at_n, 0)
        at_m = tl.max_contiguous(tl.multiple_of(at_m, BM), BM)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(steps):
            k = step * BK + tl.arange(0, BK)
            a = tl.load(a_ptr + (at_m[:, None] * sam + k[None, :] * sak), mask=at_k[None, :] < K - step * BK, other=0.0)
            b = tl.load(b_ptr + (k[:, None] * sbk + at_n[None, :] * sbn), mask=at_k[:, None] < K - step * BK, other=0.0)
            acc = tl.dot(a, b, acc)
        to_m = pid_m * BM + tl.arange(0, BM)
        to_n = pid_n * BN + tl.arange(0, BN)
        tl.store(c_ptr + scm * to_m[:, None] + scn * to_n[None, :], acc.to(tl.float16), mask=(to_m[:, None] < M) & (to_n[None, :] < N))


@triton.jit
def block_pointer_matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(a_ptr, shape=(M, K), strides=(K, 1), offsets=(pid_m * BM, 0), block_shape=(BM, BK), order=(1, 0))
    b = tl.make_block_ptr(b_ptr, shape=(K, N), strides=(N, 1), offsets=(0, pid_n * BN), block_shape=(BK, BN), order=(1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)), input_precision="ieee")
        a = tl.advance(a, (0, BK))
        b = tl.advance(b, (BK, 0))
    c = tl.make_block_ptr(c_ptr, shape=(M, N), strides=(N, 1), offsets=(pid_m * BM, pid_n * BN), block_shape=(BM, BN), order=(1, 0))
    tl.store(c, acc, boundary_check=(0, 1))


@triton.jit
def attention_inner(
    acc, l_i, m_i, q, k_desc, v_desc, offset_y, start_m, qk_scale,
    BM: tl.constexpr, HEAD: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr, offs_m: tl.constexpr, offs_n: tl.constexpr, CONTEXT: tl.constexpr,
):  # fmt: skip
    if STAGE == 1:
        lo, hi = 0, start_m * BM
    elif STAGE == 2:
        lo, hi = start_m * BM, (start_m + 1) * BM
        lo = tl.multiple_of(lo, BM)
    else:
        lo, hi = 0, CONTEXT
    at_k = offset_y + lo
    for start_n in tl.range(lo, hi, BN):
        start_n = tl.multiple_of(start_n, BN)
        k = k_desc.load([at_k, 0]).T
        qk = tl.dot(q, k)
        if STAGE == 2:
            mask = offs_m[:, None] >= (start_n + offs_n[None, :])
            qk = qk * qk_scale + tl.where(mask, 0, -1.0e6)
            m_ij = tl.maximum(m_i, tl.max(qk, 1))
            qk -= m_ij[:, None]
        else:
            m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
            qk = qk * qk_scale - m_ij[:, None]
        p = tl.math.exp2(qk)
        alpha = tl.math.exp2(m_i - m_ij)
        l_ij = tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = v_desc.load([at_k, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
        l_i = l_i * alpha + l_ij
        m_i = m_ij
        at_k += BN
    return acc, l_i, m_i


@triton.jit
def descriptor(maybe, shape, strides, block_shape):
    if isinstance(maybe, tl.tensor_descriptor):
        return maybe
    else:
        return tl.make_tensor_descriptor(maybe, shape, strides, block_shape)


@triton.jit
def attention(scale, M, Z, H, q_in, k_in, v_in, o_in, CONTEXT, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, STAGE: tl.constexpr):
    tl.static_assert(BN <= HEAD)
    start_m, off_hz = tl.program_id(0), tl.program_id(1)
    off_z, off_h = off_hz // H, off_hz % H
    y_dim = Z * H * CONTEXT
    q_desc = descriptor(q_in, shape=[y_dim, HEAD], strides=[HEAD, 1], block_shape=[BM, HEAD])
    k_desc = descriptor(k_in, shape=[y_dim, HEAD], strides=[HEAD, 1], block_shape=[BN, HEAD])
    v_desc = descriptor(v_in, shape=[y_dim, HEAD], strides=[HEAD, 1], block_shape=[BN, HEAD])
    o_desc = descriptor(o_in, shape=[y_dim, HEAD], strides=[HEAD, 1], block_shape=[BM, HEAD])
    offset_y = off_z * (CONTEXT * H) + off_h * CONTEXT
    at_q = offset_y + start_m * BM
    offs_m = start_m * BM + tl.arange(0, BM)
    offs_n = tl.arange(0, BN)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, HEAD], dtype=tl.float32)
    qk_scale = scale
    qk_scale *= 1.44269504
    q = q_desc.load([at_q, 0])
    if STAGE & 1:
        acc, l_i, m_i = attention_inner(acc, l_i, m_i, q, k_desc, v_desc, offset_y, start_m, qk_scale, BM, HEAD, BN, 4 - STAGE, offs_m, offs_n, CONTEXT)
    if STAGE & 2:
        acc, l_i, m_i = attention_inner(acc, l_i, m_i, q, k_desc, v_desc, offset_y, start_m, qk_scale, BM, HEAD, BN, 2, offs_m, offs_n, CONTEXT)
    m_i += tl.math.log2(l_i)
    acc = acc / l_i[:, None]
    tl.store(M + off_hz * CONTEXT + offs_m, m_i)
    o_desc.store([at_q, 0], acc.to(tl.float16))


@triton.jit
def grouped_matmul(a_ptrs, b_ptrs, c_ptrs, sizes, strides, groups, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of several pairs of matrices, whose addresses, sizes [M, N, K] and leading dimensions stand in arrays."""
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        gm = tl.load(sizes + g * 3)
        gn = tl.load(sizes + g * 3 + 1)
        gk = tl.load(sizes + g * 3 + 2)
        rows, columns = tl.cdiv(gm, BM), tl.cdiv(gn, BN)
        tiles = rows * columns
        while tile >= done and tile < done + tiles:
            lda = tl.load(strides + g * 3)
            ldb = tl.load(strides + g * 3 + 1)
            ldc = tl.load(strides + g * 3 + 2)
            a_ptr = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
            mine = tile - done
            tile_m, tile_n = mine // columns, mine % columns
            at_m = tile_m * BM + tl.arange(0, BM)
            at_n = tile_n * BN + tl.arange(0, BN)
            at_k = tl.arange(0, BK)
            a = a_ptr + at_m[:, None] * lda + at_k[None, :]
            b = b_ptr + at_k[:, None] * ldb + at_n[None, :]
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(0, tl.cdiv(gk, BK)):
                tl.multiple_of(a, [16, 16])
                acc += tl.dot(tl.load(a), tl.load(b))
                a += BK
                b += BK * ldb
            tl.store(c_ptr + ldc * at_m[:, None] + at_n[None, :], acc.to(tl.float16))
            tile += PROGRAMS
        done = done + tiles


@triton.jit
def described_matmul(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B^T through descriptors that the host made."""
    tl.static_assert(isinstance(a_desc, tl.tensor_descriptor))
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([pid_m * BM, k]), b_desc.load([pid_n * BN, k]).T, acc)
    c_desc.store([pid_m * BM, pid_n * BN], acc.to(c_desc.dtype))


@triton.jit
def biased_matmul(a, b, bias, residual, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, RESIDUAL: tl.constexpr):
    """relu(A B + bias) + residual."""
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    rm, rn, rk = pid_m * BM + tl.arange(0, BM), pid_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a + rm[:, None] * K + (k * BK + rk)[None, :])
        y = tl.load(b + (k * BK + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    acc = tl.maximum(acc + tl.load(bias + rn)[None, :], 0.0)
    at = rm[:, None] * N + rn[None, :]
    if RESIDUAL:
        acc += tl.load(residual + at).to(tl.float32)
    tl.store(c + at, acc.to(tl.float16))
