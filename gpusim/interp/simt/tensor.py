"""ldmatrix and mma.sync with the register layouts of PTX (lane l: group l // 4, thread in group l % 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt import counting, recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.warp_ops import LANES, WarpOps

Array = Any
_FORMATS: dict[str, Any] = {"bf16": DTYPES["bfloat16"], "fp16": DTYPES["float16"]}


def tile(register: Array, dtype: Any) -> Array:
    """8x8 matrix of each warp in one uint32 register: row l // 4, columns 2 * (l % 4) and the next. (rows, warps, 32) -> (rows, warps, 8, 8)."""
    pairs = np.ascontiguousarray(register).view(dtype)
    return pairs.reshape(*register.shape[:2], 8, 8)


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
        dtype = _FORMATS[site.stmt.fmt]
        regs = [g.to_warps(x) for x in operands]
        rows = max(len(x) for x in regs)
        a = [tile(x, dtype).astype(np.float32) for x in regs[:4]]
        b = [np.swapaxes(tile(x, dtype), -1, -2).astype(np.float32) for x in regs[4:6]]
        full = [np.broadcast_to(x, (rows, *x.shape[1:])) for x in a + b]
        left = np.concatenate([np.concatenate([full[0], full[2]], -1), np.concatenate([full[1], full[3]], -1)], -2)
        right = np.concatenate([full[4], full[5]], -2)
        product = np.matmul(left, right)
        c = [np.broadcast_to(x, (rows, *x.shape[1:])) for x in regs[6:]]
        out = []
        for half in (0, 1):
            part = product[..., 8 * half : 8 * half + 8, :].reshape(rows, -1, 32, 2)
            out += [part[..., 0] + c[2 * half], part[..., 1] + c[2 * half + 1]]
        return [g.from_warps(np.ascontiguousarray(x)) for x in out]

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
