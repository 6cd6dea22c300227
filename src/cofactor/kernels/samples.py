"""Samples that lie user by user, put in the order in which the kernels of predictions take them."""

from cofactor.kernels.compile import exact


@exact
def samples_of(table, rows, out):  # type: ignore[no-untyped-def]
    """Write out[s, k] = table[rows[k], s]; rows from the end are counted back, as in NumPy."""
    for k in range(len(rows)):
        i = rows[k]
        for s in range(table.shape[1]):
            for f in range(table.shape[2]):
                out[s, k, f] = table[i, s, f]
