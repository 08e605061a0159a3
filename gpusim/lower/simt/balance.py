"""Copies, adds and shifts that either pipe can do go to the one that has less to do, as compilers choose.

An integer add, a copy or a shift is an instruction of the ALU (IADD3, MOV, LEA, SHF) or of the multiplier (VIADD, IMAD.MOV, IMAD).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusim.lower.simt.code import Instr
from gpusim.lower.simt.mnemonics import pipe

#: on the ALU -> on the FMA pipe, and back
_ALU = {"MOV": "IMAD.MOV", "IADD3": "VIADD", "LEA": "IMAD", "IADD3.X": "IMAD.X"}
_FMA = {"IMAD.MOV": "MOV", "VIADD": "IADD3", "IMAD.SHL": "SHF", "IMAD.X": "IADD3.X"}
_ADDENDS = 2


def balance(blocks: Sequence[list[Instr]]) -> list[list[Instr]]:
    """`blocks` with the free choices made, in the order of the code, by what has been and must be on either side."""
    counts = {"alu": 0, "fma": 0}
    for rows in blocks:
        for row in rows:
            if not _free(row):
                counts[_side(row.op)] = counts.get(_side(row.op), 0) + 1
    return [[_chosen(row, counts) if _free(row) else row for row in rows] for rows in blocks]


def _side(op: str) -> str:
    found = pipe(op)
    return "fma" if found == "fmaheavy" else found


def _free(row: Instr) -> bool:
    """An add that also writes a carry has no choice, nor one of three values."""
    if row.op in _FMA or row.op in ("MOV", "IADD3.X"):
        return True
    return row.op in _ALU and len(row.srcs) <= _ADDENDS and len(row.dst) == 1


def _chosen(row: Instr, counts: dict[str, int]) -> Instr:
    side = "fma" if counts["fma"] <= counts["alu"] else "alu"
    counts[side] += 1
    op = _ALU.get(row.op, row.op) if side == "fma" else _FMA.get(row.op, row.op)
    return replace(row, op=op)
