"""`gpusim show GPU`: every number of a machine."""

from __future__ import annotations

from typing import Annotated

import typer


def show(
    gpu: Annotated[str, typer.Argument(help="A name from `gpusim devices`, or the path of a YAML file.")],
    provenance: Annotated[bool, typer.Option("--provenance", help="Print the source of each number instead of its meaning.")] = False,
) -> None:
    """Print each number of a GPU with its unit."""
    from gpusim.spec.load import load_spec
    from gpusim.spec.show import spec_text

    print(spec_text(load_spec(gpu), provenance=provenance))
