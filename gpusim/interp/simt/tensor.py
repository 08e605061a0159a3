"""ldmatrix and mma.sync with the register layouts of PTX (lane l: group l // 4, thread in group l % 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt import counting, recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.warp_ops import LANES, WarpOps
from gpusim.ir.simt.matrix import size

Array = Any
Matrix = Array
#: tf32 keeps the upper 19 bits of a float32; what stands in the others has no effect
TF32 = np.uint32(0xFFFFE000)


def _fp8() -> Any:
    import ml_dtypes

    return np.dtype(ml_dtypes.float8_e4m3fn)


#: format of an operand -> how its registers are read
_FORMATS: dict[str, Any] = {
    "bf16": DTYPES["bfloat16"],
    "fp16": DTYPES["float16"],
    "tf32": DTYPES["float32"],
    "fp8": _fp8(),
    "int8": DTYPES["int8"],
    "fp64": DTYPES["float64"],
}


def decoded(register: Array, fmt: str) -> Array:
    """The elements in packed registers, or in bytes, as numbers to multiply: exact in float32, but for fp64."""
    raw = np.ascontiguousarray(register)
    if fmt == "tf32":
        raw = raw.view(np.uint32) & TF32
    return raw.view(_FORMATS[fmt]).astype(np.float64 if fmt == "fp64" else np.float32)


def alike(tables: list[Array]) -> list[Array]:
    """The tables with as many rows as the longest."""
    rows = max(len(x) for x in tables)
    return [np.broadcast_to(x, (rows, *x.shape[1:])) for x in tables]


def tile(register: Array, fmt: str) -> Matrix:
    """8 rows of the matrix of each warp in one register: row l // 4, p columns from p * (l % 4) on. (rows, warps, 32) -> (rows, warps, 8, 4 p)."""
    return decoded(register, fmt).reshape(*register.shape[:2], 8, -1)


def assembled(registers: list[Array], fmt: str, high: int) -> Matrix:
    """An operand of `high` * 8 rows from its registers, those of a column of tiles one after the other."""
    tiles = [tile(r, fmt) for r in registers]
    columns = [np.concatenate(tiles[i : i + high], -2) for i in range(0, len(tiles), high)]
    return np.concatenate(columns, -1)


def added(product: Matrix, before: list[Array], sums: str) -> list[Array]:
    """product (rows, warps, m, 8) plus the accumulators before (each (rows, warps, 32)), in registers as `before`."""
    rows = len(product)
    m = product.shape[-2]
    out: list[Array] = []
    for half in range(m // 8):
        part = product[..., 8 * half : 8 * half + 8, :].reshape(rows, -1, 32, 2)
        if sums == "fp16":
            old = np.broadcast_to(before[half], part.shape[:-1])
            pairs = np.ascontiguousarray(old).view(np.float16).reshape(part.shape)
            out.append(np.ascontiguousarray((part + pairs.astype(np.float32)).astype(np.float16)).view(np.uint32).reshape(part.shape[:-1]))
        else:
            out += [part[..., j].astype(before[0].dtype) + before[2 * half + j] for j in (0, 1)]
    return out


class Tensor(WarpOps):
    def together(self, site: Site, g: Group) -> None:
        if not g.active.all():
            row, k = 0, int(np.flatnonzero(~g.active.ravel())[0]) // 32
            warp = int(g.warp_ids[k]) if not g.regular else k
            cta = int(g.cta[0, 0]) if g.lanes is None else warp // self.space.warps
            lane = self.lane_name(cta + row, warp % self.space.warps * 32)
            self.fail(site.line, "an instruction of the whole warp runs with only some of its lanes", lane, "Call it outside of divergent branches.")

    def mma(self, site: Site, g: Group, *operands: Array) -> list[Array]:
        self.together(site, g)
        stmt = site.stmt
        regs = alike([g.to_warps(x) for x in operands])
        first, second = len(stmt.a), len(stmt.a) + len(stmt.b)
        left = assembled(regs[:first], stmt.fmt, size(stmt.shape)[0] // 8)
        right = assembled(regs[first:second], stmt.fmt, 1)
        product = np.matmul(left, np.swapaxes(right, -1, -2))
        return [g.from_warps(np.ascontiguousarray(x)) for x in added(product, regs[second:], stmt.sums)]

    def ldmatrix(self, site: Site, g: Group, index: Array) -> list[Array]:
        self.together(site, g)
        stmt = site.stmt
        n, item = len(stmt.dst), DTYPES[stmt.buffer.dtype].itemsize
        per = 16 // item
        table = g.to_warps(index.astype(np.int64))
        used = np.where(LANES < 8 * n, table, table[..., :1])
        element = self.shared_place(site, g, stmt.buffer, g.from_warps(np.ascontiguousarray(used)), per)
        self.count_matrix(site, g, element * item, n)
        if self.launch.sanitize:
            for cell in self.cells(element, item, per):
                self.report(site, g, self.shadow.load(g, cell, site.number), "reads", element, stmt.buffer)
        view = self.view("uint16")
        first = element * item // 2
        columns = [g.to_warps(self.gather(view, g, first + j)) for j in range(8)]
        rows = np.stack(columns, axis=-1)
        out = []
        for i in range(n):
            matrix = rows[:, :, 8 * i : 8 * i + 8, :]
            if stmt.trans:
                matrix = np.swapaxes(matrix, -1, -2)
            packed = np.ascontiguousarray(matrix).view(np.uint32).reshape(*matrix.shape[:2], 32)
            out.append(g.from_warps(packed).view(DTYPES[stmt.dst[i].dtype]))
        return out

    def count_matrix(self, site: Site, g: Group, byte: Array, n: int) -> None:
        if site.access < 0:
            return
        table = g.to_warps(byte)[..., : 8 * n].reshape(-1, 8)
        words = ((table >> 2)[:, :, None] + np.arange(4)).reshape(len(table), 32)
        waves = counting.worst_bank(words, np.ones(words.shape, bool)).reshape(len(byte), -1, n).sum(axis=-1)
        self.launch.counts.requests[site.access] += g.warps
        self.launch.counts.wavefronts[site.access] += int(waves.sum()) * (g.shape[0] if len(waves) == 1 else 1)
        if len(self.record_rows):
            recording.shared(self, site, g, waves)
