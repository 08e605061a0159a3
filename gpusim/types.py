"""`numba.types` of a script for Numba: what `gpusim.cuda.types` holds."""

from gpusim.cuda.types import *  # noqa: F403
