"""A library's product: the name of its kernel says how it is divided, so the name is read, and never looked up.

The library counts columns first: its first operand is our B, and its first extent is along our n.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gpusim.errors import GpusimError
from gpusim.ir.pipeline import Pipeline
from gpusim.ir.program import Program
from gpusim.kernels.gemm import gemm
from gpusim.kernels.specialised import specialised
from gpusim.validate.cases import Case

SPECIALISED = re.compile(
    r"nvjet_sm90_(?P<types>[a-z]+)_(?P<n>\d+)x(?P<m>\d+)_(?P<k>\d+)x(?P<stages>\d+)_(?P<across>\d+)x(?P<down>\d+)_(?P<raster>[hv])_bz"
    r"(?:_coop(?P<coop>[AB]))?(?P<more>(?:_[a-z][A-Za-z0-9]*)*)_(?P<ops>[NT]{2})(?P<rows>[NT])$"
)
#: letters of types in a name -> ours. The first says what is multiplied, the last what is stored; fp8 operands have a letter each
LETTERS = {"t": "bf16", "h": "fp16", "s": "fp32", "q": "fp8e4m3"}
TYPES = re.compile(r"(?P<of>[th]|q(?=q[a-z]s))[a-z]*s(?P<out>[ths])")
#: what else a name may say that does not change the division
HARMLESS = re.compile(r"(_algo\d+)?")
#: direction of the raster -> side of the output along which clusters follow each other
RASTER = {"h": "n", "v": "m"}
#: clusters side by side in a band of the raster (counters, dram__bytes_read of products of 4096 and 8192: 148 and 1250 MB; bands of 1, 2, 4, 8, 16
#: give 174, 180, 187, 149, 174 and 1929, 1948, 1430, 1121, 1266)
BAND = 8


#: names of products with 32-bit operands: on tensor cores (tf32), and on the FMA pipe
TF32 = re.compile(r"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize(?P<n>\d+)x(?P<m>\d+)x(?P<k>\d+)_warpgroupsize(?P<groups>[12])x1x1_")
FFMA = re.compile(r"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize(?P<n>\d+)x(?P<m>\d+)x(?P<k>\d+)_stage(?P<stages>\d)_warpsize(?P<warps>\dx\d)x1_ffma")
SIMT = re.compile(r"cutlass_80_simt_sgemm_(?P<n>\d+)x(?P<m>\d+)_(?P<k>\d+)x(?P<stages>\d)_nn")
#: sums of a thread where a name does not say how many warps there are
SUMS = 128

Sizes = tuple[int, int, int]


def library_product(case: Case) -> tuple[Program, str]:
    """The program of a product of the library, and its shape. GpusimError for kernels whose name does not say how they divide it."""
    name = str((case.record.get("kernels") or [""])[0])
    sizes = [size for size in (case.params.get(key) for key in ("M", "N", "K")) if isinstance(size, int) and size > 0]
    if len(sizes) != 3:
        raise GpusimError("params hold no positive integers M, N and K")
    m, n, k = sizes
    for pattern, make in PATTERNS.items():
        found = pattern.search(name)
        if found is not None:
            return make(found, (m, n, k)), f"{m}x{n}x{k}" + (" zeros" if case.params.get("data") == "zeros" else "")
    raise GpusimError(f"a library kernel whose name '{name}' tells no division that has a program")


def _tile(found: re.Match[str]) -> Sizes:
    return int(found["m"]), int(found["n"]), int(found["k"])


def _specialised(found: re.Match[str], sizes: Sizes) -> Program:
    """Without "coop" the consumers take turns."""
    types = TYPES.fullmatch(found["types"])
    if types is None or not HARMLESS.fullmatch(found["more"]):
        raise GpusimError(f"a library kernel whose name '{found[0]}' tells no division that has a program")
    cluster = (int(found["down"]), int(found["across"]))
    rows = "n" if found["rows"] == "T" else "m"
    roles = "cooperative" if found["coop"] else "ping-pong"
    plan = Pipeline(roles, cluster, int(found["stages"]), rows, "columns" if found["coop"] == "B" else "rows")
    layout = ("N" if found["ops"][1] == "N" else "T") + ("N" if found["ops"][0] == "N" else "T")
    of, out = LETTERS[types["of"]], LETTERS[types["out"]]
    return specialised(*sizes, _tile(found), plan, dtype=of, out=out, layout=layout, raster=RASTER[found["raster"]], group=BAND)


def _tf32(found: re.Match[str], sizes: Sizes) -> Program:
    """A CTA for each tile. How deep the pipeline is, and in which order the tiles come, the name does not say."""
    roles = "cooperative" if found["groups"] == "2" else "producer-consumer"
    return specialised(*sizes, _tile(found), Pipeline(roles, (1, 1), None, "n", "rows", "grid"), dtype="tf32", out="fp32", group=BAND)


def _ffma(found: re.Match[str], sizes: Sizes) -> Program:
    tile, named = _tile(found), found.groupdict().get("warps")
    down, across = (int(w) for w in named.split("x")) if named else (1, tile[0] * tile[1] // (32 * SUMS))
    return gemm(*sizes, tile=tile, warps=down * across, stages=int(found["stages"]), dtype="fp32")


#: pattern of a name -> the program that it tells
PATTERNS: dict[re.Pattern[str], Callable[[re.Match[str], Sizes], Program]] = {SPECIALISED: _specialised, TF32: _tf32, FFMA: _ffma, SIMT: _ffma}
