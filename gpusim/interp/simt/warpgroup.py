"""wgmma: four warps multiply 64 rows of A by tiles of B in shared memory.

Values are there at once; that a kernel waits before it reads them is not checked. Shared memory is read when the instruction runs, and the
sanitizers see each lane of the warpgroup read its share of both tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.tensor import Tensor, alike, assembled, decoded
from gpusim.ir.simt.matrix import LANES, WARPGROUP, WGMMA_BYTES, WGMMA_M
from gpusim.ir.simt.nodes import Buffer

Array = Any
#: bytes of a row of a tile, which is the width of the swizzle as well, and of the pieces that it moves
ROW, CHUNK = 128, 16
THREADS = WARPGROUP * LANES


def swizzled(byte: Array) -> Array:
    """Where a byte of a tile stands: bits 4 to 6 of its address xor bits 7 to 9. PTX ISA, 128-byte swizzle."""
    return byte ^ (byte // ROW % 8 * CHUNK)


class Warpgroups(Tensor):
    def wgmma(self, site: Site, g: Group, *operands: Array) -> list[Array]:
        self.whole_warpgroups(site, g)
        stmt, regs = site.stmt, list(operands)
        if stmt.left is not None:
            left = self.tile_of(site, g, stmt.left, regs.pop(0), WGMMA_M)
        else:
            held = assembled(alike([g.to_warps(regs.pop(0)) for _ in stmt.a]), stmt.fmt, 2)
            left = held.reshape(len(held), -1, WGMMA_M, held.shape[-1])
        right = self.tile_of(site, g, stmt.buffer, regs.pop(0), stmt.n)
        product = spread(np.matmul(left, np.swapaxes(right, -1, -2)))
        return [g.from_warps(np.ascontiguousarray(p.astype(c.dtype) + g.to_warps(c))) for p, c in zip(product, regs, strict=True)]

    def whole_warpgroups(self, site: Site, g: Group) -> None:
        self.together(site, g)
        ids = np.arange(g.space.warps) if g.regular else g.warp_ids
        at = ids % g.space.warps
        if len(at) % WARPGROUP == 0 and (at == at[::WARPGROUP].repeat(WARPGROUP) // WARPGROUP * WARPGROUP + np.arange(len(at)) % WARPGROUP).all():
            return
        lane = self.lane_name(int(g.cta[0, 0]), int(at[0]) * LANES)
        self.fail(site.line, "wgmma runs in only some of the four warps of a warpgroup, one of its threads", lane, "Let warps 4 k to 4 k + 3 call it together.")

    def tile_of(self, site: Site, g: Group, buffer: Buffer, index: Array, rows: int) -> Array:
        """`rows` rows of 32 bytes in shared memory as numbers, shape (rows of g, warpgroups, rows, k). Lane q of a warpgroup reads every 128th chunk."""
        first = self._uniform(site, g, index.astype(np.int64))
        item = DTYPES[buffer.dtype].itemsize
        lane = (g.tid % THREADS)[: 1 if g.lanes is None else None]
        chunks = rows * WGMMA_BYTES // CHUNK
        read: list[Array] = []
        for begin in range(0, chunks, THREADS):
            chunk = (begin + lane) % chunks
            byte = buffer.offset + first * item + chunk // 2 * ROW + chunk % 2 * CHUNK
            place = (swizzled(byte) - buffer.offset) // item
            element = self.shared_place(site, g, buffer, place, CHUNK // item)
            self._seen(site, g, buffer, element, item)
            words = [self.gather(self.view("uint64"), g, element * item // 8 + j) for j in (0, 1)]
            read.append(np.stack([g.to_warps(w) for w in words], axis=-1))
        table = np.stack([r.reshape(len(r), -1, THREADS * 2) for r in read], axis=2).reshape(len(read[0]), -1, len(read) * THREADS * 2)
        data = np.ascontiguousarray(table[..., : chunks * 2]).view(np.uint8)
        return decoded(data.reshape(*data.shape[:2], rows, WGMMA_BYTES), site.stmt.fmt)

    def _uniform(self, site: Site, g: Group, index: Array) -> Array:
        """The index, which all threads of a warpgroup must agree on."""
        table = g.to_warps(index)
        groups = table.reshape(len(table), -1, THREADS)
        if (groups == groups[..., :1]).all():
            return index
        lane = self.lane_name(int(g.cta[0, 0]), int(g.tid[0, 0]))
        self.fail(site.line, "the threads of a warpgroup give wgmma different tiles, one of its threads", lane, "Compute the index from the warpgroup alone.")

    def _seen(self, site: Site, g: Group, buffer: Buffer, element: Array, item: int) -> None:
        if self.launch.sanitize:
            for cell in self.cells(element, item, CHUNK // item):
                self.report(site, g, self.shadow.load(g, cell, site.number), "reads", element, buffer)


def spread(product: Array) -> Array:
    """(rows, warpgroups, 64, n) -> (n // 2, rows, warps, 32): what each register of each lane gets of it."""
    rows, groups, _, n = product.shape
    parts = product.reshape(rows, groups, WARPGROUP, 2, 8, n // 8, 4, 2)
    return parts.transpose(5, 3, 7, 0, 1, 2, 4, 6).reshape(n // 2, rows, groups * WARPGROUP, LANES)
