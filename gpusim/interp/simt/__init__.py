"""Values of SIMT kernels."""

from gpusim.interp.simt.execute import Executed, execute

__all__ = ["Executed", "execute"]
