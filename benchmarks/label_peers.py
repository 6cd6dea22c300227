"""Fit one method of another library and write its predictions; started by labels.py, in an environment of its own.

`python label_peers.py METHOD FOLDER` reads X.npz, Y.npz and T.npz (test rows), writes predicted.npz, and prints the
processor seconds of the fit, imports not included, as JSON.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse


def lib_multi_label(name):
    from libmultilabel import linear

    def fit(X, Y):
        # Its default number of threads collapses on a busy machine.
        model = getattr(linear, name)(Y.astype(np.float64), X, options="-s 2 -B 1 -m 1")
        return lambda T: linear.predict_values(model, T) > 0

    return fit


def mlknn():
    from skmultilearn.adapt import MLkNN

    return lambda X, Y: MLkNN(k=10).fit(sparse.lil_matrix(X), sparse.lil_matrix(Y)).predict


def rakel():
    from sklearn.svm import LinearSVC
    from skmultilearn.ensemble import RakelO

    def fit(X, Y):
        model = RakelO(LinearSVC(), 2 * Y.shape[1], 3, base_classifier_require_dense=[False, True])
        return model.fit(X, sparse.lil_matrix(Y)).predict

    return fit


METHODS = {
    "1vsrest": lambda: lib_multi_label("train_1vsrest"),
    "cost_sensitive_micro": lambda: lib_multi_label("train_cost_sensitive_micro"),
    "mlknn": mlknn,
    "rakel": rakel,
}

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    X, Y, T = (sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz")) for name in "XYT")
    fit = METHODS[sys.argv[1]]()
    began = time.process_time()
    predict = fit(X, Y.astype(np.int64))
    seconds = time.process_time() - began
    found = predict(T)
    dense = found.toarray() if sparse.issparse(found) else np.asarray(found)
    sparse.save_npz(folder / "predicted.npz", sparse.csr_matrix((dense > 0).astype(np.int8)))
    print(json.dumps({"seconds": seconds}))
