"""Microbenchmarks as kernels: what the published measurements of latency, throughput, branches and barriers run on a real machine."""
