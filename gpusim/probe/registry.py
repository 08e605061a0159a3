"""The groups of probes by name. A group's module is imported when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from gpusim.errors import GpusimError
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation

#: name of a group -> its module
MODULES: dict[str, str] = {
    "latency": "latency",
    "alu": "alu",
    "tensor": "tensor",
    "smem": "smem",
    "global": "global_memory",
    "bandwidth": "bandwidth",
    "divergence": "divergence",
    "scheduling": "scheduling",
    "power": "power",
}

#: params and list of a record -> (params, value) of the points that are simulated
Split = Callable[[Params, Sequence[float]], list[tuple[Params, float]]]


@dataclass(frozen=True, slots=True)
class Group:
    """`split`: records that hold a curve in one list. units: of values, by "name", "name kind" or "kind" (the param of that name)."""

    name: str
    plans: Mapping[str, Plan] = field(default_factory=dict)
    points: tuple[Point, ...] = ()
    curves: tuple[Curve, ...] = ()
    split: Mapping[str, Split] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


@cache
def group(name: str) -> Group:
    """The group of that name. GpusimError if there is none."""
    if name not in MODULES:
        raise GpusimError(f"no group of probes '{name}'.", where="probe", hint=f"Give one of: {', '.join(MODULES)}, all.")
    module = import_module(f"gpusim.probe.{MODULES[name]}")
    return Group(name, module.PLANS, tuple(module.POINTS), tuple(module.CURVES), getattr(module, "SPLIT", {}), getattr(module, "UNITS", {}))


def simulation(group_name: str, name: str, params: Params) -> Simulation:
    """What simulates a record. GpusimError with the reason if nothing does, `Excluded` for what is not about the machine."""
    plan = group(group_name).plans.get(name)
    if plan is None:
        raise GpusimError(f"no probe for '{name}'.", where=group_name)
    try:
        return plan(params)
    except KeyError as error:
        raise GpusimError(f"its params lack {error}, or hold a value that no probe knows.", where=f"{group_name}/{name}") from None


def unit(group_name: str, name: str, params: Params) -> str:
    """The unit of a record's value; "" where the group does not say."""
    units = group(group_name).units
    return units.get(f"{name} {params.get('kind')}") or units.get(str(params.get("kind"))) or units.get(name, "")
