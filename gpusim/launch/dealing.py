"""Which SM gets which block first: the order in which a launch's first blocks are dealt.

Measured on one chip (start stamps and SM numbers of every block, `tests/hardware/data/placement.json`): GPCs get equal numbers of
blocks, consecutive blocks stay in one GPC, and a GPC with fewer blocks than SMs fills one SM of each TPC first. Full
rounds give every SM one block before any SM gets its next.
"""

from __future__ import annotations

from gpusim.spec.resolve import Machine


def deal(machine: Machine, ctas: int, slots_per_sm: int) -> list[int]:
    """SM index for each of the first blocks; as many as there are slots, or blocks."""
    order: list[int] = []
    full = [sm for gpc in range(len(machine.gpc_sms)) for sm in _members(machine, gpc)]
    for _ in range(slots_per_sm):
        left = ctas - len(order)
        if left <= 0:
            break
        order += full if left >= machine.sms else _partial(machine, left)
    return order


def _members(machine: Machine, gpc: int) -> list[int]:
    first = sum(machine.gpc_sms[:gpc])
    return list(range(first, first + machine.gpc_sms[gpc]))


def _partial(machine: Machine, ctas: int) -> list[int]:
    """Fewer blocks than SMs: the GPCs dealt first are filled, the others get even shares, none beyond its SMs."""
    shares = [0] * len(machine.gpc_sms)
    first = machine.gpcs_dealt_first
    for gpc, n in enumerate(machine.gpc_sms[:first]):
        shares[gpc] = min(n, ctas)
        ctas -= shares[gpc]
    while ctas:
        open_ = [g for g, n in enumerate(machine.gpc_sms) if g >= first and shares[g] < n]
        for g in open_[:ctas]:
            shares[g] += 1
        ctas -= min(ctas, len(open_))
    out: list[int] = []
    for gpc, share in enumerate(shares):
        members = _members(machine, gpc)
        by_place = [m for place in range(machine.sms_per_tpc) for m in members[place :: machine.sms_per_tpc]]
        out += sorted(by_place[:share])
    return out
