"""The choice of a normalization by cross-validation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from tests.together import together

import cofactor
from cofactor.errors import InvalidInputError
from cofactor.evaluation import SCALINGS, best_scaling, splitter_of
from cofactor.labels import KNNVote
from cofactor.metrics import micro_f1

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1, 1, 50, 1] + [0, 5, 0, 0]
Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 5, X[:, 3] > 0.5]).astype(int)
VOTE = KNNVote(5, threshold=0)


def test_it_is_cross_validation_by_hand(tmp_path):
    mean = {}
    for name, scaling in SCALINGS.items():
        folds = splitter_of("kfold", "labels", n_splits=5, random_state=3, n_rows=60).split(X, Y)
        made = make_pipeline(clone(scaling), KNeighborsClassifier(5))
        mean[name] = np.mean(
            [micro_f1(Y[test], made.fit(X[train], Y[train]).predict(X[test])) for train, test in folds]
        )
    found = best_scaling(VOTE, X, Y, random_state=3)
    assert repr(found["scaling"]) == repr(SCALINGS[max(mean, key=mean.__getitem__)])
    assert VOTE.scale == "auto"
    assert found["model"].scale == "none"
    cofactor.save(found, tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").predict(X), found.predict(X))


def test_parameters_are_chosen_with_it_and_sparse_features_stay_so():
    found = best_scaling(VOTE, sparse.csr_array(X), Y, scalings=["rescaled", "z-score"], grid={"n_neighbors": [1, 45]})
    assert isinstance(found["scaling"], MaxAbsScaler | StandardScaler)
    assert found["model"].n_neighbors == 1
    assert sparse.issparse(found["model"].X_)
    with pytest.raises(ValueError, match="expected some of 'L2', 'L1', 'rescaled', 'z-score'"):
        best_scaling(VOTE, X, Y, scalings=["l3"])


@together(
    ("wrong", "message"),
    [
        ({"validation": 100}, "^validation=100: expected from 2 folds to 60, as many as there are instances"),
        ({"validation": 1}, "^validation=1: expected from 2 folds"),
        ({"validation": -1.5}, "^validation=-1.5: expected a share between 0 and 1"),
        ({"scalings": "L2"}, "^scalings='L2': expected a list of some of 'L2'"),
        ({"scalings": 3}, "^scalings=3: expected a list of some of 'L2'"),
        ({"model": "KNNVote"}, "^model='KNNVote': expected a model, such as"),
        ({"X": np.where(X > 2, np.nan, X)}, "^X holds NaN .row 0, column 1.: features must be finite numbers"),
        ({"X": X[:50]}, "^X has 50 rows and y has 60"),
        ({"Y": 2 * Y}, "^y holds 2 .row 0, label 0.: labels must be 0 and 1"),
        ({"grid": [1]}, "^grid=.1.: expected a dict of lists of values"),
        ({"grid": {"n_neighbors": 3}}, "^n_neighbors must be a list of values to try"),
        ({"model": KNNVote}, "^model=<class .*: expected a model, such as"),
    ],
)
def test_what_is_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        best_scaling(**{"model": VOTE, "X": X, "Y": Y, **wrong})
