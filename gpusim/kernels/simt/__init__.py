"""The library of SIMT kernels: what each thread does, in our own front end, with a NumPy reference beside it.

`LIBRARY` holds one row a kernel. Tests, the command line and the validation against measured cases use the same rows.
"""

from gpusim.kernels.simt import convolution, divergence, flash, hgemm, histogram, norm, reduce, relu, scan, sgemm, softmax, spmv, stencil, transpose, vector
from gpusim.kernels.simt.entry import Entry

FAMILIES = (vector, relu, transpose, reduce, sgemm, hgemm, softmax, norm, histogram, stencil, convolution, spmv, divergence, flash, scan)

#: name of the kernel -> its row
LIBRARY: dict[str, Entry] = {name: entry for family in FAMILIES for name, entry in family.ENTRIES.items()}
