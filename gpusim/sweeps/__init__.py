"""Many runs of one kernel: axes -> points -> rows, with a cache that survives an interruption.

The package is not called `sweep`, because a submodule of that name would hide the function `gpusim.sweep`.
"""
