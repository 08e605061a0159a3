"""What every node of the specification's tree is."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A node of the tree: frozen, and a stranger's key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
