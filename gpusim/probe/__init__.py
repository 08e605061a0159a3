"""Microbenchmarks run inside the simulator: `gpusim probe`. One module a group; each has PLANS, POINTS and CURVES (see `plan`)."""
