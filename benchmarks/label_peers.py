"""Fit one method of another library and write its predictions; started by labels.py, in an environment of its own.

`python label_peers.py METHOD FOLDER` reads X.npz, Y.npz and T.npz (test rows), writes predicted.npz, and prints the
seconds of the fit as JSON.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse


def lib_multi_label(kind):
    from libmultilabel import linear

    options = "-s 2 -B 1 -m 1"  # its default number of threads collapses on a busy machine
    train = {"1vsrest": linear.train_1vsrest, "cost_sensitive_micro": linear.train_cost_sensitive_micro}[kind]

    def fit(X, Y):
        model = train(Y, X, options=options)
        return lambda T: linear.predict_values(model, T) > 0

    return fit


def mlknn(X, Y):
    from skmultilearn.adapt import MLkNN

    return MLkNN(k=10).fit(sparse.lil_matrix(X), sparse.lil_matrix(Y)).predict


def rakel(X, Y):
    from sklearn.svm import LinearSVC
    from skmultilearn.ensemble import RakelO

    model = RakelO(
        base_classifier=LinearSVC(),
        base_classifier_require_dense=[False, True],
        labelset_size=3,
        model_count=2 * Y.shape[1],
    )
    return model.fit(X, sparse.lil_matrix(Y)).predict


METHODS = {
    "1vsrest": lambda X, Y: lib_multi_label("1vsrest")(X, Y),
    "cost_sensitive_micro": lambda X, Y: lib_multi_label("cost_sensitive_micro")(X, Y),
    "mlknn": mlknn,
    "rakel": rakel,
}

if __name__ == "__main__":
    method, folder = sys.argv[1], Path(sys.argv[2])
    X, Y, T = (sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz")) for name in "XYT")
    began = time.perf_counter()
    predict = METHODS[method](X, Y.astype(np.float64))
    seconds = time.perf_counter() - began
    found = predict(T)
    dense = found.toarray() if sparse.issparse(found) else np.asarray(found)
    sparse.save_npz(folder / "predicted.npz", sparse.csr_matrix((dense > 0).astype(np.int8)))
    print(json.dumps({"seconds": seconds}))
