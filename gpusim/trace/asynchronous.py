"""What the value pass records of mbarriers, bulk copies, and shared memory of other CTAs."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.trace.simt import Touch


@dataclass(slots=True)
class BarrierTouch(Touch):
    """A warp at an mbarrier, or a bulk copy that counts there. barrier: its number in the CTA's shared memory, in 8 bytes.

    same: lanes that arrive. amount: "init": arrivals of a phase; "arrive", "expect": bytes that the phase waits for; "wait": phases that the
    warp has not waited for before; bulk copy: its bytes, and `sectors` are all it reads.
    """

    barrier: int = -1
    amount: int = 0


@dataclass(slots=True)
class ClusterTouch(Touch):
    """An access to shared memory through the cluster. remote: active lanes that went to another CTA."""

    remote: int = 0
