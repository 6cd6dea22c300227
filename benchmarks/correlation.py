"""Measures of how labels go together: seconds of the processor, on cal500 and on many labels of many instances.

    python benchmarks/correlation.py

cal500 has 502 instances, 68 features (standardized here) and 174 labels, of which 15,051 pairs are fitted for the
likelihood gain. The larger set is drawn: 100,000 instances and 1,000 labels, 20 of them on for each instance on
average, frequent and rare ones; measures which look at labels alone, and correlation by 50 features.
"""

import time

import numpy as np
from common import publish, table
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from cofactor.correlation import LABEL_MEASURES, MEASURES, measured
from cofactor.datasets import load_labels


def cal500() -> tuple[np.ndarray, sparse.csr_array]:
    data = load_labels("cal500")
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return StandardScaler().fit_transform(X), sparse.csr_array(data.Y)


def large(n: int = 100_000, L: int = 1000) -> tuple[np.ndarray, sparse.csr_array]:
    rng = np.random.default_rng(0)
    share = (1.0 + np.arange(L)) ** -0.7
    counts = np.maximum(1, n * np.minimum(0.9, 20 * share / share.sum())).astype(int)
    rows = np.concatenate([rng.choice(n, count, replace=False) for count in counts])
    columns = np.repeat(np.arange(L), counts)
    return rng.normal(size=(n, 50)), sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, L))


def seconds(measure: str, X: np.ndarray, Y: sparse.csr_array) -> float:
    began = time.process_time()
    measured(measure, X, Y)
    return time.process_time() - began


def main() -> None:
    small, many = cal500(), large()
    rows = []
    for measure in MEASURES:
        on_many = measure in LABEL_MEASURES or measure == "feature-correlation"
        rows.append([measure, f"{seconds(measure, *small):.3g}", f"{seconds(measure, *many):.2f}" if on_many else "–"])
        print(rows[-1], flush=True)
    publish("correlation: seconds", table(["measure", "cal500, s", "100,000 × 1,000, s"], rows))


if __name__ == "__main__":
    main()
