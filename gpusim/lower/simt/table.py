"""Which machine instructions an operation becomes, where nothing is fused: one table for all kernels.

A row is a chain: each instruction reads what the one before it wrote. Sequences for functions without an instruction of their own were
read off compiled code (CUDA 13, sm_90): their common path.
"""

from __future__ import annotations

from gpusim.ir.simt.walk import itemsize


def kind(dtype: str) -> str:
    """Class of a type for selection: "b" "h" (16-bit floats) "f" "d" "i" (at most 32 bits) "l" (64 bits)."""
    if dtype == "bool":
        return "b"
    if "float" in dtype:
        return {2: "h", 4: "f", 8: "d"}[itemsize(dtype)]
    return "l" if itemsize(dtype) == 8 else "i"


def words(dtype: str) -> int:
    """32-bit registers of one value; predicates live elsewhere."""
    return 0 if dtype == "bool" else max(1, itemsize(dtype) // 4)


_EXP = "FFMA FFMA FADD FFMA FFMA SHF MUFU.EX2 FMUL"
_LOG = "FSETP FMUL VIADD LOP3 IADD3 I2FP FSEL FADD FFMA FFMA FFMA FFMA FFMA FFMA FFMA FMUL FFMA FFMA ISETP FFMA FSETP FSEL"
_TRIG = "FMUL F2I I2FP FFMA FFMA FFMA FSETP LOP3 ISETP FMUL FSEL FSEL FSEL FFMA FFMA FFMA FFMA LOP3 FADD BRA"
_ATAN = "FADD MUFU.RCP FMUL FSETP FSEL FMUL FFMA FFMA FFMA FFMA FFMA FFMA FMUL FFMA FADD FSEL"
_UDIV = "I2F MUFU.RCP VIADD F2I IMAD.MOV IMAD IMAD.HI IMAD.HI IMAD.MOV IMAD ISETP IADD3 VIADD ISETP VIADD ISETP LOP3"
_SDIV = "IABS I2F MUFU.RCP VIADD F2I IMAD.MOV IMAD IMAD.HI IABS IMAD.MOV IMAD.HI IMAD ISETP IADD3 VIADD ISETP LOP3 ISETP VIADD ISETP IADD3 LOP3"
_DDIV = "MUFU.RCP64H IMAD.MOV DFMA DFMA DFMA DFMA DMUL DFMA DFMA FFMA FSETP BRA"
_LDIV = "LOP3 ISETP BRA CALL " + "I2F MUFU.RCP IADD3 F2I IMAD.WIDE IMAD IMAD IADD3 IMAD.HI IMAD IMAD.HI IADD3.X IADD3 IADD3.X " * 4 + "RET"

_ROWS = {
    "f": {
        "add": "FADD", "sub": "FADD", "mul": "FMUL", "fma": "FFMA", "neg": "FADD", "abs": "FADD", "min": "FMNMX", "max": "FMNMX",
        "select": "FSEL", "floor": "FRND", "ceil": "FRND", "trunc": "FRND", "round": "FRND", "copysign": "LOP3",
        "eq": "FSETP", "ne": "FSETP", "lt": "FSETP", "le": "FSETP", "gt": "FSETP", "ge": "FSETP", "isnan": "FSETP", "isinf": "FSETP", "isfinite": "FSETP",
        "approx.ex2": "MUFU.EX2", "fast.ex2": "FSETP FMUL MUFU.EX2 FMUL", "approx.lg2": "MUFU.LG2", "approx.rcp": "MUFU.RCP", "approx.rsqrt": "MUFU.RSQ",
        "approx.sqrt": "MUFU.SQRT",
        "approx.sin": "FMUL MUFU.SIN", "approx.cos": "FMUL MUFU.COS", "approx.tanh": "MUFU.TANH",
        "sqrt": "VIADD MUFU.RSQ ISETP BRA FMUL FMUL FFMA FFMA", "rsqrt": "FSETP FMUL MUFU.RSQ FMUL", "rcp": "VIADD LOP3 ISETP BRA MUFU.RCP FFMA FADD FFMA",
        "div": "MUFU.RCP FCHK FFMA FFMA FFMA FFMA FFMA FFMA BRA",
        "exp": _EXP, "exp2": "FSETP FMUL MUFU.EX2 FMUL", "expm1": _EXP + " FADD FFMA FFMA FSETP FSEL", "log": _LOG, "log2": "FSETP FMUL MUFU.LG2 FADD",
        "log10": _LOG + " FMUL", "log1p": "FADD " + _LOG + " FSEL", "sin": _TRIG, "cos": _TRIG, "tan": _TRIG + " MUFU.RCP FSEL",
        "asin": "FADD FFMA MUFU.RSQ FMUL FSETP FSEL FMUL FFMA FFMA FFMA FFMA FMUL FFMA FFMA FSEL",
        "acos": "FADD FFMA MUFU.RSQ FMUL FSETP FSEL FMUL FFMA FFMA FFMA FFMA FMUL FFMA FFMA FADD FSEL",
        "atan": _ATAN, "atan2": _ATAN + " FSETP FADD FSEL FSEL LOP3 FSETP FSEL", "sinh": _EXP + " MUFU.RCP FFMA FMUL FFMA FFMA FFMA FSEL",
        "cosh": _EXP + " MUFU.RCP FMUL FFMA", "tanh": "FADD FSETP FMUL MUFU.EX2 FADD MUFU.RCP FFMA FSEL FMUL FFMA FFMA FFMA LOP3 FSEL",
        "asinh": _LOG + " FFMA MUFU.RSQ FADD LOP3", "acosh": _LOG + " FFMA MUFU.RSQ FADD", "atanh": _LOG + " MUFU.RCP FMUL FMUL LOP3",
        "erf": "FFMA FSETP FSEL FSEL FSEL FSEL FMUL FFMA FFMA FFMA FFMA FFMA FFMA MUFU.EX2 FADD LOP3 FSEL",
        "erfc": "FADD MUFU.RCP FFMA FMUL FFMA FFMA FFMA FFMA FFMA FFMA FMUL FFMA MUFU.EX2 FMUL FSEL",
        "gamma": _EXP + " " + _LOG + " FMUL FMUL FFMA FFMA FFMA FFMA FSEL", "lgamma": _LOG + " FFMA FFMA FFMA FFMA FFMA FFMA FSEL FADD",
        "pow": "FSETP " + _LOG + " FMUL FFMA FRND FADD " + _EXP + " FSETP FSEL FSEL FSEL",
        "hypot": "FADD FMNMX FMNMX LOP3 FMUL FMUL FMUL FFMA MUFU.RSQ FMUL FSEL FSEL",
        "fmod": "FSETP FSEL MUFU.RCP FMUL FRND FFMA FSETP FADD LOP3 FSEL BRA", "rem": "FSETP FSEL MUFU.RCP FMUL FRND FFMA FSETP FADD LOP3 FSEL BRA",
        "mod": "FSETP FSEL MUFU.RCP FMUL FRND FFMA FSETP FADD LOP3 FSEL BRA FSETP FADD", "floordiv": "MUFU.RCP FCHK FFMA FFMA FFMA FFMA FFMA FFMA BRA FRND",
    },
    "d": {
        "add": "DADD", "sub": "DADD", "mul": "DMUL", "fma": "DFMA", "neg": "DADD", "abs": "DADD", "min": "DSETP SEL SEL", "max": "DSETP SEL SEL",
        "select": "SEL SEL", "floor": "FRND", "ceil": "FRND", "trunc": "FRND", "round": "FRND", "copysign": "LOP3",
        "eq": "DSETP", "ne": "DSETP", "lt": "DSETP", "le": "DSETP", "gt": "DSETP", "ge": "DSETP", "isnan": "DSETP", "isinf": "DSETP", "isfinite": "DSETP",
        "div": _DDIV, "rcp": _DDIV, "sqrt": "MUFU.RSQ64H VIADD DMUL DFMA DFMA DFMA DMUL DFMA DFMA BRA", "rsqrt": "MUFU.RSQ64H DMUL DFMA DFMA DMUL DFMA BRA",
        "exp": "DFMA DADD DFMA DFMA " + "DFMA " * 11 + "LEA FSETP BRA", "log": "ISETP DMUL LOP3 VIADD LOP3 LEA.HI MUFU.RCP64H " + "DFMA " * 22 + "DADD",
        "sin": "DMUL F2I I2F DFMA DFMA DFMA DSETP LDG LOP3 DMUL " + "DFMA " * 8 + "BRA",
        "cos": "DMUL F2I I2F DFMA DFMA DFMA DSETP LDG LOP3 DMUL " + "DFMA " * 8 + "BRA",
        "floordiv": _DDIV + " FRND", "mod": "DSETP " + _DDIV + " FRND DFMA DSETP DADD", "rem": "DSETP " + _DDIV + " FRND DFMA",
        "fmod": "DSETP " + _DDIV + " FRND DFMA",
    },
    "h": {
        "add": "HADD2", "sub": "HADD2", "mul": "HMUL2", "fma": "HFMA2", "neg": "HADD2", "abs": "HADD2", "min": "HMNMX2", "max": "HMNMX2", "select": "SEL",
        "eq": "HSETP2", "ne": "HSETP2", "lt": "HSETP2", "le": "HSETP2", "gt": "HSETP2", "ge": "HSETP2",
    },
    "i": {
        "add": "IADD3", "sub": "IADD3", "mul": "IMAD", "neg": "IADD3", "abs": "IABS", "not": "LOP3", "min": "VIMNMX", "max": "VIMNMX", "select": "SEL",
        "and": "LOP3", "or": "LOP3", "xor": "LOP3", "shl": "SHF", "shr": "SHF", "mulhi": "IMAD.HI", "prmt": "PRMT",
        "eq": "ISETP", "ne": "ISETP", "lt": "ISETP", "le": "ISETP", "gt": "ISETP", "ge": "ISETP",
        "popc": "POPC", "clz": "FLO VIADD", "ffs": "BREV FLO VIADD", "brev": "BREV", "bfind": "FLO",
        "div": _SDIV, "rem": _SDIV, "floordiv": _SDIV + " LOP3 ISETP VIADD", "mod": _SDIV + " LOP3 ISETP IADD3", "fma": "IMAD",
        "pow": "ISETP IMAD IMAD SHF ISETP BRA",
    },
    "l": {
        "add": "IADD3 IADD3.X", "sub": "IADD3 IADD3.X", "mul": "IMAD IMAD IMAD.WIDE IADD3", "neg": "IADD3 IADD3.X", "abs": "ISETP IADD3 IADD3.X SEL SEL",
        "not": "LOP3 LOP3", "min": "ISETP ISETP.EX SEL SEL", "max": "ISETP ISETP.EX SEL SEL", "select": "SEL SEL", "and": "LOP3 LOP3", "or": "LOP3 LOP3",
        "xor": "LOP3 LOP3", "shl": "SHF SHF", "shr": "SHF SHF", "mulhi": "IMAD.WIDE IMAD.WIDE IMAD.WIDE IADD3 IMAD.WIDE", "fma": "IMAD IMAD IMAD.WIDE IADD3",
        "eq": "ISETP ISETP.EX", "ne": "ISETP ISETP.EX", "lt": "ISETP ISETP.EX", "le": "ISETP ISETP.EX", "gt": "ISETP ISETP.EX", "ge": "ISETP ISETP.EX",
        "popc": "POPC POPC IADD3", "clz": "FLO FLO SEL", "ffs": "BREV BREV FLO SEL VIADD", "brev": "BREV BREV", "bfind": "FLO FLO SEL",
        "div": _LDIV, "rem": _LDIV, "floordiv": _LDIV + " LOP3 ISETP IADD3 IADD3.X", "mod": _LDIV + " LOP3 ISETP IADD3 IADD3.X", "mul.wide": "IMAD.WIDE",
        "pow": "ISETP IMAD IMAD IMAD.WIDE IADD3 SHF SHF ISETP BRA",
    },
    "b": {"and": "PLOP3", "or": "PLOP3", "xor": "PLOP3", "not": "PLOP3", "eq": "PLOP3", "ne": "PLOP3", "select": "PLOP3"},
}  # fmt: skip

_CHAINS = {(k, op): tuple(row.split()) for k, rows in _ROWS.items() for op, row in rows.items()}

# conversions: (from, to) -> chain; "" where the bits stay
_CONVERT = {
    "ii": "", "li": "", "ll": "", "ff": "", "dd": "", "hh": "", "bb": "", "if": "I2FP", "lf": "I2F", "id": "I2F", "ld": "I2F", "fi": "F2I", "fl": "F2I",
    "di": "F2I", "dl": "F2I", "fd": "F2F", "df": "F2F", "fh": "F2FP", "hf": "HADD2", "dh": "F2F", "hd": "HADD2 F2F", "ih": "I2F", "lh": "I2F", "hi": "F2I",
    "hl": "F2I", "bi": "SEL", "bl": "SEL", "bf": "FSEL", "bd": "FSEL", "bh": "SEL", "ib": "ISETP", "lb": "ISETP", "fb": "FSETP", "db": "DSETP", "hb": "HSETP2",
}  # fmt: skip
_MISC = {
    "pack": "PRMT",
    "unpack.lo": "SHF",
    "unpack.hi": "LOP3",
    "smid": "S2R.CTAID",
    "clusterrank": "S2R.CTAID",
    "clustersize": "S2R.CTAID",
    "clock": "CS2R",
    "globaltimer": "CS2R",
    "warpid": "S2R",
}

WARP = {"shfl": "SHFL", "ballot": "VOTE", "any": "VOTE", "all": "VOTE", "eq": "VOTE", "match": "MATCH", "activemask": "VOTE", "redux": "REDUX"}
FUSED = {"f": "FFMA", "d": "DFMA", "h": "HFMA2", "i": "IMAD"}


WORD = 32  # bits of a register: to shift a pair by that is to take the other one


def chain(op: str, source: str, target: str, known: int | None = None) -> tuple[str, ...]:
    """Mnemonics for `op` on arguments of type `source` with a result of type `target`. known: the last argument, if it is a constant.

    Unknown combinations of operation and type become one instruction of the ALU, so that a rare operation is never free.
    """
    if op == "cvt":
        return _cast(source, target)
    if op in ("bitcast", "mov"):
        return ()
    if op in ("shl", "shr") and known == WORD and target == "uint64":
        return ()
    if op in _MISC:
        return ("F2FP",) if op == "pack" and source == "float32" else (_MISC[op],)
    return _CHAINS.get((kind(target if op == "mul.wide" else source), op), ("IADD3",))


def _cast(source: str, target: str) -> tuple[str, ...]:
    if kind(source) == "i" and kind(target) == "l":
        return ("SHF",) if source.startswith("int") else ()
    if source == "bfloat16" and target == "float32":
        return ("SHF",)
    if kind(source) == kind(target) == "i" and itemsize(target) < itemsize(source):
        return ("LOP3",) if target.startswith("uint") else ("SGXT",)
    return tuple(_CONVERT[kind(source) + kind(target)].split())
