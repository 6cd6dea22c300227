"""Models may hold models: one file, one mechanism."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone

import cofactor
from cofactor import persistence
from cofactor.labels import MODELS, PLST, LabelModel, MLkNN, TrainingData
from cofactor.model.estimator import learned, param
from cofactor.model.state import from_plain, packed, to_plain, unpacked
from cofactor.persistence import ModelFileError, read_model, write_model

X = np.random.default_rng(0).random((40, 5))
Y = (np.random.default_rng(1).random((40, 4)) + X[:, :4] > 1.0).astype(int)


class Chain(LabelModel):
    """A copy of a model for each label, which also sees the labels before it."""

    estimator: LabelModel | None = param(default=None, kw_only=False)
    scale: str = param(default="none")
    threshold: float | str = param(default=0)

    links_: list[Any] = learned()
    by_name_: dict[str, Any] = learned()

    def _fit(self, data: TrainingData) -> None:
        features, self.links_ = data.features, []
        for k in range(data.labels.shape[1]):
            column = data.labels[:, [k]].toarray()
            self.links_.append(clone(self.estimator).fit(features, column))
            features = np.hstack([features, column])
        self.by_name_ = {"first": self.links_[0], "none": None}

    def _scores(self, X: Any) -> Any:
        scores: list[Any] = []
        for link in self.links_:
            scores.append(link.decision_function(np.hstack([X, *[s > 0 for s in scores]])))
        return np.hstack(scores)


KNOWN: dict[str, Any] = {**MODELS, "Chain": Chain}


@pytest.mark.parametrize("inner", [PLST.paper(1.0), MLkNN.paper(3), Chain(PLST.paper(1.0, alpha=3.0))], ids=repr)
def test_a_model_of_models_of_models_is_one_file(inner: LabelModel, tmp_path: Any) -> None:
    model = Chain(inner, threshold=0.1).fit(X, Y)
    model.save(tmp_path / "chain")
    loaded = persistence.load(tmp_path / "chain", KNOWN)
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert type(loaded.links_[0]) is type(inner)
    assert loaded.by_name_["none"] is None
    assert np.array_equal(loaded.by_name_["first"].predict(X), model.by_name_["first"].predict(X))
    assert np.array_equal(clone(loaded).fit(X, Y).predict(X), model.predict(X))


def test_a_part_of_an_unknown_class_is_refused(tmp_path: Any) -> None:
    Chain(PLST.paper(1.0)).fit(X, Y).save(tmp_path / "chain")
    with pytest.raises(ModelFileError, match="'Chain', which is not known here"):
        cofactor.load(tmp_path / "chain")
    without = {name: kind for name, kind in KNOWN.items() if name != "PLST"}
    with pytest.raises(ModelFileError, match="an estimator of class 'PLST', which is not known"):
        persistence.load(tmp_path / "chain", without)
    header, arrays = read_model(tmp_path / "chain")
    header["params"]["estimator"] = None
    write_model(tmp_path / "chain", header, arrays)
    with pytest.raises(ModelFileError, match="a model of class 'PLST', which is not known"):
        persistence.load(tmp_path / "chain", without)


@pytest.mark.parametrize(
    "change",
    [
        lambda link, arrays: link.update(model="Pipeline"),
        lambda link, arrays: link.update(state=[]),
        lambda link, arrays: link.update(arrays="learned.links_.9."),
        lambda link, arrays: link.update(arrays=3),
        lambda link, arrays: link["state"].update(n_features=4),
        lambda link, arrays: link["state"].update(params={"nonsense": 1}),
        lambda link, arrays: link["state"].pop("learned"),
        lambda link, arrays: arrays.update({"learned.links_.0.learned.coef_": np.ones((3, 3))}),
        lambda link, arrays: arrays.pop("learned.links_.0.learned.coef_"),
    ],
)
def test_a_damaged_part_is_refused(change: Any, tmp_path: Any) -> None:
    Chain(PLST.paper(1.0)).fit(X, Y).save(tmp_path / "chain")
    header, arrays = read_model(tmp_path / "chain")
    change(header["learned"]["links_"][0], arrays)
    write_model(tmp_path / "chain", header, arrays)
    with pytest.raises(ModelFileError):
        persistence.load(tmp_path / "chain", KNOWN)


def test_a_sparse_array_is_checked_in_full() -> None:
    arrays: dict[str, Any] = {}
    value = packed(sparse.csr_array(np.eye(4)), "table", arrays)
    assert np.array_equal(unpacked(value, arrays).toarray(), np.eye(4))
    for name, forged in (
        ("table.indices", np.array([0, 1, 2, 7], np.int32)),
        ("table.indices", np.array([0, -1, 2, 3], np.int32)),
        ("table.indptr", np.array([0, 3, 2, 3, 4], np.int32)),
        ("table.indptr", np.array([0, 1, 2, 3, 9], np.int32)),
        ("table.indptr", np.array([1, 1, 2, 3, 4], np.int32)),
        ("table.indptr", np.array([0, 9, 2, 3, 0], np.int32)),
    ):
        with pytest.raises(ValueError, match="ind|end before they begin"):
            unpacked(value, {**arrays, name: forged})
    with pytest.raises(ValueError, match="table has 1000000000 columns for 4 numbers, and more than 4,194,304 columns"):
        unpacked({**value, "shape": [4, 10**9]}, arrays)  # a product with it would take 8 GB


@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("learned.Y_.indptr", lambda a: a[:3]),  # fewer rows than X_: this was a crash
        ("learned.Y_.data", lambda a: a * 100),
        ("learned.X_", lambda a: a[:3]),
        ("learned.X_", lambda a: a[:, 1:]),
        ("learned.X_", lambda a: a * np.nan),
        ("learned.posteriors_", lambda a: a[1:]),
        ("learned.posteriors_", lambda a: np.hstack([a] * 20)),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_model_of_instances_is_checked_before_it_computes(name: str, forge: Any, nested: bool, tmp_path: Any) -> None:
    (Chain(MLkNN.paper(3)) if nested else MLkNN.paper(3)).fit(X, Y).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    prefix = "learned.links_.0." if nested else ""
    arrays[prefix + name] = forge(arrays[prefix + name])
    if name == "learned.Y_.indptr":
        state = header["learned"]["links_"][0]["state"] if nested else header
        state["learned"]["Y_"]["shape"][0] = 2
        for part in ("data", "indices"):
            arrays[f"{prefix}learned.Y_.{part}"] = arrays[f"{prefix}learned.Y_.{part}"][: arrays[prefix + name][-1]]
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="Y_|X_|posteriors_"):
        persistence.load(tmp_path / "model", KNOWN)


@pytest.mark.parametrize("n", [10**13, 2**63, 0, -1, True])
@pytest.mark.parametrize("constant", [False, True])
def test_a_number_of_features_that_is_not_theirs(n: int, constant: bool, tmp_path: Any) -> None:
    PLST.paper().fit(X, np.ones_like(Y) if constant else Y).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    write_model(tmp_path / "model", {**header, "n_features": n}, arrays)
    if constant and n == 10**13:  # a model that repeats constants takes any number
        with pytest.raises(ValueError, match="5 features"):
            cofactor.load(tmp_path / "model").predict(X)
        return
    with pytest.raises(ModelFileError, match="model of class PLST"):
        cofactor.load(tmp_path / "model")


def test_parameters_are_built_from_known_classes_only() -> None:
    known: Mapping[str, Any] = {"PLST": PLST, "print": print, "Evil": object()}
    assert repr(from_plain(to_plain(Chain(PLST(2)).estimator), known)) == "PLST(n_components=2)"
    for name in ("print", "Evil", "Chain", 3):
        with pytest.raises((ValueError, TypeError)):
            from_plain({"class": name, "params": {}}, known)
    assert issubclass(PLST, BaseEstimator)
