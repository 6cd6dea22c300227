"""The same label methods in scikit-multilearn-ng, scikit-learn and cofactor, with the same settings, in one run.

    COFACTOR_PEERS=peers/bin/python python benchmarks/label_same.py [--sets emotions medical ...] [--methods ...]

How predictions differ, and why, and the processor seconds of fit and prediction without compilation. The split is
that of `labels.py peers`. Whole tables go into docs/benchmarks.
"""

import argparse
import os
import subprocess
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from common import publish, table
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain as ChainOfSklearn
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from cofactor.labels import (
    IBLR,
    BRkNN,
    ClassifierChain,
    LabelModel,
    LabelPowerset,
    MLDecisionTree,
    MLkNN,
    ProbabilisticChain,
    RAkEL,
)
from cofactor.metrics import label_report
from labels import PEER_SECONDS, peer, peer_split

SETS = ("emotions", "medical", "bibtex")
HEADER = ["data", "method", "of", "cells that differ", "micro-F1", "theirs", "fit + predict, s", "theirs, s", "ratio"]


class Same(NamedTuple):
    """A method as both have it, and on how many labels at most it is tried."""

    ours: Callable[[], LabelModel]
    theirs: str | Callable[[], Any]
    most_labels: int = 1000


SVM = LinearSVC(random_state=0)
METHODS = {
    "ML-kNN": Same(MLkNN.paper, "mlknn_of_others"),
    "ML-kNN, as it is there": Same(MLkNN.paper, "mlknn"),
    "BR-kNN-a": Same(lambda: BRkNN.paper(9), "brknn_a"),
    "BR-kNN-b": Same(lambda: BRkNN.paper(9, extension="b"), "brknn_b"),
    "IBLR+": Same(lambda: IBLR.paper(with_features=True), "iblr", 50),
    "RAkEL-o": Same(lambda: RAkEL.paper(SVM, random_state=0), "rakel"),
    "RAkEL-d": Same(lambda: RAkEL.paper(SVM, overlapping=False, random_state=0), "rakel_d"),
    "classifier chain": Same(lambda: ClassifierChain.paper(SVM, order="given"), "chain"),
    "classifier chain of scikit-learn": Same(
        lambda: ClassifierChain.paper(SVM, order="given"), lambda: ChainOfSklearn(SVM)
    ),
    "label powerset": Same(lambda: LabelPowerset.paper(SVM), "powerset", 50),
    "probabilistic chain": Same(
        lambda: ProbabilisticChain.paper(LogisticRegression(max_iter=1000), order="given", threshold="joint"),
        "probabilistic_chain",
        10,
    ),
    "tree of many outputs, scikit-learn": Same(
        lambda: MLDecisionTree.paper(min_samples_leaf=5, random_state=0),
        lambda: DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5, random_state=0),
    ),
}


def of_ours(model: LabelModel, X: Any, Y: Any, T: Any) -> tuple[Any, float]:
    """Return predictions, and seconds of fit and prediction."""
    began = time.process_time()
    predicted = model.fit(X, Y).predict(T)
    return predicted, time.process_time() - began


def of_sklearn(model: Any, X: Any, Y: Any, T: Any) -> tuple[Any, float]:
    """Return predictions, and seconds of fit and prediction; it wants a table of labels."""
    labels = np.asarray(Y.todense() if sparse.issparse(Y) else Y).astype(int)
    began = time.process_time()
    predicted = model.fit(X, labels).predict(T)
    return predicted, time.process_time() - began


def row(data: str, name: str, python: str) -> list[str] | None:
    """Return the row of a method, or None where it is not tried."""
    X, Y, T, truth = peer_split(data)
    vary = np.flatnonzero(np.ptp(sparse.csc_array(Y).toarray(), axis=0))  # theirs take no others
    Y, truth, same = Y[:, vary], truth[:, vary], METHODS[name]
    if Y.shape[1] > same.most_labels:
        return None
    of_ours(same.ours(), *(part[:40] for part in (X, Y, T)))  # compiles
    model = same.ours()
    predicted, seconds = of_ours(model, X, Y, T)
    micro = label_report(truth, predicted)["micro_f1"]
    if isinstance(same.theirs, str):
        more = {"labelsets": model.labelsets_} if hasattr(model, "labelsets_") else {}
        ours = [f"{micro:.3f}", "–", f"{seconds:.2f}"]
        try:
            found = peer(python, same.theirs, X, Y, T, **more)
        except subprocess.TimeoutExpired:
            return [data, name, "scikit-multilearn-ng", "–", *ours, f"more than {PEER_SECONDS}", "–"]
        if found is None:
            return [data, name, "scikit-multilearn-ng", "–", *ours, "fails", "–"]
        theirs, their_seconds, of = found[0], sum(found[1].values()), "scikit-multilearn-ng"
    else:
        theirs, their_seconds = of_sklearn(same.theirs(), X, Y, T)
        of = "scikit-learn"
    on = np.asarray(sparse.csr_array(predicted).toarray() > 0)
    differ = int(np.count_nonzero(on != (sparse.csr_array(theirs).toarray() > 0)))
    their_micro = label_report(truth, sparse.csr_array(theirs))["micro_f1"]
    return [
        data, name, of, f"{differ:,} of {on.size:,}", f"{micro:.3f}", f"{their_micro:.3f}",
        f"{seconds:.2f}", f"{their_seconds:.2f}", f"{their_seconds / seconds:.1f}",
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=tuple(METHODS))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    python = os.environ["COFACTOR_PEERS"]
    found = []
    for data in chosen.sets:
        for name in chosen.methods:
            one = row(data, name, python)
            if one is not None:
                found.append(one)
                print(" | ".join(one), flush=True)
    if chosen.methods == tuple(METHODS) and chosen.sets == SETS:
        publish("same label methods", table(HEADER, found))


if __name__ == "__main__":
    main()
