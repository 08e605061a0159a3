"""Measured cases against simulated ones: read a file, map each case to a program, run it under the same protocol, tell the error."""
