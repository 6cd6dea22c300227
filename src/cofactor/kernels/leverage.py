"""Quadratic forms of the rows of a sparse matrix, for leverages of ridge regression."""

from cofactor.kernels.compile import kernel


@kernel
def quadratic_forms(lo, hi, indptr, indices, data, M, out):  # type: ignore[no-untyped-def]
    """Write xᵀMx for the rows x numbered lo to hi - 1 of a csr matrix; M is symmetric and dense."""
    for i in range(lo, hi):
        total = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            row = M[indices[a]]
            part = 0.0
            for b in range(indptr[i], a):
                part += row[indices[b]] * data[b]
            total += data[a] * (2.0 * part + row[indices[a]] * data[a])
        out[i] = total
