"""Partial correlation against scikit-learn, likelihood gains against direct minimisation."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression
from tests.together import together

from cofactor.correlation import (
    LABEL_MEASURES,
    MEASURES,
    likelihood_gain,
    measured,
    partial_correlation,
    squared_pearson,
)
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import thread_limit
from cofactor.problems.classifiers import rotate_features

BOTH = [partial_correlation, likelihood_gain]


def data(n: int = 50, D: int = 3, L: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels; labels 1 and 2 share a cause that no feature shows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    hidden = np.zeros((n, L))
    hidden[:, 1:3] = 2 * rng.normal(size=(n, 1))
    return X, (X @ rng.normal(size=(D, L)) + hidden + rng.logistic(size=(n, L)) > 0.3).astype(np.int64)


@together("shape", [(50, 3), (12, 30)])
def test_partial_correlation_by_scikit_learn(shape: tuple[int, int]) -> None:
    X, Y = data(*shape)
    residuals = []
    for y in Y.T:
        s = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y).decision_function(X)
        residuals.append(np.where((s >= 0) == y, 0, expit(s) - 0.5))
    expected = squared_pearson(np.column_stack(residuals))
    np.testing.assert_allclose(partial_correlation(X, Y, alpha=2.0), expected, atol=1e-5)
    np.testing.assert_allclose(
        partial_correlation(sparse.csr_array(X), sparse.csr_array(Y), alpha=2.0), expected, atol=1e-5
    )


def penalized_minimum(X: np.ndarray, labels: np.ndarray, alpha: float) -> float:
    """Return the least penalized negative log-likelihood of one label or a pair, by enumeration and L-BFGS."""
    sets = np.array(np.meshgrid(*[[0, 1]] * labels.shape[1], indexing="ij")).reshape(labels.shape[1], -1).T
    same = (sets[:, 0] == sets[:, -1]) * (labels.shape[1] == 2)
    chosen = np.array([np.flatnonzero((sets == row).all(axis=1))[0] for row in labels])

    def objective(theta: np.ndarray) -> float:
        W = theta[1:].reshape(labels.shape[1], -1)
        potentials = (X @ W[:, :-1].T + W[:, -1]) @ sets.T + theta[0] * same
        likelihood = potentials[np.arange(len(X)), chosen] - logsumexp(potentials, axis=1)
        return float(-likelihood.sum() + alpha / 2 * (theta[0] ** 2 + (W[:, :-1] ** 2).sum()))

    start = np.zeros(1 + labels.shape[1] * (X.shape[1] + 1))
    return float(minimize(objective, start, method="BFGS", options={"gtol": 1e-6}).fun)


def test_likelihood_gain_by_direct_minimisation() -> None:
    X, Y = data(L=4)
    Y[:, 3] = Y[:, 0]
    gain = likelihood_gain(X, Y, alpha=0.7)
    alone = [penalized_minimum(X, Y[:, [k]], 0.7) for k in range(4)]
    for i, j in ((0, 1), (1, 2), (0, 3)):
        expected = alone[i] + alone[j] - penalized_minimum(X, Y[:, [i, j]], 0.7)
        assert gain[i, j] == gain[j, i] == pytest.approx(expected, abs=1e-6)
    assert gain[0, 3] > gain[1, 2] > gain[0, 1] >= 0


@together("measure", BOTH)
def test_one_feature_may_be_far_larger_than_the_others(measure) -> None:  # type: ignore[no-untyped-def]
    """From some size on the penalty leaves its coefficient free; the others are fitted as before."""
    X, Y = data(L=3)
    expected = measure(X * [1e5, 1, 1], Y)
    for large in (1e9, 1e15, 1e60):
        np.testing.assert_allclose(measure(X * [large, 1, 1], Y), expected, rtol=1e-4, atol=1e-8)


@together("shape", [(30, 5), (6, 9)])
def test_axes_keep_the_digits_of_small_features(shape: tuple[int, int]) -> None:
    table = np.random.default_rng(0).normal(size=shape) * np.logspace(12, 0, shape[1])
    table[:, 1] = 2 * table[:, 0]
    table[:, 3] = 1e6
    found = rotate_features(table)
    centred, D = table - table.mean(axis=0), shape[1]
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(found.axes.shape[1]), atol=1e-14)
    for k in range(D):
        kept = found.table @ found.axes[k]
        np.testing.assert_allclose(kept, centred[:, k], rtol=1e-12, atol=1e-12 * np.abs(table[:, k]).max())
    assert found.table.shape[1] <= min(D, shape[0] - 1)


def test_labels_that_large_features_separate_gain_little() -> None:
    """Where curvatures vanish, steps could be of any length, and objectives lose all digits."""
    X = np.linspace(-1, 1, 12)[:, None]
    Y = np.column_stack([X > 0, X > 0.5]).astype(int)
    assert 0 <= likelihood_gain(1e14 * X, Y)[0, 1] < 1e-4


@together("measure", BOTH)
def test_weights_are_repetitions(measure) -> None:  # type: ignore[no-untyped-def]
    X, Y = data()
    times = np.random.default_rng(1).integers(0, 3, len(Y))
    repeated = measure(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(measure(X, Y, sample_weight=times), repeated, atol=1e-6)


@together("measure", BOTH)
def test_constant_labels_and_few_of_them(measure) -> None:  # type: ignore[no-untyped-def]
    X, Y = data()
    whole = measure(X, Y)
    assert np.isfinite(whole).all()
    assert np.array_equal(whole, whole.T)
    assert not np.diag(whole).any()
    with_constant = np.insert(Y, [0, 3], [0, 1], axis=1)
    found = measure(X, with_constant)
    assert not found[[0, 4]].any()
    assert not found[:, [0, 4]].any()
    kept = [1, 2, 3, 5, 6]
    np.testing.assert_allclose(found[np.ix_(kept, kept)], whole, atol=1e-9)
    np.testing.assert_array_equal(measure(X, Y[:, :1]), [[0.0]])
    np.testing.assert_array_equal(measure(X, np.zeros((50, 2))), np.zeros((2, 2)))


def test_threads_do_not_change_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cofactor.correlation.conditional._BLOCK", 200)
    X, Y = data()
    with thread_limit(1):
        one = likelihood_gain(X, Y)
    with thread_limit(3):
        three = likelihood_gain(X, Y)
    np.testing.assert_array_equal(one, three)
    monkeypatch.setattr("cofactor.correlation.conditional._MOST_INVERSES", 0)
    np.testing.assert_allclose(likelihood_gain(X, Y), one, atol=1e-8)


@together("measure", BOTH)
def test_what_is_refused(measure) -> None:  # type: ignore[no-untyped-def]
    X, Y = data()
    with pytest.raises(InvalidInputError, match="alpha=0: expected a number above 0"):
        measure(X, Y, alpha=0)
    with pytest.raises(InvalidInputError, match="features of the 50 instances"):
        measure(X[1:], Y)
    with pytest.raises(InvalidInputError, match="finite numbers"):
        measure(np.where(X > 1, np.nan, X), Y)


def test_all_pairs_of_many_labels_are_refused_and_some_are_not() -> None:
    many = sparse.csr_array(sparse.random(1000, 1000, 0.01, random_state=0) > 0)
    wide = np.zeros((1000, 200))
    with pytest.raises(InvalidInputError, match="models of 499,500 pairs of labels.*partial correlation.*pairs="):
        likelihood_gain(wide, many)
    X, Y = data()
    found = likelihood_gain(X, Y, pairs=[[2, 1], [1, 2], [0, 4]])
    expected = np.zeros((5, 5))
    for i, j in ((1, 2), (2, 1), (0, 4), (4, 0)):
        expected[i, j] = likelihood_gain(X, Y)[i, j]
    np.testing.assert_allclose(found, expected, atol=1e-8)
    for pairs in ([[0, 5]], [[0, -1]], [0, 1], [[2, 1], [3, 3]], [], "all"):
        with pytest.raises(InvalidInputError, match="^pairs: expected"):
            likelihood_gain(X, Y, pairs=pairs)

    with pytest.raises(InvalidInputError, match="^pairs: expected whole numbers, found float64"):
        likelihood_gain(X, Y, pairs=[[0.5, 1]])
    with pytest.raises(InvalidInputError, match="^pairs: expected at least one pair of labels, found none"):
        likelihood_gain(X, Y, pairs=[])


@together("measure", MEASURES)
def test_weights_that_are_refused(measure: str) -> None:
    X, Y = data()
    one = np.ones(50)
    for wrong, found in (
        (one[1:], r"sample_weight has shape \(49,\)"),
        (np.where(np.arange(50) == 3, -1, one), r"sample_weight holds -1 \(instance 3\)"),
        (np.where(np.arange(50) == 3, np.nan, one), r"sample_weight holds nan \(instance 3\)"),
        (0 * one, "the weights in sample_weight are all zero"),
        (1e160 * one, r"largest weight in sample_weight is 1e\+160, expected one from 1e-15 to 1e\+15; multiply"),
        (1e-300 * one, r"largest weight in sample_weight is 1e-300, expected one from 1e-15 to 1e\+15; multiply"),
        (["a"] * 50, "sample_weight must be numbers"),
        (1j * one, "sample_weight must be numbers"),
    ):
        with pytest.raises(InvalidInputError, match=found):
            measured(measure, X, Y, wrong)


@together("measure", MEASURES)
def test_what_is_no_table(measure: str) -> None:
    X, Y = data()
    assert np.array_equal(measured(measure, X.tolist(), Y.tolist()), measured(measure, X, Y))
    for wrong in (Y[:, 0], Y[:0], Y[:, :0], None):
        with pytest.raises(InvalidInputError, match="^Y: expected a table of instances and labels, found shape"):
            measured(measure, X, wrong)
    unknown = np.where(Y > 0, np.nan, Y)
    for wrong, message in (
        (2 * Y - 1, "labels coded 0 and 1, found -1; take Y > 0"),
        (sparse.csr_array(unknown), "labels coded 0 and 1, found nan"),
        (unknown, "labels coded 0 and 1, found nan"),
        (Y.astype(str), "numbers, found text"),
        ([[1, 0], [1]], "numbers, and as many in each row"),
        (1j * Y, "numbers, found complex"),
    ):
        with pytest.raises(InvalidInputError, match="^Y: expected " + message):
            measured(measure, X, wrong)
    if measure not in LABEL_MEASURES:
        with pytest.raises(InvalidInputError, match=f"^X=None: '{measure}' looks at the features"):
            measured(measure, None, Y)
        for wrong in (X[:, 0], X.T, X[:, :0]):
            with pytest.raises(InvalidInputError, match="features of the 50 instances"):
                measured(measure, wrong, Y)
        with pytest.raises(InvalidInputError, match="^X: expected numbers, found text"):
            measured(measure, X.astype(str), Y)
        for form in (np.asarray, sparse.csr_array):
            with pytest.raises(InvalidInputError, match="finite numbers, up to 1e"):
                measured(measure, form(1e300 * X), Y)
            assert np.isfinite(measured(measure, form(1e90 * X), Y)).all()


def test_features_that_say_nothing() -> None:
    """Then the residuals of a label are constant where it is on, or where it is off."""
    X, Y = np.ones((50, 2)), data()[1]
    np.testing.assert_allclose(partial_correlation(X, Y), squared_pearson(Y), atol=1e-12)
    assert likelihood_gain(X, Y)[1, 2] > 0


@together("measure", MEASURES)
def test_by_name_only_the_ratios_of_weights_count(measure: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    Y = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3)) > 0).astype(int)
    weights = rng.integers(0, 3, 40)
    expected = measured(measure, X, Y, weights)
    assert not np.allclose(expected, measured(measure, X, Y))
    found = measured(measure, X, Y, weights * 1e3)
    if measure == "chi-squared":  # grows with the number of instances
        found = found / 1e3
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
