"""What a program leaves to the device, by kind of device: a table. GPUs take the program as its maker made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.ir.program import Program
from gpusim.launch.tpu.blocks import best_blocks
from gpusim.spec.kinds import Device

CHOICES: dict[str, Callable[[Program, Any], Program]] = {"gpu": lambda program, spec: program, "tpu": best_blocks}


def chosen(program: Program, spec: Device) -> Program:
    """`program`, or the same with the tile that suits `spec`, where its maker gave none."""
    return program if program.retile is None else CHOICES[spec.KIND](program, spec)
