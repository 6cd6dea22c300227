"""The label models under contract: every class of `MODELS`, with settings that fit fast, and data for them."""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from cofactor.labels import (
    ANMF,
    BPMLL,
    CML,
    CMLF,
    CPLST,
    CSSP,
    HOMER,
    IBLR,
    LEML,
    LIFT,
    LLSF,
    LLSFDL,
    MLCHMF,
    MME,
    MNMF,
    OMF,
    PLST,
    SSJDR,
    AdaBoostMH,
    AdaBoostMR,
    BinaryRelevance,
    BRkNN,
    CalibratedLabelRanking,
    ChainCRF,
    ChainCRFEnsemble,
    ClassifierChain,
    CompressedSensing,
    EnsembleOfChains,
    FAiE,
    FeatureLabelCCA,
    GroPLE,
    KNNVote,
    LabelClustering,
    LabelModel,
    LabelPCA,
    LabelPowerset,
    LabelRidge,
    MetaLabels,
    MLDecisionTree,
    MLForest,
    MLkNN,
    ProbabilisticChain,
    RAkEL,
    Stacked2BR,
    TreeCRF,
)  # fmt: skip

CASES: dict[str, LabelModel] = {
    "CML": CML.paper(threshold=0, max_iter=100, random_state=0),
    "CML by Gibbs sampling": CML.paper(
        threshold=0,
        inference="gibbs",
        stopping="none",
        n_sweeps=20,
        burn_in=5,
        n_chains=16,
        max_iter=10,
        random_state=0,
    ),
    "CMLF": CMLF.paper(10.0, threshold=0, inference="supported", tol=1e-4, max_iter=100, random_state=0),
    "TreeCRF": TreeCRF.paper(threshold=0, max_iter=30, random_state=0),
    "ChainCRF": ChainCRF.paper(threshold=0, max_iter=30, random_state=0),
    "ChainCRFEnsemble": ChainCRFEnsemble.paper(2, threshold=0, max_iter=30, random_state=0),
    "PLST": PLST.paper(3, random_state=0),
    "LabelRidge": LabelRidge(alpha=3.0, kernel="linear", scale="none", threshold=0, random_state=0),
    "CPLST": CPLST.paper(3, random_state=0),
    "FeatureLabelCCA": FeatureLabelCCA.paper(3, random_state=0),
    "LabelPCA": LabelPCA.paper(3, random_state=0),
    "CSSP": CSSP.paper(3, random_state=0),
    "CSSP of 0/1": CSSP.paper(3, coding="0/1", random_state=0),
    "FAiE": FAiE.paper(3, random_state=0),
    "FAiE of 0/1": FAiE.paper(3, beta=10.0, coding="0/1", fit_intercept=False, random_state=0),
    "OMF": OMF.paper(3, solver="als", random_state=0),
    "OMF by sgd": OMF.paper(3, eta0=3.0, max_iter=500, tol=1e-3, random_state=0),
    "GroPLE": GroPLE.paper(4, 2, alpha_u=0.1, random_state=0),
    "LEML": LEML.paper(3, random_state=0),
    "LEML of logistic loss": LEML.paper(3, loss="logistic", tol=1e-3, random_state=0),
    "CompressedSensing": CompressedSensing.paper(6, n_nonzero=3, random_state=0),
    "CompressedSensing by lasso": CompressedSensing.paper(6, decoder="lasso", random_state=0),
    "MME": MME.paper(3, cost="root", tol=1e-3, random_state=0),
    "ANMF": ANMF.paper(3, threshold=0, random_state=0),
    "MNMF": MNMF.paper(3, max_iter=2000, threshold=0, random_state=0),
    "MLCHMF": MLCHMF.paper(3, random_state=0),
    "MLkNN": MLkNN.paper(3, random_state=0),
    "BRkNN": BRkNN.paper(3, random_state=0),
    "KNNVote": KNNVote.paper(3, scale="none", random_state=0),
    "IBLR": IBLR.paper(3, estimator=LogisticRegression(tol=1e-6, max_iter=1000), random_state=0),
    "IBLR+": IBLR.paper(3, estimator=LogisticRegression(tol=1e-6, max_iter=1000), with_features=True, random_state=0),
    "AdaBoostMH": AdaBoostMH.paper(10, random_state=0),
    "AdaBoostMR": AdaBoostMR.paper(10, threshold=0, random_state=0),
    "MLDecisionTree": MLDecisionTree.paper(max_depth=3, random_state=0),
    "MLForest": MLForest.paper(5, trees="extra-trees", max_depth=5, random_state=0),
    "BPMLL": BPMLL.paper(5, learning_rate=0.01, decay=0.0, max_iter=200, random_state=0),
    "LIFT": LIFT.paper(0.1, LogisticRegression(tol=1e-6), random_state=0),
    "LLSF": LLSF.paper(tol=1e-8, random_state=0),
    "LLSFDL": LLSFDL.paper(beta=0.5, gamma=0.5, other_labels="predicted", tol=1e-8, random_state=0),
    "SSJDR": SSJDR.paper(3, gamma=0.1, n_neighbors=3, tol=0.01, random_state=0),
    "BinaryRelevance": BinaryRelevance.paper(random_state=0),
    "BinaryRelevance of ridge": BinaryRelevance.paper(Ridge(), random_state=0),
    "BinaryRelevance of logistic regression": BinaryRelevance.paper(LogisticRegression(tol=1e-6), random_state=0),
    "ClassifierChain": ClassifierChain.paper(order="pearson", random_state=0),
    "EnsembleOfChains": EnsembleOfChains.paper(n_estimators=3, random_state=0),
    "ProbabilisticChain": ProbabilisticChain.paper(LogisticRegression(tol=1e-6, max_iter=1000), random_state=0),
    "LabelPowerset": LabelPowerset.paper(random_state=0),
    "RAkEL": RAkEL.paper(voting="soft", n_estimators=4, random_state=0),
    "LabelClustering": LabelClustering.paper(max_size=3, random_state=0),
    "LabelClustering of chains that overlap": LabelClustering.paper(
        ClassifierChain.paper(), clustering="overlapping", measure="mutual-information", max_size=3, random_state=0
    ),
    "CalibratedLabelRanking": CalibratedLabelRanking.paper(random_state=0),
    "HOMER": HOMER.paper(n_groups=2, random_state=0),
    "Stacked2BR": Stacked2BR.paper(n_folds=2, random_state=0),
    "MetaLabels": MetaLabels.paper(group_size=3, random_state=0),
}

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
    unknown = [method for method in methods if not callable(getattr(LabelModel, method, None))]
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


def fresh(name: str, **params: Any) -> LabelModel:
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
def fitted(name: str) -> LabelModel:
    """Return the case's model, fitted on the data; not to be changed."""
    return fresh(name).fit(*data())


def beside_constants() -> np.ndarray:
    """Return the labels of the data, with one that all instances have and one that none has before and among them."""
    Y = data()[1]
    return np.hstack([np.ones((len(Y), 1), int), Y[:, :3], np.zeros((len(Y), 1), int), Y[:, 3:]])


@lru_cache
def fitted_beside_constants(name: str) -> LabelModel:
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
def decided(name: str) -> LabelModel:
    """Return the case's model, not to be changed, whose scale and decisions by probabilities were chosen in the fit."""
    return fresh(name, scale="auto", threshold="auto", decide_for="macro").fit(*more_data(), label_names=NAMES)


def bits(model: LabelModel) -> dict[str, Any]:
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
