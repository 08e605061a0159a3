"""Instructions to what the issue loop needs: one plain tuple each, worked out once per code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.devices.simt.matrix import interval, issue_cycles
from gpusim.devices.simt.result import REASONS
from gpusim.devices.simt.spin import restarts
from gpusim.errors import GpusimError
from gpusim.lower.simt.code import Block, Code, Instr, targets
from gpusim.lower.simt.mnemonics import MATRIX, WARPGROUP
from gpusim.lower.simt.mnemonics import pipe as pipe_of
from gpusim.parts.icache import InstructionCache, spans_of
from gpusim.spec.resolve import Machine

#: what happens at issue beside the pipe; all but PLAIN in the order of time over the sub-cores. ENDING: a lane's end, which may let a CTA in;
#: MATRICES: a matrix instruction of a warpgroup, or what closes a group of them; PRODUCTS: the wait for groups; ASYNC: mbarriers and bulk copies;
#: ROUND: the end of a round of a loop whose rounds depend on time
PLAIN, SHARED, BARRIER, COPIES, ENDING, GRID, MATRICES, PRODUCTS, ROUND, ASYNC, CLUSTER, FENCE = range(12)
#: a matrix instruction of a warp, which also keeps the ALU from reading registers; concerns the sub-core alone, as PLAIN does
READING = -1

#: the FMA pipe's second half stands behind the named pipes; only what says "fma" may take it
PIPES = ("fma", "fmaheavy", "alu", "half", "fp64", "xu", "lsu", "uniform", "branch", "tensor", "adu", "none")
LITE, HEAVY = PIPES.index("fma"), PIPES.index("fmaheavy")
_KINDS = {
    "BAR": BARRIER,
    "BAR.RED": BARRIER,
    "DEPBAR": COPIES,
    "EXIT": ENDING,
    "BAR.GRID": GRID,
    "WARPGROUP.DEPBAR": PRODUCTS,
    **dict.fromkeys(WARPGROUP, MATRICES),
    **dict.fromkeys(MATRIX, READING),
    **dict.fromkeys(("SYNCS.EXCH", "SYNCS.ARRIVE", "SYNCS.PHASECHK", "UBLKCP"), ASYNC),
    "UCGABAR_WAIT": CLUSTER,
    "ERRBAR": FENCE,
}

#: instructions that take a predicate as an operand; all others are guarded by it, which takes longer
_PREDICATE_OPERAND = frozenset(("SEL", "FSEL", "IADD3.X", "ISETP.EX", "LEA.HI.X", "PLOP3", "P2R", "ISETP", "FSETP", "DSETP", "USEL", "IMAD.X", "FMNMX"))
_PREDICATE_WRITERS = frozenset(("ISETP", "ISETP.EX", "FSETP", "DSETP", "HSETP2", "PLOP3", "FCHK", "R2P"))
_UNIFORM_RESULT = frozenset(("S2UR", "R2UR", "VOTEU", "REDUX"))
_FAST = frozenset(("fma", "fmaheavy", "alu"))
_LONG = frozenset(("LDG", "ATOMG", "LDL", "LD", "ATOM"))
_CONSTANT = frozenset(("LDC", "ULDC"))

WAIT, SHORT, LONG, IMC = (REASONS.index(r) for r in ("wait", "short_scoreboard", "long_scoreboard", "imc_miss"))

#: why a warp waits behind an instruction after which it cannot go on at once; else it is "wait"
_GAP_REASON = {
    **dict.fromkeys(("BRA", "BSYNC"), "branch_resolving"),
    **dict.fromkeys(("MEMBAR", "MEMBAR.SYS", "ERRBAR", "CGAERRBAR"), "membar"),
    "NANOSLEEP": "sleeping",
}

#: bytes of a machine instruction
CODE_BYTES = 16

#: how far an instruction may stand behind the one whose operands it reads again
_HELD = 4

Issue = tuple[int, int, int, float, float, tuple[int, ...], tuple[int, ...], tuple[int, ...], int, int, int, float, Instr, int, bool]


@dataclass(frozen=True, slots=True)
class Compiled:
    """blocks[b]: what a warp issues in block b; why: register -> index of the stall reason while it is awaited; lines: number -> source line;
    position: Access -> place in the block's touches; restart: number of an instruction of kind ROUND -> place in its block where the next round begins.

    An Issue is (kind, pipe, other pipe, cycles on it, latency, dst, registers it waits for from its own pipe, those from others, number in
    the code, issue cycles, issue cycles when operands are at hand, cycles until the warp's next issue, Instr, index of the reason for those,
    whether the warp goes on with it because operands are at hand for it or for one behind it).
    """

    blocks: tuple[tuple[Issue, ...], ...]
    restart: dict[int, int]
    why: tuple[int, ...]
    lines: tuple[int, ...]
    position: dict[int, int]
    registers: int


#: what reads special registers and constants; and what of it does not follow at once
_READ_FEW = frozenset(("S2R", "S2R.CTAID", "S2UR", "ULDC", "LDC"))
_READ_SLOWLY = frozenset(("S2R.CTAID", "S2UR", "LDC"))


def compile_code(code: Code, machine: Machine) -> Compiled:
    """Raises GpusimError for a mnemonic without a cost."""
    for block in code.blocks:
        for instr in block.instrs:
            _pipe(instr)
    uses = _Registers(code)
    number = 0
    blocks: list[tuple[Issue, ...]] = []
    lines: list[int] = []
    restart: dict[int, int] = {}
    under_way = _under_way(code)
    for block in code.blocks:
        rounds = restarts(block.instrs)
        row: list[Issue] = []
        uses.enter(block)
        reads = _reads(block.instrs, uses, machine.simt.register_ports)
        for place, instr in enumerate(block.instrs):
            awaited = () if place else under_way[block.id]
            row.append(_issue(instr, reads[place], block.instrs[place + 1 :], number, uses, machine, awaited))
            if place in rounds:
                row[-1], restart[number] = (ROUND, *row[-1][1:]), rounds[place]
            lines.append(instr.line)
            uses.leave(instr)
            number += 1
        blocks.append(tuple(row))
    position = {access: place for block in code.blocks for place, access in enumerate(block.accesses)}
    return Compiled(tuple(blocks), restart, tuple(uses.why), tuple(lines), position, len(uses.why))


def _under_way(code: Code) -> list[tuple[int, ...]]:
    """Of each block, results of matrix instructions that blocks in front of it leave under way. Their latency is fixed, so compilers count
    cycles instead of waiting; they count to the end of a block only, and let the next one begin when all is there. That of float64 is not
    fixed: a scoreboard tells who needs its result."""
    out: list[list[int]] = [[] for _ in code.blocks]
    for block in code.blocks:
        last = next((i.dst[0] for i in reversed(block.instrs) if i.op in MATRIX and MATRIX[i.op][0] != "fp64"), None)
        for to in targets(block.end):
            out[to] += [last] if last is not None else []
    return [tuple(dict.fromkeys(row)) for row in out]


def _issue(
    instr: Instr,
    reads: tuple[int, int, bool],
    behind: Sequence[Instr],
    number: int,
    uses: _Registers,
    machine: Machine,
    awaited: tuple[int, ...],
) -> Issue:
    name = _pipe(instr)
    pipe = PIPES.index(name)
    simt = machine.simt
    other = HEAVY if name == "fma" and simt.fma_halves > 1 else pipe
    if name == "fma" and simt.fma_halves == 1:
        pipe = other = HEAVY
    latency = _pick(simt.latency, instr.op, name)
    hold = _hold(instr, name, machine)
    if instr.op in _PREDICATE_WRITERS and uses.guards(instr, behind):
        latency = max(latency, simt.guard_latency)
    if instr.op == "SHFL" and len(instr.srcs) > 1:
        latency += simt.shuffle_index
    indexed = instr.op in _CONSTANT and instr.access is not None
    kind = _KINDS.get(instr.op, MATRICES if instr.closes else SHARED if name == "lsu" or indexed else PLAIN)
    first, again, goes_on = (1, reads[1], False) if kind == READING else reads
    needs = dict.fromkeys(r for r in instr.srcs + instr.dst if instr.op not in WARPGROUP or not uses.summed[r])
    far = tuple(r for r in instr.srcs if r in needs and uses.pipe(r) != name)
    near = (*(r for r in needs if r not in far), *awaited)
    behind_it = REASONS.index(_GAP_REASON.get(instr.op, "wait"))
    gap = simt.branch if instr.op == "BRA" else hold if instr.op in WARPGROUP else simt.gap.get(instr.op, 1.0)
    if behind and instr.op in _READ_FEW and behind[0].op in _READ_SLOWLY:
        gap = max(gap, simt.constant_gap)
    return kind, pipe, other, hold, latency, instr.dst, near, far, number, first, again, gap, instr, behind_it, goes_on


def _hold(instr: Instr, pipe: str, machine: Machine) -> float:
    """Cycles until the pipe takes the next instruction."""
    if instr.op in MATRIX:
        return interval(instr, machine)
    if instr.op in WARPGROUP:
        return issue_cycles(instr, machine)
    table = machine.simt.interval
    wide = table.get(f"{instr.op}.{instr.bits}")
    return _pick(table, instr.op, pipe) if wide is None else wide


def _reads(instrs: Sequence[Instr], uses: _Registers, ports: int) -> list[tuple[int, int, bool]]:
    """For each instruction of a block: issue cycles for its registers, those that are left when what the last one on its pipe read is at hand,
    and whether that helps it or one soon behind it. Only pipes that take a warp instruction in two cycles or less are held up; and the ALU
    by what matrix instructions read.
    """
    pipes = [_pipe(i) for i in instrs]
    out: list[tuple[int, int, bool]] = []
    for place, instr in enumerate(instrs):
        read = uses.vector(instr) if pipes[place] in _FAST or instr.op in MATRIX else frozenset()
        source = next((p for p in range(place - 1, max(-1, place - 1 - _HELD), -1) if pipes[p] == pipes[place]), None)
        left = read if source is None else read - uses.vector(instrs[source])
        first, again = max(1, -(-len(read) // ports)), max(1, -(-len(left) // ports))
        out.append((first, again, first > again))
        if source is not None and first > again and instr.op not in MATRIX:
            out[source + 1 : place] = [(a, b, True) for a, b, _ in out[source + 1 : place]]
    return out


def _pipe(instr: Instr) -> str:
    try:
        return pipe_of(instr.op)
    except KeyError:
        raise GpusimError(
            f"no cost is known for the machine instruction {instr.op!r}", where=f"line {instr.line}", hint="add it to gpusim/lower/simt/mnemonics.py"
        ) from None


def _pick(table: dict[str, float], op: str, pipe: str) -> float:
    value = table.get(op)
    return table[pipe] if value is None else value


def caches(compiled: Compiled, machine: Machine) -> list[InstructionCache]:
    """One per sub-core, none where the whole code fits."""
    lengths = [len(b) for b in compiled.blocks]
    per_line = machine.line // CODE_BYTES
    lines = machine.simt.code_buffer // machine.line
    if sum(lengths) <= lines * per_line:
        return []
    return [InstructionCache(lines, spans_of(lengths, per_line)) for _ in range(machine.subcores)]


class _Registers:
    """Who writes and who reads which register: predicates, uniform registers, results of the special function unit. `summed`: accumulators of
    warpgroups, to which the next instruction adds without a wait."""

    def __init__(self, code: Code) -> None:
        instrs = [i for b in code.blocks for i in b.instrs]
        size = 1 + max((r for i in instrs for r in i.dst + i.srcs), default=-1)
        size = max(size, code.machine_registers)
        self.why = [WAIT] * size
        writers: list[list[Instr]] = [[] for _ in range(size)]
        self.readers: list[list[Instr]] = [[] for _ in range(size)]
        for instr in instrs:
            reason = _reason(instr)
            for r in instr.dst:
                writers[r].append(instr)
                self.why[r] = max(self.why[r], reason)
            for r in instr.srcs:
                self.readers[r].append(instr)
        self.pipes = [pipe_of(w[-1].op) if w else "" for w in writers]
        self.here: dict[int, str] = {}
        self.summed = [any(i.op in WARPGROUP for i in w) for w in writers]
        self.scalar = [not w or all(_scalar(i) for i in w) for w in writers]

    def vector(self, instr: Instr) -> frozenset[int]:
        """The registers of `instr` that are read from the register file."""
        return frozenset(r for r in instr.srcs if not self.scalar[r])

    def enter(self, block: Block) -> None:
        """From here on the writer of a register is sought in `block`: the last one, as in a loop, until an earlier one is passed."""
        self.here = {}
        for instr in block.instrs:
            self.leave(instr)

    def leave(self, instr: Instr) -> None:
        for r in instr.dst:
            self.here[r] = pipe_of(instr.op)

    def pipe(self, register: int) -> str:
        """The pipe whose result `register` most likely holds."""
        return self.here.get(register) or self.pipes[register]

    def guards(self, instr: Instr, behind: Sequence[Instr]) -> bool:
        """Whether a predicate that `instr` sets guards something. behind: the rest of its block."""
        return any(reader.op not in _PREDICATE_OPERAND for r in instr.dst for reader in self._readers(r, behind))

    def _readers(self, register: int, behind: Sequence[Instr]) -> list[Instr]:
        near: list[Instr] = []
        for instr in behind:
            if register in instr.srcs:
                near.append(instr)
            if register in instr.dst:
                break
        return near or self.readers[register]


def _scalar(instr: Instr) -> bool:
    return instr.op in _PREDICATE_WRITERS or instr.op in _UNIFORM_RESULT or instr.op.startswith("U")


def _reason(instr: Instr) -> int:
    if instr.op in _LONG:
        return LONG
    if instr.op in _CONSTANT:
        return IMC if instr.op == "ULDC" else SHORT
    return SHORT if pipe_of(instr.op) in ("xu", "lsu", "adu") else WAIT
