"""A launch on a TPU: the grid as a sequence of steps on each core, then time, counters and the laws that hold."""
