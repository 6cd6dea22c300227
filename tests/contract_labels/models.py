"""The label models under contract: every class of `MODELS`, with settings that fit fast, and data for them."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from cofactor import labels

#: It comes near enough to the minimum that two ways to it agree.
LOGISTIC = LogisticRegression(tol=1e-6, max_iter=1000)

CASES: dict[str, labels.LabelModel] = {
    "CML": labels.CML.paper(threshold=0, max_iter=100),
    "CML by Gibbs sampling": labels.CML.paper(
        threshold=0, inference="gibbs", stopping="none", n_sweeps=20, burn_in=5, n_chains=16, max_iter=10
    ),
    "CMLF": labels.CMLF.paper(10.0, threshold=0, inference="supported", tol=1e-4, max_iter=100),
    "TreeCRF": labels.TreeCRF.paper(threshold=0, max_iter=30),
    "ChainCRF": labels.ChainCRF.paper(threshold=0, max_iter=30),
    "ChainCRFEnsemble": labels.ChainCRFEnsemble.paper(2, threshold=0, max_iter=30),
    "PLST": labels.PLST.paper(3),
    "LabelRidge": labels.LabelRidge(alpha=3.0, kernel="linear", scale="none", threshold=0),
    "CPLST": labels.CPLST.paper(3),
    "FeatureLabelCCA": labels.FeatureLabelCCA.paper(3),
    "LabelPCA": labels.LabelPCA.paper(3),
    "CSSP": labels.CSSP.paper(3),
    "CSSP of 0/1": labels.CSSP.paper(3, coding="0/1"),
    "FAiE": labels.FAiE.paper(3),
    "FAiE of 0/1": labels.FAiE.paper(3, beta=10.0, coding="0/1", fit_intercept=False),
    "OMF": labels.OMF.paper(3, solver="als"),
    "OMF by sgd": labels.OMF.paper(3, eta0=3.0, max_iter=500, tol=1e-3),
    "GroPLE": labels.GroPLE.paper(4, 2, alpha_u=0.1),
    "LEML": labels.LEML.paper(3),
    "LEML of logistic loss": labels.LEML.paper(3, loss="logistic", tol=1e-3),
    "CompressedSensing": labels.CompressedSensing.paper(6, n_nonzero=3),
    "CompressedSensing by lasso": labels.CompressedSensing.paper(6, decoder="lasso"),
    "MME": labels.MME.paper(3, cost="root", tol=1e-3),
    "ANMF": labels.ANMF.paper(3, threshold=0),
    "MNMF": labels.MNMF.paper(3, max_iter=2000, threshold=0),
    "MLCHMF": labels.MLCHMF.paper(3),
    "MLkNN": labels.MLkNN.paper(3),
    "BRkNN": labels.BRkNN.paper(3),
    "KNNVote": labels.KNNVote.paper(3, scale="none"),
    "IBLR": labels.IBLR.paper(3, estimator=LOGISTIC),
    "IBLR+": labels.IBLR.paper(3, estimator=LOGISTIC, with_features=True),
    "AdaBoostMH": labels.AdaBoostMH.paper(10),
    "AdaBoostMR": labels.AdaBoostMR.paper(10, threshold=0),
    "MLDecisionTree": labels.MLDecisionTree.paper(max_depth=3),
    "MLForest": labels.MLForest.paper(5, trees="extra-trees", max_depth=5),
    "BPMLL": labels.BPMLL.paper(5, learning_rate=0.01, decay=0.0, max_iter=200),
    "LIFT": labels.LIFT.paper(0.1, LOGISTIC),
    "LLSF": labels.LLSF.paper(correlation="psd", fit_intercept=True, tol=1e-8),
    "LLSFDL": labels.LLSFDL.paper(beta=0.5, gamma=0.5, other_labels="predicted", fit_intercept=True, tol=1e-8),
    "SSJDR": labels.SSJDR.paper(3, gamma=0.1, n_neighbors=3, tol=0.01),
    "BinaryRelevance": labels.BinaryRelevance.paper(LinearSVC()),
    "BinaryRelevance of ridge": labels.BinaryRelevance.paper(Ridge()),
    "BinaryRelevance of logistic regression": labels.BinaryRelevance.paper(LOGISTIC),
    "ClassifierChain": labels.ClassifierChain.paper(order="pearson"),
    "EnsembleOfChains": labels.EnsembleOfChains.paper(n_estimators=3),
    "ProbabilisticChain": labels.ProbabilisticChain.paper(LOGISTIC),
    "LabelPowerset": labels.LabelPowerset.paper(),
    "RAkEL": labels.RAkEL.paper(voting="soft", n_estimators=4),
    "LabelClustering": labels.LabelClustering.paper(max_size=3),
    "LabelClustering of chains that overlap": labels.LabelClustering.paper(
        labels.ClassifierChain.paper(), clustering="overlapping", measure="mutual-information", max_size=3
    ),
    "CalibratedLabelRanking": labels.CalibratedLabelRanking.paper(),
    "HOMER": labels.HOMER.paper(n_groups=2),
    "Stacked2BR": labels.Stacked2BR.paper(n_folds=2),
    "MetaLabels": labels.MetaLabels.paper(group_size=3),
}
for _model in CASES.values():
    _model.set_params(random_state=0)

#: Cases that learn from one instance after the other, so that their order has some influence.
ONE_BY_ONE = {"OMF by sgd", "BPMLL", "CML by Gibbs sampling"}

#: Runs a test for each case; the test gets its name.
every = pytest.mark.parametrize("name", CASES)

#: The first case of each class.
CLASSES = list({type(model): name for name, model in reversed(CASES.items())}.values())[::-1]

#: Runs a test for them: of what a class does whatever its settings are.
every_class = pytest.mark.parametrize("name", CLASSES)

#: The case that stands for all models whose class inherits what a test is about.
PROBE = "PLST"


def overriding(*methods: str) -> list[str]:
    """Return the probe, and one case for each other implementation of the methods among the classes.

    What `LabelModel` does for every model, such as reading labels, is tested on the probe. It is tested again only on
    classes which replace one of the methods that do it, or whose base classes do.
    """
    unknown = [method for method in methods if not callable(getattr(labels.LabelModel, method, None))]
    assert not unknown, f"LabelModel has no {unknown}: name the methods that do what this test is about"
    found: dict[tuple[object, ...], str] = {}
    for name in (PROBE, *CASES):
        functions = (getattr(type(CASES[name]), method) for method in methods)
        found.setdefault(tuple(getattr(function, "__func__", function) for function in functions), name)
    return list(found.values())


def probed(*methods: str) -> Any:
    """Run a test for the probe, and for a case of each class which overrides one of the methods."""
    return pytest.mark.parametrize("name", overriding(*methods))


NAMES = ["rock, hard", 'so "pop"', "été", "a\nb", "plain", "'"]


def fresh(name: str, **params: Any) -> labels.LabelModel:
    """Return an unfitted model of a case."""
    return clone(CASES[name]).set_params(**params)


def planted(n: int = 80, n_features: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features, a third of them 0 and none negative, and six correlated noisy labels of them."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)).round(2) * (rng.random((n, n_features)) > 1 / 3)
    scores = (X - X.mean(axis=0)) @ rng.normal(size=(n_features, 3)) @ rng.normal(size=(3, len(NAMES)))
    scores += 0.2 * scores.std() * rng.normal(size=scores.shape)
    return X, (scores > np.quantile(scores, [0.5, 0.6, 0.7, 0.5, 0.6, 0.4])[None, :]).astype(np.int64)


@lru_cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels; not to be changed."""
    X, Y = planted()
    X.setflags(write=False)
    Y.setflags(write=False)
    return X, Y


@lru_cache
def fitted(name: str) -> labels.LabelModel:
    """Return the case's model, fitted on the data; not to be changed."""
    return fresh(name).fit(*data())


def beside_constants() -> np.ndarray:
    """Return the labels of the data, with one that all instances have and one that none has before and among them."""
    Y = data()[1]
    return np.hstack([np.ones((len(Y), 1), int), Y[:, :3], np.zeros((len(Y), 1), int), Y[:, 3:]])


@lru_cache
def fitted_beside_constants(name: str) -> labels.LabelModel:
    """Return the case's model, fitted on the data with two constant labels more; not to be changed."""
    return fresh(name).fit(data()[0], beside_constants())


@lru_cache
def more_data() -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels, not to be changed, of which two copies of a model give enough held-out scores.

    A fit that learns its decisions takes four copies of the other, smaller data, and longer.
    """
    X, Y = planted(160)
    X.setflags(write=False)
    Y.setflags(write=False)
    return X, Y


@lru_cache
def decided(name: str) -> labels.LabelModel:
    """Return the case's model, not to be changed, whose scale and decisions by probabilities were chosen in the fit."""
    return fresh(name, scale="auto", threshold="auto", decide_for="macro").fit(*more_data(), label_names=NAMES)


def bits(model: labels.LabelModel) -> dict[str, Any]:
    """Return all that a model learned, but for the form of its labels, so that == compares it to the bit."""
    header, arrays = model._to_state()
    return {
        "learned": repr({name: value for name, value in header["learned"].items() if name != "form_"}),
        **{name: (f"{a.dtype}{a.shape}", a.tobytes()) for name, a in arrays.items()},
    }


def dense_of(Y: Any) -> np.ndarray:
    """Return labels of any form as a dense array of 0 and 1."""
    Y = Y.toarray() if sparse.issparse(Y) else Y
    return (np.asarray(Y) > 0).astype(np.int64)
