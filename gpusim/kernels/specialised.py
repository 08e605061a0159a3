"""C = A @ B by CTAs whose warpgroups have roles: one copies, the others multiply. Values are those of any tiled product."""

from __future__ import annotations

from dataclasses import replace

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.expr import Expr, expr
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.pipeline import CONSUMERS, SCHEDULES, Pipeline
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import dtype as dtype_of
from gpusim.kernels.behind import STEPS, Place

#: layout -> whether A, and whether B, is stored transposed
LAYOUTS = {"NN": (False, False), "NT": (False, True), "TN": (True, False), "TT": (True, True)}
WARPGROUP = 4
#: rows of a warpgroup instruction, and the most columns
ROWS, COLUMNS = 64, 256


def specialised(
    m: int,
    n: int,
    k: int,
    tile: tuple[int, int, int],
    plan: Pipeline,
    *,
    dtype: str = "bf16",
    out: str | None = None,
    layout: str = "NN",
    pitches: tuple[int | None, int | None, int | None] = (None, None, None),
    raster: str = "n",
    group: int = 1,
    epilogue: str = "",
    splits: int = 1,
) -> Program:
    """The program: clusters of tiles one after the other along `raster`, "m" or "n", `group` of them side by side.

    tile: (BM, BN, BK) elements. pitches of A, B, C in elements; None: rows lie packed. layout: one of LAYOUTS, of A and B. out: dtype of C, if not `dtype`.
    epilogue: what is done to the sums before they are stored, of STEPS, in this order, such as "bias+relu+residual".
    splits: shares into which k is divided, each with blocks of its own; C then has `splits` parts, one below the other, that are yet to be added up.
    Raises GpusimError for what cannot be divided so.
    """
    _check(tile, plan, layout, raster, group, dtype)
    bm, bn, bk = tile
    across, b_across = LAYOUTS[layout]
    down, wide = (-(-size // (t * c)) for size, t, c in zip((m, n), tile, plan.cluster, strict=False))
    tiles, deep = down * wide * plan.ctas_per_cluster, -(-k // (bk * splits))
    build = Builder("gemm", (tiles * splits,), WARPGROUP * (1 + plan.consumers))
    a = _operand(build, "a", dtype, (m, k), across, pitches[0])
    b = _operand(build, "b", dtype, (k, n), b_across, pitches[1])
    c = build.tensor("c", out or dtype, (m * splits, n), pitches[2] or n, "out")
    share = build.let("share", build.program_id(0) // tiles) if splits > 1 else expr(0)
    row, column = _place(build, build.program_id(0) % tiles if splits > 1 else build.program_id(0), plan, (down, wide), raster, group)
    acc = build.full((bm, bn), ACCUMULATORS[dtype_of(dtype).name], 0.0)
    masked = bool(m % (bm * plan.cluster[0]) or n % (bn * plan.cluster[1]) or k % (bk * splits))
    with build.loop("ks", deep, stages=plan.stages) as step:
        ks = share * deep + step
        x = _load(build, a, (row * bm, ks * bk), (bm, bk), masked, across)
        y = _load(build, b, (ks * bk, column * bn), (bk, bn), masked, b_across)
        build.dot(acc, x, y)
    at, end = Place((share * m + row * bm, column * bn), (bm, bn), masked, (share * m + m, None) if masked and splits > 1 else ()), acc
    for word in words(epilogue):
        end = STEPS[word](build, c, at, end)
    build.store(c, at.origin, build.cast(end, c.dtype), at.shape, masked, limits=at.limits)
    params = {"m": m, "n": n, "k": k, "tile": f"{bm}x{bn}x{bk}", "warps": build.warps, "dtype": dtype_of(dtype).name, "layout": layout}
    params |= plan.params | {"raster": raster, "group": group, "epilogue": epilogue}
    params |= {"splits": splits} if splits > 1 else {}
    return replace(build.finish(params, 2 * m * n * k), pipeline=plan)


def words(epilogue: str) -> list[str]:
    """The steps of `epilogue`. GpusimError for unknown ones, and for two of a kind."""
    words = epilogue.split("+") if epilogue else []
    unknown = next((word for word in words if word not in STEPS or words.count(word) > 1), None)
    if unknown is not None:
        raise GpusimError(f"epilogue = '{epilogue}': '{unknown}' is unknown or stands twice.", where="gemm", hint=f"Join some of {', '.join(STEPS)} with +.")
    return words


def _operand(build: Builder, name: str, of: str, shape: tuple[int, int], across: bool, pitch: int | None) -> Tensor:
    stored = shape[::-1] if across else shape
    return build.tensor(name, of, stored, pitch or stored[1])


def _load(build: Builder, t: Tensor, origin: tuple[Expr, Expr], shape: tuple[int, int], masked: bool, across: bool) -> str:
    """The tile at `origin` of the operand, whichever way it is stored."""
    if across:
        return build.load(t, origin[::-1], shape[::-1], masked, axes=(1, 0))
    return build.load(t, origin, shape, masked)


def _place(build: Builder, pid: Expr, plan: Pipeline, clusters: tuple[int, int], raster: str, group: int) -> tuple[Expr, Expr]:
    """(row, column) of the block's tile. clusters: how many there are down and across."""
    cm, cn = plan.cluster
    fast, slow = clusters if raster == "m" else clusters[::-1]
    rank = build.let("rank", pid % (cm * cn))
    number = build.let("number", pid // (cm * cn))
    band = build.let("band", number // (group * fast))
    height = build.let("height", (band * -group + slow).minimum(group))
    inside = build.let("inside", number % (group * fast))
    first = build.let("first", inside // height)
    second = build.let("second", band * group + inside % height)
    down, across = (first, second) if raster == "m" else (second, first)
    return build.let("row", down * cm + rank % cm), build.let("column", across * cn + rank // cm)


def _check(tile: tuple[int, int, int], plan: Pipeline, layout: str, raster: str, group: int, of: str) -> None:
    known = {
        "roles": (plan.roles, CONSUMERS), "schedule": (plan.schedule, SCHEDULES), "layout": (layout, LAYOUTS), "raster": (raster, ("m", "n")),
        "mma_rows": (plan.rows, ("m", "n")), "split": (plan.split, ("rows", "columns")), "dtype": (dtype_of(of).name, ACCUMULATORS),
    }  # fmt: skip
    for what, (given, choices) in known.items():
        if given not in choices:
            raise GpusimError(f"{what} = '{given}' is unknown.", where="gemm", hint=f"Give one of {', '.join(choices)}.")
    if min(*plan.cluster, plan.stages or 1, group) < 1:
        raise GpusimError(f"cluster = {plan.cluster}, stages = {plan.stages}, group = {group}; each is at least 1.", where="gemm")
    rows, columns = instruction_sides(tile, plan)
    if rows % ROWS or columns % 8 or columns > COLUMNS:
        what = (
            f"tile {'x'.join(map(str, tile))} gives each consumer {rows}x{columns} of it; instructions take {ROWS} rows and 8 to {COLUMNS} columns in eights."
        )
        raise GpusimError(what, where="gemm", hint="Choose another tile, split= or mma_rows=.")


def instruction_sides(tile: tuple[int, int, int], plan: Pipeline) -> tuple[int, int]:
    """(rows, columns) of the part of a tile that one consumer multiplies, as its instructions see it."""
    rows, columns = tile[:2] if plan.rows == "m" else tile[1::-1]
    if plan.roles == "cooperative":
        return (rows / 2, columns) if plan.split == "rows" else (rows, columns / 2)  # type: ignore[return-value]
    return rows, columns
