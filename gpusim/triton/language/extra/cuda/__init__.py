"""tl.extra.cuda: where scripts find `libdevice`, too."""

from __future__ import annotations

from gpusim.triton.language.extra import libdevice

__all__ = ["libdevice"]
