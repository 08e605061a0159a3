"""The machine instructions that selection emits: mnemonic -> (pipe, what it does).

The assignment reproduces Nsight's counts per pipe: VIADD counts as FMA, HFMA2.MMA as neither, loads of constants as none of ALU, FMA, LSU, uniform.
Pipes: "fma" (either half of the FMA pipe), "fmaheavy" (only the half that multiplies integers), "alu", "fp64", "xu" (special
functions and conversions), "lsu" (memory, shuffles, thread numbers), "uniform" (one value per warp), "branch", "tensor",
"adu" (barriers, constants, special registers), "half" (packed 16-bit arithmetic), "none" (issue slot only).
"""

from __future__ import annotations

#: matrix instructions of a warp -> (format of the operands, multiply-adds)
MATRIX: dict[str, tuple[str, int]] = {
    "HMMA.16816.F16": ("fp16", 2048),
    "HMMA.16816.BF16": ("bf16", 2048),
    "HMMA.1688.F16": ("fp16", 1024),
    "HMMA.1688.BF16": ("bf16", 1024),
    "HMMA.1688.TF32": ("tf32", 1024),
    "HMMA.1684.TF32": ("tf32", 512),
    "IMMA.16832": ("int8", 4096),
    "IMMA.16816": ("int8", 2048),
    "DMMA.884": ("fp64", 256),
}
#: those of a warpgroup -> (format, whether A comes from registers). `Instr.bits` is their number of columns
WARPGROUP: dict[str, tuple[str, bool]] = {
    f"{name}{'.REG' if registers else ''}": (fmt, registers)
    for name, fmt in (("HGMMA.BF16", "bf16"), ("HGMMA.F16", "fp16"), ("HGMMA.TF32", "tf32"), ("QGMMA", "fp8"), ("IGMMA", "int8"))
    for registers in (False, True)
}

_ROWS: dict[str, dict[str, str]] = {
    "fma": {
        "VIADD": "add of two integers",
        "FADD": "float32 add",
        "FMUL": "float32 multiply",
        "FFMA": "float32 multiply and add",
    },
    "fmaheavy": {
        "IMAD": "integer multiply and add, 32 bits",
        "IMAD.MOV": "copy through the multiplier",
        "IMAD.SHL": "shift left",
        "IMAD.X": "add with carry",
        "IMAD.HI": "upper half of a product",
        "IMAD.WIDE": "32 x 32 + 64 bits; two passes",
    },
    "alu": {
        "IADD3": "add of three integers",
        "IADD3.X": "the same with carry",
        "LEA": "shift and add",
        "LEA.HI": "upper part of shift and add",
        "LEA.HI.X": "the same with carry",
        "LOP3": "any logic function of three values",
        "SHF": "funnel shift",
        "PRMT": "choose bytes",
        "MOV": "copy",
        "SEL": "choose by predicate",
        "FSEL": "choose float by predicate",
        "FSET": "float32 compare to 0.0 or 1.0",
        "FMNMX": "float32 minimum or maximum",
        "VIMNMX": "integer minimum or maximum",
        "IABS": "absolute value",
        "ISETP": "integer compare to predicate",
        "ISETP.EX": "upper half of a 64-bit compare",
        "FSETP": "float32 compare to predicate",
        "FCHK": "does a float32 division need the slow path",
        "PLOP3": "logic of three predicates",
        "P2R": "predicates to a register",
        "R2P": "register to predicates",
        "VOTE": "vote of a warp",
        "I2FP": "int32 to float32",
        "F2FP": "two float32 to packed 16 bits",
        "F2FP.UNPACK": "two fp8 to packed 16 bits",
        "SGXT": "sign extension",
        "BMSK": "bit mask",
        "CS2R": "special register or zero to a pair",
    },
    "half": {
        "HADD2": "packed 16-bit add",
        "HMUL2": "packed 16-bit multiply",
        "HFMA2": "packed 16-bit multiply and add",
        "HFMA2.MMA": "the same in the other half; also copies a constant",
        "HMNMX2": "packed 16-bit minimum or maximum",
        "HSETP2": "packed 16-bit compare",
    },
    "fp64": {
        "DADD": "float64 add",
        "DMUL": "float64 multiply",
        "DFMA": "float64 multiply and add",
        "DSETP": "float64 compare",
    },
    "xu": {
        "MUFU.RCP": "1 / x",
        "MUFU.RSQ": "1 / sqrt(x)",
        "MUFU.EX2": "2 ** x",
        "MUFU.LG2": "log2(x)",
        "MUFU.SIN": "sin(2 pi x)",
        "MUFU.COS": "cos(2 pi x)",
        "MUFU.TANH": "tanh(x)",
        "MUFU.SQRT": "sqrt(x)",
        "MUFU.RCP64H": "start value of a float64 reciprocal",
        "MUFU.RSQ64H": "start value of a float64 reciprocal root",
        "I2F": "integer to float, not 32 to 32 bits",
        "F2I": "float to integer",
        "F2F": "float to float of another width",
        "FRND": "round to an integral float",
        "POPC": "count of ones",
        "FLO": "highest set bit",
        "BREV": "reverse bits",
    },
    "lsu": {
        "LDG": "load from global memory",
        "STG": "store to global memory",
        "LDS": "load from shared memory",
        "STS": "store to shared memory",
        "LDL": "load from local memory",
        "STL": "store to local memory",
        "LDSM": "load matrices from shared memory",
        "LDGSTS": "asynchronous copy from global to shared memory",
        "RED": "atomic on global memory without result",
        "ATOMG": "atomic on global memory",
        "ATOMS": "atomic on shared memory",
        "ATOMS.CAS": "compare and swap on shared memory",
        "ATOMS.CAST.SPIN": "swap of a word of shared memory if nobody was faster, again and again",
        "ATOMS.POPC": "adds the number of lanes on a word of shared memory",
        "SHFL": "shuffle",
        "MATCH": "match of a warp",
        "S2R": "thread number to register",
        "LD": "load through an address of any space: shared memory of the cluster",
        "ST": "store through an address of any space",
        "ATOM": "atomic through an address of any space",
        "SYNCS.EXCH": "make an mbarrier",
        "SYNCS.ARRIVE": "arrive at an mbarrier, or have it expect bytes",
        "SYNCS.PHASECHK": "wait for a phase of an mbarrier",
        "UBLKCP": "have the copy engine bring a piece of global memory",
        "CGAERRBAR": "fence for errors, of the cluster",
        "LDGDEPBAR": "close a group of asynchronous copies",
        "MEMBAR": "fence",
        "MEMBAR.SYS": "fence that the host sees as well",
        "ERRBAR": "fence for errors",
        "CCTL": "cache control",
        "FENCE.ASYNC": "shared memory as asynchronous units see it",
    },
    "uniform": {
        "R2UR": "register to uniform register",
        "UIADD3": "uniform add",
        "UIMAD": "uniform multiply and add",
        "UIMAD.WIDE": "uniform 32 x 32 + 64 bits",
        "ULEA": "uniform shift and add",
        "ULOP3": "uniform logic",
        "USHF": "uniform shift",
        "USEL": "uniform choice",
        "UISETP": "uniform compare",
        "UPLOP3": "logic of uniform predicates",
        "VOTEU": "vote into a uniform register",
        "REDUX": "integer reduction of a warp",
    },
    "branch": {
        "BRA": "branch",
        "BSSY": "set a point of reconvergence",
        "BSYNC": "wait for the lanes of the warp there",
        "BREAK": "leave a point of reconvergence",
        "CALL": "call",
        "RET": "return",
        "EXIT": "end of the lane",
        "WARPSYNC": "wait for named lanes of the warp",
        "NANOSLEEP": "sleep",
        "BPT": "trap",
    },
    "tensor": {
        **dict.fromkeys(MATRIX, "matrix multiply and add of a warp"),
        **dict.fromkeys(WARPGROUP, "matrix multiply and add of a warpgroup, asynchronous"),
    },
    "adu": {
        "LDC": "load a constant into a register",
        "ULDC": "load a constant into a uniform register",
        "S2UR": "special register to uniform register",
        "S2R.CTAID": "special register, the same for the warp, to register",
        "BAR": "barrier of the CTA",
        "BAR.RED": "barrier of the CTA with a vote",
        "BAR.GRID": "barrier of the grid: fence, atomic on a counter and polls of one thread, for which the CTA waits",
        "UCGABAR_ARV": "arrive at the barrier of the cluster",
        "UCGABAR_WAIT": "wait at the barrier of the cluster",
        "B2R": "result of a barrier",
        "DEPBAR": "wait for asynchronous copies",
        "WARPGROUP.DEPBAR": "wait for matrix instructions of the warpgroup",
    },
    "none": {
        "UMOV": "uniform copy",
        "WARPGROUP.ARRIVE": "registers and shared memory are ready for matrix instructions of the warpgroup",
        "NOP": "nothing",
    },
}

MNEMONICS: dict[str, tuple[str, str]] = {name: (pipe, text) for pipe, rows in _ROWS.items() for name, text in rows.items()}


def pipe(op: str) -> str:
    """The pipe that executes `op`. Raises KeyError for an unknown mnemonic."""
    return MNEMONICS[op][0]
