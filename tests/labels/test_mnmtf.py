"""MNMTF as a transformer: projection against SciPy, its rules, bad input, and evidence on the Yahoo sets."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from cofactor.datasets import load_labels
from cofactor.errors import InvalidInputError
from cofactor.labels.adaptation.neighbours import MLkNN
from cofactor.labels.features import LARGEST
from cofactor.labels.reduction.mnmtf import MNMTF
from cofactor.metrics.labels import hamming_loss
from cofactor.metrics.ranking import average_precision


def planted(n: int = 120, D: int = 15, L: int = 4, noise: float = 0.05, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of the labels' prototypes, with noise, and labels."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, L)) < 0.4).astype(int)
    return Y @ (rng.random((L, D)) * (rng.random((L, D)) < 0.5)) + noise * rng.random((n, D)), Y


def model(**params: Any) -> MNMTF:
    return MNMTF(**({"random_state": 0, "max_iter": 2000} | params))


def test_codes_are_those_of_nonnegative_least_squares() -> None:
    X, Y = planted()
    fitted = model().fit(X, Y)
    assert fitted.components_.shape == (4, 15)
    np.testing.assert_allclose(np.linalg.norm(fitted.components_, axis=1), 1)
    expected = [nnls(fitted.components_.T, x)[0] for x in X]
    np.testing.assert_allclose(fitted.transform(X), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(fitted.fit_transform(X, Y), fitted.transform(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rule", ["scale-invariant", "printed"])
def test_updates_are_those_of_the_paper(rule: str) -> None:
    """Algorithm 1 with corrections C52 to C54, from the same start; instances are columns, as the paper has them."""
    instances, labels = planted(40, 6)
    X, Y, rng = instances.T, labels.T, np.random.default_rng(0)
    U, S = (1 - rng.random((3, 6))).T, 0.01 * (1 - rng.random((4, 3))).T
    K = Y @ Y.T
    D = np.diag(K.sum(axis=1))
    for _ in range(5):
        smooth = np.diag(S @ (D - K) @ S.T) if rule == "scale-invariant" else 0
        U = U * (X @ Y.T @ S.T) / (U @ S @ K @ S.T + 0.3 * U * smooth)
        C = np.diag(np.sum(U**2, axis=0)) if rule == "scale-invariant" else np.eye(3)
        S = S * (U.T @ X @ Y.T + 0.3 * C @ S @ K) / (U.T @ U @ S @ K + 0.3 * C @ S @ D)
    length = np.linalg.norm(U, axis=0) if rule == "scale-invariant" else np.ones(3)
    fitted = model(n_components=3, alpha=0.3, rule=rule, max_iter=5, tol=0.0).fit(instances, labels)
    np.testing.assert_allclose(fitted.components_, (U / length).T, rtol=1e-9)
    np.testing.assert_allclose(fitted.label_codes_, S.T * length, rtol=1e-9)


def test_labels_explain_features_again() -> None:
    X, Y = planted(noise=0.01)
    fitted = model(alpha=0.0, tol=1e-6, max_iter=50_000).fit(X, Y)
    np.testing.assert_allclose(Y @ fitted.label_codes_ @ fitted.components_, X, atol=0.03)
    assert fitted.objective_ == fitted.history_[-1] < 1e-3 * np.sum(X**2)
    assert np.all(np.diff(fitted.history_) <= 0)
    assert fitted.n_iter_ == len(fitted.history_) - 1


def test_training_codes_from_labels() -> None:
    X, Y = planted()
    fitted = model(training_codes="labels")
    np.testing.assert_allclose(fitted.fit_transform(X, Y), Y @ fitted.label_codes_)
    assert not np.allclose(fitted.transform(X), Y @ fitted.label_codes_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_start_scale_matters_to_the_printed_rule_only() -> None:
    """The directions of the bases, learned by each rule from one start at two scales (corrections.md, C54)."""
    X, Y = planted()
    change = {}
    for rule in ("scale-invariant", "printed"):
        bases = []
        for scale in (1e-3, 1.0):
            B = model(rule=rule, start_scale=scale, alpha=3.0, max_iter=1000, tol=1e-9).fit(X, Y).components_
            bases.append(B / np.linalg.norm(B, axis=1, keepdims=True))
        change[rule] = np.abs(bases[0] - bases[1]).max()
    assert change["scale-invariant"] < 0.02
    assert change["printed"] > 0.05


def test_printed_rule_takes_a_fixed_number_of_updates() -> None:
    X, Y = planted()
    assert model(rule="printed", max_iter=57, tol=0.5).fit(X, Y).n_iter_ == 57


@pytest.mark.parametrize(("n_components", "J"), [(None, 4), (2, 2), (0.3, 4), (0.01, 1), (np.int64(6), 6)])
def test_number_of_bases(n_components: Any, J: int) -> None:
    X, Y = planted()
    fitted = model(n_components=n_components).fit(X, Y)
    assert fitted.components_.shape == (J, 15)
    assert fitted.get_feature_names_out().tolist() == [f"mnmtf{j}" for j in range(J)]
    assert np.isfinite(fitted.transform(X)).all()


def test_no_more_bases_than_features_are_taken() -> None:
    """Coefficients are not unique with so many, and a warning says so; what they explain is as good as SciPy's."""
    X, Y = planted()
    fitted = model(n_components=1000).fit(X, Y)
    assert fitted.components_.shape == (15, 15)
    with pytest.warns(ConvergenceWarning, match="take a smaller n_components"):
        V = fitted.transform(X)
    best = [nnls(fitted.components_.T, x)[1] for x in X]
    np.testing.assert_allclose(np.linalg.norm(X - V @ fitted.components_, axis=1), best, atol=0.01)


def test_labels_never_and_always_on_and_twice() -> None:
    X, Y = planted()
    Y = np.column_stack([Y, Y[:, 0], np.zeros(120, int), np.ones(120, int)])
    for rule in ("scale-invariant", "printed"):
        fitted = model(rule=rule).fit(X, Y)
        assert np.isfinite(fitted.components_).all()
        assert not fitted.label_codes_[-2].any()


def test_nothing_to_explain() -> None:
    X, Y = planted()
    for features, labels in ((np.zeros_like(X), Y), (X, np.zeros_like(Y))):
        assert np.array_equal(model().fit(features, labels).transform(X), np.zeros((120, 4)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_range_of_features() -> None:
    X, Y = planted()
    X = (LARGEST * X / X.max()).astype(np.float32)
    assert np.isfinite(model(max_iter=20).fit(X, Y).transform(X)).all()
    with pytest.raises(InvalidInputError, match=r"X holds .* \(row [0-9]+, column [0-9]+\): features must lie"):
        model().fit(1.01 * X, Y)


def test_an_unfinished_fit_says_so() -> None:
    with pytest.warns(
        ConvergenceWarning, match="stopped after 6 iterations .* raise max_iter, now 6, or tol"
    ) as caught:
        model(max_iter=6).fit(*planted())
    assert caught[0].filename == __file__


@pytest.mark.usefixtures("data_dir")
@pytest.mark.evidence
def test_better_neighbours_than_on_the_original_features() -> None:
    """Average precision and Hamming loss on the published split; J = .3 D as in the paper, and J = L."""
    data = load_labels("yahoo-arts")
    train = data.train_rows
    assert train is not None
    results = []
    for steps in ([], [MNMTF(0.3, random_state=0)], [MNMTF(random_state=0)]):
        chain = make_pipeline(*steps, MLkNN.paper()).fit(data.X[train], data.Y[train])
        Y, scores = data.Y[~train], chain.decision_function(data.X[~train])
        results.append((average_precision(Y, scores), hamming_loss(Y, scores > chain[-1].threshold_)))
    precision, hamming = np.array(results).T
    np.testing.assert_allclose(precision, [0.509, 0.538, 0.564], atol=0.008)
    assert precision[0] < precision[1] < precision[2]
    assert hamming[0] > hamming[1] > hamming[2]


def test_a_callback_that_returns_true_ends_the_fit() -> None:
    fitted = model(callback=lambda progress: progress.iteration == 4).fit(*planted())
    assert fitted.n_iter_ == 4
    assert len(fitted.history_) == 5
