"""What the base class does for all label models, tested with models whose scores are known."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from cofactor.evaluation import Search
from cofactor.labels import CML, OMF, PLST, LabelModel, Threshold
from cofactor.model.estimator import learned, param
from cofactor.model.state import packed, unpacked


class Echo(LabelModel):
    """Scores are the first features; notes what `_fit` was given."""

    threshold: float | str = param(default=0, kw_only=False)
    scale: str = param(default="none")

    notes_: dict[str, Any] = learned()

    def _fit(self, data):
        self.notes_ = {"X": data.features, "Y": data.labels}

    def _scores(self, X):
        width = self.notes_["Y"].shape[1]
        return (X.toarray() if sparse.issparse(X) else X)[:, :width]


class Penalized(Echo):
    """Has a parameter alpha, and says nothing of values to try."""

    alpha: float = param(default=1.0)


X = np.array([[1.0, -1.0, 2.0], [-2.0, 0.5, 1.0], [0.0, 0.1, -1.0], [3.0, -0.2, 0.3], [0.4, 0.3, -2.0]])
Y = (X > 0).astype(int)


def test_what_a_method_sees():
    model = Echo().fit(X.astype(np.float32), sparse.csc_matrix(Y))
    assert model.notes_["X"].dtype == np.float32
    assert model.notes_["X"].flags.c_contiguous
    assert type(model.notes_["Y"]) is sparse.csr_array
    assert model.notes_["Y"].dtype == np.float32
    assert np.array_equal(model.notes_["Y"].toarray(), Y)
    assert type(Echo().fit(sparse.coo_matrix(X), Y).notes_["X"]) is sparse.csr_array


def test_what_a_method_does_not_see():
    wide = np.column_stack([np.ones(5, int), Y[:, 0], np.zeros(5, int)])
    model = Echo().fit(X, wide)
    assert np.array_equal(model.notes_["Y"].toarray(), Y[:, :1])
    assert np.array_equal(model.predict(X), wide)


def test_constant_labels_do_not_change_the_precision_of_scores():
    single = X.astype(np.float32)
    wide = np.column_stack([np.ones(5, int), Y])
    alone, beside = Echo().fit(single, Y).decision_function(single), Echo().fit(single, wide).decision_function(single)
    assert beside.dtype == alone.dtype == np.float32
    assert np.array_equal(beside[:, 1:], alone)
    assert (beside[:, 0] == 1e9).all()


def test_strict_cut_and_score():
    model = Echo().fit(X, Y)
    assert np.array_equal(model.predict(X), Y)
    assert model.predict(X)[2, 0] == 0  # a score of 0 is off
    assert model.score(X, Y) == 1
    assert isinstance(model.decision_.rule, Threshold)


@pytest.mark.parametrize("rule", ["global", "per-label"])
def test_a_threshold_is_learned_on_what_a_model_did_not_see(rule):
    class Cheat(Echo):
        """Scores instances that it saw by their true labels, and all others 2 below their first features."""

        def _fit(self, data):
            super()._fit(data)
            self.seen = {x.tobytes(): y for x, y in zip(data.features, data.labels.toarray(), strict=True)}

        def _scores(self, X):
            return np.array([self.seen.get(x.tobytes(), x - 2) for x in X])

    rng = np.random.default_rng(0)
    many = rng.normal(size=(200, 3))
    model = Cheat(rule, random_state=0).fit(many, many > 0)
    assert np.allclose(model.threshold_, -2, atol=0.2)
    new = rng.normal(size=(200, 3))
    assert model.score(new, new > 0) > 0.9


def test_no_values_of_parameters_are_tried_unless_a_model_names_them():
    assert Penalized().default_grid() == {}


def test_seeds_make_folds():
    noisy = np.random.default_rng(1).normal(size=(50, 3))

    class Mean(Echo):
        """Scores depend on the training instances."""

        def _scores(self, X):
            return X - self.notes_["X"].mean(axis=0)

    cuts = [Mean("global", random_state=seed).fit(noisy, noisy > 0.3).threshold_ for seed in (0, 0, 1, 2, 3)]
    assert cuts[0] == cuts[1]
    assert len(set(cuts)) > 1


def test_nothing_of_an_earlier_fit_remains():
    model = Echo().fit(X, Y)
    model.fit(X, np.ones((5, 3)))
    assert not hasattr(model, "notes_")
    assert model.predict(X).all()


def test_what_is_learned_can_be_packed():
    learned = {
        "matrix": sparse.csr_array(X),
        "list": [np.arange(3), {"a": None, "b": [1.5, "text", True]}, ()],
        "infinite": [np.inf, -np.inf],
        "texts": np.array(["a, b", 'c"d'], dtype=object),
        "number": np.float64(2.5),
        "array": np.eye(2, dtype=np.float32),
    }
    arrays: dict[str, Any] = {}
    header = packed(learned, "learned", arrays)
    assert all(isinstance(a, np.ndarray) and a.dtype != object for a in arrays.values())
    back = unpacked(header, arrays)
    assert np.array_equal(back["matrix"].toarray(), X)
    assert np.array_equal(back["list"][0], np.arange(3))
    assert back["list"][1:] == [{"a": None, "b": [1.5, "text", True]}, []]
    assert back["infinite"] == [np.inf, -np.inf]
    assert back["texts"].tolist() == ["a, b", 'c"d']
    assert back["number"] == 2.5
    assert back["array"].dtype == np.float32
    with pytest.raises(TypeError, match=r"learned\.f is a function"):
        packed({"f": packed}, "learned", {})
    arrays["learned.matrix.indices"][0] = 99
    with pytest.raises(ValueError, match="indices"):
        unpacked(header, arrays)


class Pairs(Echo):
    """Gives every instance the first label and the best other one, whatever the cut."""

    threshold: float | str = param(default="joint")

    def _label_sets(self, X):
        scores = self._scores(X)
        on = np.zeros(scores.shape, dtype=bool)
        on[:, 0] = True
        on[np.arange(len(X)), 1 + np.argmax(scores[:, 1:], axis=1)] = True
        return on


def test_a_model_may_decode_label_sets_by_itself():
    model = Pairs().fit(X, Y)
    assert model.decision_.rule is None
    assert model.threshold_ is None
    assert model.predict(X).tolist() == [[1, 0, 1], [1, 0, 1], [1, 1, 0], [1, 0, 1], [1, 1, 0]]
    wide = np.column_stack([np.zeros(5, int), Y, np.ones(5, int)])
    assert np.array_equal(Pairs().fit(X, wide).predict(X)[:, [0, 4]], wide[:, [0, 4]])
    assert np.array_equal(Pairs(threshold=0).fit(X, Y).predict(X), Y)  # its scores may be cut as others are
    header, arrays = model._to_state()
    assert np.array_equal(Pairs._from_state(header, arrays).predict(X), model.predict(X))
    with pytest.raises(
        ValueError,
        match=r"threshold='joint': Echo does not decode label sets by itself; these do: BRkNN, .*LabelPowerset, ",
    ):
        Echo("joint").fit(X, Y)
    with pytest.raises(ValueError, match="does not decode label sets by itself"):
        Echo._from_state({**header, "params": {"threshold": 0, "random_state": None}}, arrays)


def test_a_model_without_probabilities_says_how_to_get_them():
    model = Echo().fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(
        AttributeError, match="Echo has no predict_proba with threshold=0, .* fit it with threshold='auto'"
    ):
        model.predict_proba(X)
    assert model.fit_threshold(X, Y, "auto").predict_proba(X).shape == Y.shape


@pytest.mark.parametrize("threshold", [0.5, "global"])
def test_what_decisions_are_best_at_belongs_to_probabilities(threshold):
    model = OMF(2, threshold=threshold, decide_for="macro")
    for learn in (model.fit, model.partial_fit, OMF.paper(2).fit(X, Y).set_params(**model.get_params()).fit_threshold):
        with pytest.raises(ValueError, match=f"decide_for='macro': threshold={threshold!r} does not look at it; take"):
            learn(X, Y)
    with pytest.raises(ValueError, match="leave it out to decide for label sets as a whole, or take threshold='auto'"):
        CML(threshold="joint", decide_for="subset").fit(X, Y)
    search = Search(PLST(decide_for="macro"), {"alpha": [1.0]}, thresholds=["plain", "auto"], n_splits=2).fit(X, Y)
    assert {k: one.decide_for for k, one in search.estimators_.items()} == {"plain": "micro", "auto": "macro"}


def test_an_aim_is_no_rule_of_a_threshold():
    with pytest.raises(ValueError, match="rule='macro': .*; decide_for='macro' decides so, with rule='auto'"):
        Echo().fit(X, Y).fit_threshold(X, Y, "macro")
