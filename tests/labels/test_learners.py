"""Learners score as the estimators of scikit-learn whose numbers they hold, before and after a file."""

import json
import multiprocessing
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from tests.children import forking
from tests.skeletons import block_of

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import LabelModel
from cofactor.labels.learners import LEARNERS
from cofactor.labels.learners.fitting import _ADAPTERS, SAVABLE, check_savable, fit_learner, is_savable, takes_sparse
from cofactor.model.estimator import learned, param
from cofactor.model.state import packed, unpacked
from cofactor.persistence import model_of

LINEAR = [
    LinearSVC(random_state=0),
    LogisticRegression(C=3.0),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
    SGDClassifier(loss="log_loss", random_state=0),
    SGDClassifier(loss="modified_huber", random_state=0),
    Perceptron(random_state=0),
]
COUNTS = [MultinomialNB(), ComplementNB(), BernoulliNB(), BernoulliNB(binarize=0.7)]
TREES = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=7, criterion="entropy", random_state=0),
    DecisionTreeClassifier(ccp_alpha=0.01, class_weight="balanced", random_state=0),
    ExtraTreeClassifier(random_state=0),
    RandomForestClassifier(12, random_state=0),
    ExtraTreesClassifier(12, min_samples_leaf=3, random_state=0),
]
NEIGHBOURS = [
    KNeighborsClassifier(),
    KNeighborsClassifier(4, weights="distance", algorithm="kd_tree", leaf_size=5),
    KNeighborsClassifier(3, algorithm="brute", metric="cosine"),
    KNeighborsClassifier(3, metric="minkowski", p=3, algorithm="ball_tree"),
]
CLASSIFIERS = [*LINEAR, *COUNTS, GaussianNB(), *TREES, *NEIGHBOURS]
REGRESSORS = [Ridge(alpha=0.3), LinearRegression(), LinearRegression(fit_intercept=False)]
OTHERS = [
    SVC(),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
    CalibratedClassifierCV(LinearSVC(random_state=0), cv=2),
    KNeighborsClassifier(weights=lambda distances: 1 / (1 + distances)),
    KNeighborsClassifier(metric="mahalanobis", metric_params={"VI": np.eye(6)}, algorithm="brute"),
    VotingClassifier([("svm", LinearSVC(random_state=0)), ("bayes", GaussianNB())]),  # has predict, no more
]

each = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)


def example(n_classes: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return features of 0 and above, many of them 0, and classes that depend on them."""
    rng = np.random.default_rng(n_classes)
    X = rng.random((n, 6)).round(2) * (rng.random((n, 6)) < 0.7)
    scores = X @ rng.normal(size=(6, n_classes)) + 0.1 * rng.normal(size=(n, n_classes))
    return X, np.argmax(scores - np.median(scores, axis=0), axis=1)


PROBLEMS = {2: example(2), 3: example(3)}
CODES = {2: np.array([0, 1]), 3: np.array([-4, 0, 7])}


def stored(learner):
    """Return what a file holds of a learner."""
    header, arrays = learner._to_state()
    return header | {"class": type(learner).__name__}, arrays


def rebuilt(header, arrays):
    """Return the learner that a file holds."""
    return model_of("a file", header, arrays, LEARNERS)


def through_a_file(learner):
    """Return a learner rebuilt from its state, whose header went through JSON and arrays through bytes."""
    header, arrays = stored(learner)
    copies = {name: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape).copy() for name, a in arrays.items()}
    return rebuilt(json.loads(json.dumps(header, allow_nan=False)), copies)


@each
@pytest.mark.parametrize(("n_classes", "form"), [(2, np.asarray), (3, sparse.csr_array)], ids=["dense", "sparse"])
def test_classifiers(estimator, n_classes, form):
    X, y = PROBLEMS[n_classes]
    y = CODES[n_classes][y]
    if form is sparse.csr_array and getattr(estimator, "algorithm", "auto") in ("kd_tree", "ball_tree"):
        pytest.skip("scikit-learn searches sparse rows by brute force, and says so")
    train, test = X[:80], X[80:]
    if form is sparse.csr_array and not takes_sparse(estimator):
        refusal = f"features are sparse, which {type(estimator).__name__} does not take; give a"
        with pytest.raises(InvalidTypeError, match=refusal):
            fit_learner(estimator, form(train), y[:80])
        return
    learner, converged = fit_learner(estimator, form(train), y[:80])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = estimator.fit(form(train), y[:80])
    assert converged
    assert learner.classes.tolist() == theirs.classes_.tolist()
    assert np.array_equal(learner.predict(form(test)), theirs.predict(form(test)))
    assert learner.scores(form(test)).shape == ((40,) if n_classes == 2 else (40, 3))
    assert learner.has_probabilities == hasattr(theirs, "predict_proba")
    if learner.has_probabilities:
        found, expected = learner.probabilities(form(test)), theirs.predict_proba(form(test))
        exact = isinstance(estimator, tuple(map(type, [*TREES, *NEIGHBOURS])))
        assert np.array_equal(found, expected) if exact else np.allclose(found, expected, rtol=1e-9, atol=1e-13)
    else:
        assert np.allclose(learner.scores(form(test)), theirs.decision_function(form(test)), rtol=1e-12)
        with pytest.raises(InvalidTypeError, match="no probabilities"):
            learner.probabilities(form(test))
    again = through_a_file(learner)
    assert np.array_equal(again.scores(form(test)), learner.scores(form(test)))
    assert np.array_equal(again.predict(form(test)), learner.predict(form(test)))
    if learner.has_probabilities:
        assert np.array_equal(again.probabilities(form(test)), learner.probabilities(form(test)))


@pytest.mark.parametrize("estimator", [*TREES, *NEIGHBOURS, LogisticRegression(), GaussianNB()], ids=repr)
def test_single_precision(estimator):
    X, y = PROBLEMS[2]
    X32 = X.astype(np.float32)
    learner, _ = fit_learner(estimator, X32, y)
    assert np.array_equal(learner.predict(X32), estimator.fit(X32, y).predict(X32))
    assert np.allclose(learner.scores(X32), learner.scores(X), atol=1e-5)
    assert np.array_equal(through_a_file(learner).scores(X32), learner.scores(X32))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", [*REGRESSORS, Lasso(0.001), DecisionTreeRegressor(random_state=0)], ids=repr)
def test_regressors(estimator, n_classes):
    X, y = PROBLEMS[n_classes]
    learner, _ = fit_learner(estimator, X, y)
    columns = [estimator.fit(X, (y == k).astype(float)).predict(X) - 0.5 for k in range(n_classes)]
    expected = columns[1] if n_classes == 2 else np.column_stack(columns)
    assert np.allclose(learner.scores(X), expected, rtol=1e-9, atol=1e-12)
    assert not learner.has_probabilities
    if is_savable(estimator):
        assert np.array_equal(through_a_file(learner).scores(X), learner.scores(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_other_estimators_work_and_cannot_be_saved(estimator, n_classes):
    X, y = PROBLEMS[n_classes]
    learner, _ = fit_learner(estimator, X, y)
    assert np.array_equal(learner.predict(X), estimator.fit(X, y).predict(X))
    if hasattr(estimator, "predict_proba"):
        assert np.array_equal(learner.probabilities(X), estimator.predict_proba(X))
    with pytest.raises(InvalidTypeError, match=f"{type(estimator).__name__} cannot be saved safely.*take another"):
        learner._to_state()
    assert not is_savable(estimator)
    with pytest.raises(InvalidTypeError, match="cannot be saved safely") as refused:
        check_savable(estimator)
    assert refused.value.argument == "estimator"


def test_what_can_be_saved():
    deprecated = {"PassiveAggressiveClassifier"}  # scikit-learn warns of each, until it removes it
    cases = {type(estimator).__name__ for estimator in [*CLASSIFIERS, *REGRESSORS]}
    assert cases == SAVABLE.keys() - deprecated, "what a file can hold needs a case in CLASSIFIERS or REGRESSORS"
    assert all(is_savable(estimator) for estimator in [*CLASSIFIERS, *REGRESSORS])

    class Different(LogisticRegression):
        """May score in another way."""

    assert not is_savable(Different())


@pytest.mark.parametrize("estimator", [*LINEAR[:2], *COUNTS, GaussianNB(), TREES[0], Ridge()], ids=repr)
def test_a_weight_of_two_is_an_instance_twice(estimator):
    X, y = PROBLEMS[3]
    weights = 1 + (np.arange(len(y)) % 2)
    weighted, _ = fit_learner(estimator, X, y, weights)
    doubled = np.repeat(np.arange(len(y)), weights)
    twice, _ = fit_learner(estimator, X[doubled], y[doubled])
    tolerance = 0.02 if isinstance(estimator, LinearSVC | LogisticRegression) else 1e-8  # they stop where it is good
    assert np.allclose(weighted.scores(X), twice.scores(X), rtol=tolerance, atol=tolerance)


def test_seeds_reach_an_estimator_and_its_parts():
    X, y = PROBLEMS[2]
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(splitter="random", max_depth=3))
    for estimator in (RandomForestClassifier(3), pipeline):
        a, b, c = (fit_learner(estimator, X, y, seed=seed).learner.scores(X) for seed in (0, 0, 1))
        assert np.array_equal(a, b)
        assert not np.array_equal(a, c)
    fixed = [fit_learner(RandomForestClassifier(3, random_state=5), X, y, seed=seed).learner for seed in (0, 1)]
    assert np.array_equal(fixed[0].scores(X), fixed[1].scores(X))


def test_a_learner_says_whether_its_solver_converged():
    X, y = PROBLEMS[2]
    assert not fit_learner(LogisticRegression(max_iter=1), X, y).converged


def test_a_tie_is_off():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    learner, _ = fit_learner(DecisionTreeClassifier(max_depth=1), X, np.array([0, 0, 1, 1]))
    assert learner.scores(X).tolist() == [0.0] * 4
    assert learner.predict(X).tolist() == [0] * 4


def test_it_does_not_keep_the_features_of_the_caller():
    X, y = PROBLEMS[2]
    for form in (np.array, sparse.csr_array):
        mine = form(X)
        learner, _ = fit_learner(KNeighborsClassifier(), mine, y)
        before = learner.scores(form(X))
        (mine if form is np.array else mine.data)[:] = 7
        assert np.array_equal(learner.scores(form(X)), before)


def test_refusals():
    X, y = PROBLEMS[2]
    with pytest.raises(InvalidInputError, match="instances of two classes at least, found 1"):
        fit_learner(LinearSVC(), X, np.zeros(len(y)))
    with pytest.raises(InvalidInputError, match="whole numbers"):
        fit_learner(LinearSVC(), X, y + 0.5)
    with pytest.raises(InvalidInputError, match="a class of each of 120 rows"):
        fit_learner(LinearSVC(), X, y[:-1])
    with pytest.raises(InvalidInputError, match="LinearSVC refuses: The 'C' parameter"):
        fit_learner(LinearSVC(C=-1), X, y)
    with pytest.raises(InvalidInputError, match="MultinomialNB refuses: Negative values"):
        fit_learner(MultinomialNB(), -X, y)
    with pytest.raises(InvalidInputError, match="n_neighbors=500: there are 120 training instances; take fewer"):
        fit_learner(KNeighborsClassifier(500), X, y)
    with pytest.raises(InvalidInputError, match="KNeighborsClassifier refuses: The 'n_neighbors' parameter"):
        fit_learner(KNeighborsClassifier(0), X, y)
    with pytest.raises(InvalidInputError, match="weights='closest'"):
        fit_learner(KNeighborsClassifier(weights="closest"), X, y)
    absent = np.column_stack([X, np.zeros(len(y))])
    with (
        np.errstate(all="ignore"),
        pytest.raises(InvalidInputError, match="BernoulliNB learned numbers that are not finite; scale"),
    ):
        fit_learner(BernoulliNB(alpha=0), absent, y)
    with pytest.raises(InvalidInputError, match="X has 5 features, but the learner expects 6"):
        fit_learner(TREES[0], X, y).learner.scores(X[:, :5])


def test_the_learner_that_the_documentation_shows(monkeypatch):
    """It is registered as the page says, and does what all others do."""
    names: dict[str, Any] = {"__name__": __name__}
    exec(block_of("adding-a-method.md", "class QuadraticLearner"), names)
    shown = names["QuadraticLearner"]
    monkeypatch.setitem(LEARNERS, "QuadraticLearner", shown)
    monkeypatch.setitem(_ADAPTERS, QuadraticDiscriminantAnalysis, shown.from_estimator)
    estimator = QuadraticDiscriminantAnalysis(reg_param=0.1)
    for n_classes, form in ((2, np.asarray), (3, np.asarray), (3, sparse.csr_array)):
        test_classifiers(estimator, n_classes, form)
    states = list(forged(estimator))
    assert len(states) > 15
    assert [what for what, header, arrays in states if not refusal(header, arrays)] == []


# ---------------------------------------------------------------------- models that hold learners


class Powerset(LabelModel):
    """A model that learns each label set as a class: learners must allow that."""

    estimator: Any = param(default=None, kw_only=False)
    scale: str = param(default="none")
    threshold: float | str = param(default="joint")

    learner_: Any = learned()
    sets_: Any = learned("sets labels")

    def _fit(self, data):
        self.sets_, codes = np.unique(data.labels.toarray(), axis=0, return_inverse=True)
        self.learner_, _ = fit_learner(self.estimator, data.features, codes.ravel(), data.weights, seed=0)

    def _label_sets(self, X):
        return self.sets_[self.learner_.predict(X)] > 0

    def _scores(self, X):
        return self.learner_.probabilities(X) @ self.sets_ - 0.5


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), RandomForestClassifier(5), KNeighborsClassifier()], ids=repr
)
def test_a_model_of_label_sets(estimator):
    X, y = PROBLEMS[3]
    labels = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]])[y]
    model = Powerset(estimator).fit(X, labels)
    expected = fit_learner(estimator, X, y, seed=0).learner.predict(X)
    assert len(model.sets_) == 3
    assert np.mean(model.predict(X) == np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0]])[expected]) > 0.9
    header, arrays = model._to_state()
    again = Powerset._from_state(json.loads(json.dumps(header)), arrays, {})
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_learners_in_lists_and_dictionaries():
    X, y = PROBLEMS[2]
    learners = {"first": [fit_learner(estimator, X, y).learner for estimator in (TREES[0], GaussianNB())]}
    arrays: dict[str, np.ndarray] = {}
    header = json.loads(json.dumps(packed(learners, "all", arrays)))
    again = unpacked(header, arrays, LEARNERS)
    for a, b in zip(again["first"], learners["first"], strict=True):
        assert np.array_equal(a.scores(X), b.scores(X))
    with pytest.raises(InvalidInputError, match="not known here"):
        unpacked(header, arrays, {})


# ---------------------------------------------------------------------- forged states


def changed(array: np.ndarray, at: object, value: object) -> np.ndarray:
    """Return a copy of an array with another value somewhere."""
    copy = array.copy()
    copy[at] = value
    return copy


def parts_of(header):
    """Yield a header, and that of its part, each with a function that returns the whole with another in its place."""
    yield header, lambda changed: changed
    for name, value in header.items():
        if isinstance(value, dict) and "state" in value:
            yield value["state"], lambda changed, name=name, value=value: header | {name: value | {"state": changed}}


def forged(estimator, form=np.asarray):
    """Yield a description and a state, with one thing wrong in each."""
    X, y = PROBLEMS[3]
    header, arrays = stored(fit_learner(estimator, form(X), y).learner)
    for part, with_part in parts_of(header):
        for name in part.keys() - {"sklearn", "class"}:
            yield f"no {name}", with_part({k: v for k, v in part.items() if k != name}), arrays
            for value in ("magic", -7, 1e400, True, [], {"a": 1}):
                if not (name == "binarize" and value == -7):
                    yield f"{name}={value!r}", with_part(part | {name: value}), arrays
    for classes in ([0], [0, 0, 1], [2, 1, 0], ["a", "b", "c"], [0.0, 1.0, 2.0], [0, 1], [0, 1, 2, 3]):
        yield f"classes={classes}", header, arrays | {"classes": np.array(classes)}
    if "n_features" in header:
        for n_features in (0, 3, 5):
            yield f"n_features={n_features}", header | {"n_features": n_features}, arrays
    for name, array in arrays.items():
        yield f"no {name}", header, {k: v for k, v in arrays.items() if k != name}
        for wrong in (
            array[:-1],
            array[:0],
            array[None],
            np.append(array, array[:1], axis=0),
            array.astype(np.complex64),
            array.astype(np.int8),
        ):
            if name == "coef" and wrong.dtype == array.dtype and wrong.shape[1:] == array.shape[1:] and len(wrong):
                continue  # of other features: the model that holds the learner refuses it
            of_sparse = name.startswith("votes.") or name.endswith((".indices", ".indptr", "rows.data"))
            if of_sparse and (wrong.dtype != array.dtype or len(wrong) > len(array) > 1):
                continue  # SciPy casts them, and leaves out what is too much
            yield f"{name} {wrong.dtype}{wrong.shape}", header, arrays | {name: wrong}
        if array.dtype.kind == "f":
            for value in (np.nan, np.inf, -np.inf):
                yield f"{name} with {value}", header, arrays | {name: changed(array, -1, value)}


def forged_trees(estimator):
    """Yield states of trees that would lead a walk out of the arrays or into a circle."""
    X, y = PROBLEMS[3]
    header, arrays = stored(fit_learner(estimator, X, y).learner)
    left, right, n = arrays["nodes.left"], arrays["nodes.right"], len(arrays["nodes.left"])
    inner = np.flatnonzero(left >= 0)
    leaf, a, b = int(np.flatnonzero(left < 0)[0]), int(inner[0]), int(inner[1])
    for name in ("left", "right"):
        side = arrays[f"nodes.{name}"]
        for node, child in [
            (a, a),
            (b, a),
            (a, n),
            (a, 2**31 - 1),
            (a, -2),
            (b, -(2**31)),
            (a, -1),
            (leaf, n - 1),
            (leaf, -2),
        ]:
            yield f"{name}[{node}]={child}", header, arrays | {f"nodes.{name}": changed(side, node, child)}
    yield "one child twice", header, arrays | {"nodes.right": changed(right, a, left[a])}
    yield "two parents", header, arrays | {"nodes.left": changed(left, a, left[b])}
    for feature in (-1, 6, 2**31 - 1, -(2**31)):
        yield f"feature {feature}", header, arrays | {"nodes.feature": changed(arrays["nodes.feature"], a, feature)}
    for value in (-0.5, 2.0, 1e300):
        yield f"value {value}", header, arrays | {"values": changed(arrays["values"], (leaf, 0), value)}
    for roots in ([1], [-1], [n], [0, n], [0, -1], [0, a, a], [0, leaf], [2**62], []):
        yield f"roots {roots}", header, arrays | {"nodes.roots": np.array(roots, dtype=np.int64)}
    if len(arrays["nodes.roots"]) > 1:
        second = int(arrays["nodes.roots"][1])
        yield "a child in another tree", header, arrays | {"nodes.left": changed(left, a, second)}
        yield "one root less", header, arrays | {"nodes.roots": np.delete(arrays["nodes.roots"], 1)}


def forged_neighbours(form):
    """Yield states of nearest neighbours that would make a search fail."""
    X, y = PROBLEMS[3]
    header, arrays = stored(fit_learner(KNeighborsClassifier(), form(X), y).learner)
    for name, values in {
        "n_neighbors": (0, 121, 10**12),
        "leaf_size": (0, -1, 1 << 40),
        "p": (0, -1.0, None),
        "metric": ("precomputed", "pyfunc", "haversine"),
        "algorithm": ("kd", "precomputed"),
        "weights": ("gravity", None),
    }.items():
        for value in values:
            index = header["index"] | {"state": header["index"]["state"] | {name: value}}
            yield f"{name}={value}", header | {"index": index}, arrays
    for code in (-1, 3, 2**31 - 1):
        yield f"code {code}", header, arrays | {"votes.indices": changed(arrays["votes.indices"], 0, code)}
    if "index.rows" not in arrays:
        columns, pointers = arrays["index.rows.indices"], arrays["index.rows.indptr"]
        for column in (-1, 6, 2**31 - 1):
            yield f"column {column}", header, arrays | {"index.rows.indices": changed(columns, 3, column)}
        for at, value in [(0, 1), (0, -1), (5, 10**6), (5, -1), (-1, 10**6)]:
            yield f"pointer {at}: {value}", header, arrays | {"index.rows.indptr": changed(pointers, at, value)}


def refusal(header, arrays) -> str:
    """Return why a state is refused, or nothing."""
    try:
        with warnings.catch_warnings(action="ignore", category=np.exceptions.ComplexWarning):  # SciPy casts indices
            rebuilt(header, arrays)
    except InvalidInputError as error:
        return str(error)
    return ""


FORGED = {
    **{
        repr(estimator): (lambda e=estimator: forged(e))
        for estimator in [LINEAR[1], COUNTS[3], GaussianNB(), NEIGHBOURS[0]]
    },
    "sparse neighbours": lambda: forged(NEIGHBOURS[0], sparse.csr_array),
    **{repr(estimator): (lambda e=estimator: forged(e)) for estimator in (TREES[0], TREES[4])},
    "nodes of a tree": lambda: forged_trees(TREES[0]),
    "nodes of a forest": lambda: forged_trees(TREES[4]),
    "neighbours": lambda: forged_neighbours(np.asarray),
    "neighbours, sparse": lambda: forged_neighbours(sparse.csr_array),
}


def test_states_of_all_learners_are_forged():
    learners = {type(fit_learner(estimator, *PROBLEMS[3]).learner).__name__ for estimator in CLASSIFIERS}
    found = {next(iter(states()))[1]["class"] for states in FORGED.values()}
    assert learners == found, "a learner needs an estimator in FORGED"


@pytest.mark.parametrize("name", FORGED)
def test_forged_states(name):
    found = [(what, refusal(header, arrays)) for what, header, arrays in FORGED[name]()]
    assert len(found) > 15
    assert [what for what, text in found if not text] == []


def test_an_unknown_kind():
    for kind in ("OpaqueLearner", "pickle", None, ["LinearLearner"], {}):
        with pytest.raises(InvalidInputError, match="which is not known here .*LinearLearner"):
            rebuilt({"class": kind}, {})


def test_a_state_names_its_version():
    import sklearn

    header, _ = stored(fit_learner(TREES[0], *PROBLEMS[2]).learner)
    assert header["sklearn"] == sklearn.__version__


_LOAD_ALL = """
import numpy as np
import cofactor
for name in names:
    try:
        cofactor.load(name).predict(np.zeros((3, 6)))
    except ValueError as error:
        answer.send("refused")
    else:
        answer.send("taken")
answer.send("all")
"""


@pytest.mark.evidence
@pytest.mark.processes
def test_forged_files_do_not_crash_a_process(tmp_path):
    """Whole files are read in another process, since a walk beyond an array would end it."""
    from cofactor.labels import BinaryRelevance
    from cofactor.persistence import read_model, write_model

    X, y = PROBLEMS[2]
    files = []
    for estimator in (TREES[4], NEIGHBOURS[1]):
        BinaryRelevance.paper(estimator).fit(X, np.column_stack([y, 1 - y])).save(tmp_path / "model")
        header, arrays = read_model(tmp_path / "model")
        for name, array in arrays.items():
            if array.dtype.kind != "i" or array.ndim != 1 or name.endswith("constant_"):
                continue
            for at, value in [(0, 2**31 - 1), (len(array) // 2, 10**8), (-1, -(2**31)), (1, -5)]:
                path = tmp_path / f"forged-{len(files)}"
                write_model(path, header, arrays | {name: changed(array, at, value)})
                files.append(path)
    assert len(files) >= 40
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = forking().Process(target=exec, args=(_LOAD_ALL, {"names": list(map(str, files)), "answer": theirs}))
    process.start()
    theirs.close()
    said = []
    with suppress(EOFError):
        while not said or said[-1] != "all":
            said.append(ours.recv())
    process.join()
    assert process.exitcode == 0
    assert said == [*["refused"] * len(files), "all"]
    assert Path(files[0]).exists()
