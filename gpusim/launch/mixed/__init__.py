"""Launches whose CTAs mix matrix products with work on their results: one SM in detail, all SMs as a list of CTAs."""
