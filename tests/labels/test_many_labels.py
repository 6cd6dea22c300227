"""Many labels: what would need tables of label × label that fit no budget is refused before the fit; the rest fits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from cofactor.errors import InvalidInputError
from cofactor.labels import (
    MME,
    MODELS,
    OMF,
    PLST,
    AdaBoostMH,
    AdaBoostMR,
    BRkNN,
    KNNVote,
    LabelModel,
    MLDecisionTree,
    MLkNN,
)

FITTING = {
    "PLST": PLST(20, alpha=1.0, threshold=0, random_state=0),
    "MLkNN": MLkNN(threshold=0),
    "OMF": OMF(5, threshold=0, max_iter=2, tol=1, random_state=0),
    "BRkNN": BRkNN(threshold=0),
    "KNNVote": KNNVote(3, scale="none", threshold=0),
    "AdaBoostMH": AdaBoostMH(1, threshold=0),
    "AdaBoostMR": AdaBoostMR(1, threshold=0),
    "MME": MME(1, alpha=1.0, cost="unit", threshold=0, max_iter=2),
    "MLDecisionTree": MLDecisionTree(max_depth=3, min_samples_leaf=5, threshold=0),
}
#: Models which count pairs of labels, and have a test of their own.
PAIRS = {"CalibratedLabelRanking"}
#: All others have tables of instance × label or label × label, or maps which are too large.
REFUSED = {name: model() for name, model in MODELS.items() if name not in {*FITTING, *PAIRS}}
for _name in ("CPLST", "CSSP", "FAiE", "GroPLE", "LEML", "CompressedSensing", "LabelPCA", "FeatureLabelCCA"):
    REFUSED[_name].set_params(n_components=20)
REFUSED["MLCHMF"].set_params(n_components=1.0)


def many(n: int = 300, L: int = 20_000, D: int = 50) -> tuple[sparse.csr_array, sparse.csr_array]:
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((n, D)) * (rng.random((n, D)) < 0.2))
    rows = np.concatenate([np.arange(n), rng.integers(n, size=L)])
    columns = np.concatenate([rng.integers(20, size=n), np.arange(L)])
    Y = sparse.csr_array((np.ones(n + L), (rows, columns)), shape=(n, L))
    Y.sum_duplicates()
    Y.data[:] = 1
    return X, Y


def refuse_to_begin(kind: type[LabelModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a fit fail that was not refused before it began."""
    problem = (
        f"the fit of {kind.__name__} has begun: have its `_fit_bytes` say what it takes, or put it in FITTING, if it "
        "has no tables of labels"
    )
    monkeypatch.setattr(kind, "_fit", lambda self, data: pytest.fail(problem))


@pytest.mark.parametrize("name", FITTING)
@pytest.mark.filterwarnings("ignore")
def test_these_fit(name: str) -> None:
    X, Y = many(100)
    predicted = FITTING[name].fit(X, Y).predict(X[:5])
    assert sparse.issparse(predicted)
    assert predicted.shape == (5, 20_000)


@pytest.mark.parametrize("name", REFUSED)
def test_these_are_refused_before_the_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFACTOR_MAX_FIT", "500000")
    X, Y = many(L=4000)
    model = clone(REFUSED[name]).set_params(scale="none")  # a scale would be chosen first
    refuse_to_begin(type(model), monkeypatch)
    with pytest.raises(InvalidInputError, match="a fit on 300 instances, 50 features, .* labels would take at least"):
        model.fit(X, Y)


@pytest.mark.parametrize("name", ["CSSP", "GroPLE"])
def test_label_times_label_is_beyond_the_usual_budget(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = many(L=40_000 if name == "CSSP" else 20_000)
    model = clone(REFUSED[name]).set_params(scale="none")
    refuse_to_begin(type(model), monkeypatch)
    with pytest.raises(InvalidInputError, match="and more than 8,589,934,592 bytes for a fit are refused"):
        model.fit(X, Y)
