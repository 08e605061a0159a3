"""Loops that mix matrix products with work on their results (attention): from tile ops to what a warpgroup issues."""
