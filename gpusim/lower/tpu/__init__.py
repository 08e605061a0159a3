"""Tile IR -> what a core of a TPU does: passes of the systolic arrays, work of the vector unit, copies that run ahead."""
