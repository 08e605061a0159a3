"""A library's product: the name of its kernel says how it is divided, so the name is read, and never looked up.

The library counts columns first: its first operand is our B, and its first extent is along our n.
"""

from __future__ import annotations

import re

from gpusim.errors import GpusimError
from gpusim.ir.pipeline import Pipeline
from gpusim.ir.program import Program
from gpusim.kernels.specialised import specialised
from gpusim.validate.cases import Case

NAME = re.compile(
    r"nvjet_sm90_(?P<types>[a-z]+)_(?P<n>\d+)x(?P<m>\d+)_(?P<k>\d+)x(?P<stages>\d+)_(?P<across>\d+)x(?P<down>\d+)_(?P<raster>[hv])_bz"
    r"(?:_coop(?P<coop>[AB]))?(?P<more>(?:_[a-z][A-Za-z0-9]*)*)_(?P<ops>[NT]{2})(?P<rows>[NT])$"
)
#: letters of the operands' type, in the name -> ours
TYPES = {"tst": "bf16", "hsh": "fp16", "qqtst": "fp8e4m3"}
#: what else a name may say that does not change the division
HARMLESS = ("", "_algo2")
#: direction of the raster -> side of the output along which clusters follow each other
RASTER = {"h": "n", "v": "m"}
#: clusters side by side in a band of the raster (counters, dram__bytes_read of products of 4096 and 8192: 148 and 1250 MB; bands of 1, 2, 4, 8, 16
#: give 174, 180, 187, 149, 174 and 1929, 1948, 1430, 1121, 1266)
BAND = 8


def library_product(case: Case) -> tuple[Program, str]:
    """The program of a warp-specialised product of the library, and its shape. GpusimError for other kernels of it."""
    names = case.record.get("kernels") or [""]
    found = NAME.match(str(names[0]))
    if found is None or found["types"] not in TYPES or found["more"] not in HARMLESS:
        raise GpusimError(f"a library kernel whose name '{names[0]}' tells no division that has a program")
    sizes = [size for size in (case.params.get(key) for key in ("M", "N", "K")) if isinstance(size, int) and size > 0]
    if len(sizes) != 3:
        raise GpusimError("params hold no positive integers M, N and K")
    cluster = (int(found["down"]), int(found["across"]))
    rows = "n" if found["rows"] == "T" else "m"
    roles = "cooperative" if found["coop"] else "ping-pong"
    plan = Pipeline(roles, cluster, int(found["stages"]), rows, "columns" if found["coop"] == "B" else "rows")
    tile = (int(found["m"]), int(found["n"]), int(found["k"]))
    layout = ("N" if found["ops"][1] == "N" else "T") + ("N" if found["ops"][0] == "N" else "T")
    of = TYPES[found["types"]]
    m, n, k = sizes
    program = specialised(m, n, k, tile, plan, dtype=of, out="bf16" if of == "fp8e4m3" else None, layout=layout, raster=RASTER[found["raster"]], group=BAND)
    return program, f"{m}x{n}x{k}" + (" zeros" if case.params.get("data") == "zeros" else "")
