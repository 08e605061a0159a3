"""Records of microbenchmarks as probes of the library."""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.probe.registry import MODULES, simulation
from gpusim.spec.device import GpuSpec
from gpusim.validate.cases import Case
from gpusim.validate.simt.plan import Facts, Plan

GROUPS = tuple(MODULES)


def plan_of(case: Case) -> Plan:
    """The simulation that stands for a record. Excluded, or GpusimError with the reason, if there is none."""
    value = case.number("value")
    if value is None:
        raise GpusimError("the record has no value.", where=case.id)
    simulate = simulation(case.group, case.family, case.params)

    def facts(spec: GpuSpec) -> Facts:
        simulated = simulate(spec)
        # the value of a list is its mean
        return Facts(sum(simulated) / len(simulated) if isinstance(simulated, list) else simulated)

    return Plan(value, str(case.record.get("unit", "")), facts, " ".join(f"{k}={v}" for k, v in case.params.items()))
