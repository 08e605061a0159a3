"""From a SIMT program to code: rewrites, blocks, instructions.

The folder in the order of its passes:

1. `gpusim.ir.simt.rewrites` has rewritten the statements.
2. Blocks (`cfg.build`): `loops` brings loops into one shape, `tidy` takes out detours, `merged` makes one branch of two tests, `preheaders` gives
   every loop a block in front, `early` moves its count and test up. `code` is what comes out; values are computed from it.
3. Before selection: `directions` (which way loops go), `webs` and `copies` (one register for one value), `vectorise` (wide shared loads).
4. What selection must know: `flow` (dominance, loops, uses), `uniform` (what is the same in all lanes), `expr` (integers by value), `fuse` (what
   disappears into other instructions), `places` (where shared values are computed).
5. Selection (`select.select`), a statement at a time: `statements`; pure operations in `operations`, with `table` (a chain for each operation and type),
   `quotient`, and `parameters`; addresses in `address`, with `sums` and `strides`; ends of blocks in `control`. `writer` is the state.
6. After it: `schedule` (order of issue), `registers` (how many, how many warps that leaves), `balance` (ALU or FMA pipe), `spills` (what has no
   register). `mnemonics` names every instruction and its pipe.

`sharing` lets launches that lead to the same code share it.
"""

from __future__ import annotations

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import SimtProgram
from gpusim.lower.simt.code import Code


def lower(program: SimtProgram, facts: LaunchFacts) -> Code:
    """The program as the machine runs it at this launch: rewritten, cut into blocks, with instructions selected.

    `facts` prove that integers fit 32 bits; they never decide a branch. GpusimError as `cfg.build` and selection raise it.
    """
    from gpusim.ir.simt.rewrites import optimise
    from gpusim.lower.simt.cfg import build
    from gpusim.lower.simt.select import select

    return select(build(optimise(program, facts)), facts)
