"""Fit one method of another library and write its predictions; started by others, in an environment of its own.

`python label_peers.py METHOD FOLDER` reads X.npz, Y.npz, T.npz (test rows), and labelsets.npz where the random sets of
labels are given; it writes predicted.npz, and prints the processor seconds of fit and prediction, imports not included,
as JSON.
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


def mlknn(folder):
    from skmultilearn.adapt import MLkNN

    return labels_as_lil(MLkNN(k=10))


def mlknn_of_others(folder):
    """In training an instance is no neighbour of its own, as the paper has it."""
    from skmultilearn.adapt import MLkNN

    def fit(X, Y):
        model = MLkNN(k=10, ignore_first_neighbours=1).fit(sparse.lil_matrix(X), sparse.lil_matrix(Y))
        model.ignore_first_neighbours = 0
        return model.predict

    return fit


def brknn(name):
    def made(folder):
        from skmultilearn import adapt

        return labels_as_lil(getattr(adapt, name)(k=9))

    return made


def linear(module, name, **params):
    """Return a method with a linear support vector machine for each of its problems."""

    def made(folder):
        import importlib

        from sklearn.svm import LinearSVC
        from skmultilearn.cluster import RandomLabelSpaceClusterer

        if (folder / "labelsets.npz").exists():
            sets = sparse.csr_matrix(sparse.load_npz(folder / "labelsets.npz"))
            given = [one.tolist() for one in np.split(sets.indices, sets.indptr[1:-1])]
            RandomLabelSpaceClusterer.fit_predict = lambda self, X, y: given
        prefix = "base_classifier" if "Rakel" in name else ""
        params[prefix or "classifier"] = LinearSVC(random_state=0)
        params[f"{prefix}_require_dense".lstrip("_")] = [False, True]
        return labels_as_lil(getattr(importlib.import_module(f"skmultilearn.{module}"), name)(**params))

    return made


def logistic(name):
    def made(folder):
        from sklearn.linear_model import LogisticRegression
        from skmultilearn import problem_transform

        classifier = LogisticRegression(max_iter=1000)
        return labels_as_lil(getattr(problem_transform, name)(classifier=classifier, require_dense=[False, True]))

    return made


def rakel(folder):
    def fit(X, Y):
        made = linear("ensemble", "RakelO", model_count=2 * Y.shape[1], labelset_size=3)
        return made(folder)(X, Y)

    return fit


def labels_as_lil(model):
    return lambda X, Y: model.fit(sparse.lil_matrix(X), sparse.lil_matrix(Y)).predict


METHODS = {
    "1vsrest": lambda folder: lib_multi_label("train_1vsrest"),
    "cost_sensitive_micro": lambda folder: lib_multi_label("train_cost_sensitive_micro"),
    "mlknn": mlknn,
    "mlknn_of_others": mlknn_of_others,
    "brknn_a": brknn("BRkNNaClassifier"),
    "brknn_b": brknn("BRkNNbClassifier"),
    "iblr": logistic("InstanceBasedLogisticRegression"),
    "rakel": rakel,
    "rakel_d": linear("ensemble", "RakelD", labelset_size=3),
    "chain": linear("problem_transform", "ClassifierChain"),
    "powerset": linear("problem_transform", "LabelPowerset"),
    "probabilistic_chain": logistic("ProbabilisticClassifierChain"),
}

if __name__ == "__main__":
    folder = Path(sys.argv[2])
    X, Y, T = (sparse.csr_matrix(sparse.load_npz(folder / f"{name}.npz")) for name in "XYT")
    fit = METHODS[sys.argv[1]](folder)
    began = time.process_time()
    predict = fit(X, Y.astype(np.int64))
    fitted = time.process_time()
    found = predict(T)
    ended = time.process_time()
    dense = found.toarray() if sparse.issparse(found) else np.asarray(found)
    sparse.save_npz(folder / "predicted.npz", sparse.csr_matrix((dense > 0).astype(np.int8)))
    print(json.dumps({"fit": fitted - began, "predict": ended - fitted}))
