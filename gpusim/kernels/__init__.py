"""Ready-made kernels: each one screen of IR building, its NumPy reference beside it."""

from gpusim.kernels.gemm import gemm

#: kernel name on the command line -> the function that builds its program
KERNELS = {"gemm": gemm}

__all__ = ["KERNELS", "gemm"]
