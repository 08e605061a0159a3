"""`gpusim devices`: the machines that ship with the project."""

from __future__ import annotations


def devices() -> None:
    """List the GPUs that can be simulated."""
    from gpusim.spec.show import devices_text

    print(devices_text())
