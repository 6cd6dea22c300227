"""Linear reductions of features: brute force, scikit-learn, and each other as oracles; bad input."""

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse
from scipy.optimize import nnls
from sklearn.cross_decomposition import CCA as OtherCCA
from sklearn.cross_decomposition import PLSSVD
from sklearn.decomposition import NMF, PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from tests.together import together

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels import CCA, MDDM, MLDA, MLSI, FeatureNMF, FeatureSpace
from cofactor.labels.reduction.linear import leading_directions

LINEAR = (MDDM, MLSI, MLDA, CCA)


def made(n: int = 40, D: int = 6, L: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated features and labels; the last instance has no label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) @ rng.normal(size=(D, D))
    Y = (X @ rng.normal(size=(D, L)) + rng.normal(size=(n, L)) > 0).astype(int)
    Y[-1] = 0
    return X, Y


def same_up_to_sign(A: np.ndarray, B: np.ndarray) -> None:
    """Check that columns are the same, of either sign."""
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)), B, rtol=1e-6, atol=1e-8)


def unit_rows(P: np.ndarray) -> np.ndarray:
    return P / np.linalg.norm(P, axis=1, keepdims=True)


@together("q", [3, 9])
def test_the_eigenproblem_is_scipys(q: int) -> None:
    rng = np.random.default_rng(q)
    M, G = rng.normal(size=(6, q)), rng.normal(size=(6, 6))
    for metric in (rng.random(6) + 0.1, G @ G.T + np.eye(6)):
        B = np.diag(metric) if metric.ndim == 1 else metric
        values, vectors = scipy.linalg.eigh(M @ M.T, B)
        found = leading_directions(M, metric)
        d = min(q, 6)
        np.testing.assert_allclose(found.values, values[::-1][:d])
        same_up_to_sign(found.vectors, vectors[:, ::-1][:, :d])


def test_projections_of_mddm_are_those_of_pls() -> None:
    X, Y = made()
    expected = PLSSVD(3, scale=False).fit(X, Y.astype(float)).x_weights_
    same_up_to_sign(MDDM(3, scale="none").fit(X, Y).components_.T, expected)


def test_feature_space_form_of_mddm_is_mlsi_of_labels_alone() -> None:
    X, Y = made()
    for mu in (0.3, 1.0):
        one = MDDM(form="features", mu=mu, scale="none").fit(X, Y)
        other = MLSI(beta=1.0, gamma=(1 - mu) / mu, scale="none").fit(X, Y)
        np.testing.assert_allclose(one.components_, other.components_, atol=1e-8)


def test_mlsi_without_labels_is_principal_components() -> None:
    X, Y = made()
    same_up_to_sign(MLSI(4, beta=0.0, scale="none").fit(X, Y).components_.T, PCA(4).fit(X).components_.T)


@together("balance", [False, True])
def test_mlsi_solves_its_eigenproblem(balance: bool) -> None:
    X, Y = made()
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    first, second = Xc.T @ Xc @ Xc.T @ Xc, Xc.T @ Yc @ Yc.T @ Xc
    if balance:
        first, second = first / np.trace(first), second / np.trace(second)
    values, vectors = scipy.linalg.eigh(0.3 * first + 0.7 * second, Xc.T @ Xc + 2 * np.eye(6))
    found = MLSI(1.0, beta=0.7, gamma=2.0, balance=balance, whiten=True, scale="none").fit(X, Y)
    np.testing.assert_allclose(found.eigenvalues_, values[::-1])
    same_up_to_sign(found.components_.T, vectors[:, ::-1])
    np.testing.assert_allclose(found.transform(X), Xc @ found.components_.T, atol=1e-10)


def test_mlda_solves_its_eigenproblem() -> None:
    """With the scatters summed one instance and label at a time; that of all is the sum of the two others."""
    X, Y = made()
    lengths = np.sqrt(Y.sum(axis=0))
    Q = Y @ (Y.T @ Y / np.outer(lengths, lengths)) / np.maximum(Y.sum(axis=1), 1)[:, None]
    m = np.einsum("ik,ij->j", Q, X) / Q.sum()
    means = (Q.T @ X) / Q.sum(axis=0)[:, None]
    between = sum(Q[:, k].sum() * np.outer(means[k] - m, means[k] - m) for k in range(3))
    within = sum(Q[i, k] * np.outer(X[i] - means[k], X[i] - means[k]) for i in range(40) for k in range(3))
    total = sum(Q[i].sum() * np.outer(X[i] - m, X[i] - m) for i in range(40))
    np.testing.assert_allclose(between + within, total)
    for gamma in (1.0, 0.0):
        values, vectors = scipy.linalg.eigh(between, total + gamma * np.eye(6))
        found = MLDA(gamma=gamma, whiten=True, scale="none").fit(X, Y)
        assert found.n_components_ == 2  # one less than labels
        np.testing.assert_allclose(found.eigenvalues_, values[::-1][:2])
        same_up_to_sign(found.components_.T, vectors[:, ::-1][:, :2])


@together("n_classes", [2, 3])
def test_mlda_of_classes_is_fishers(n_classes: int) -> None:
    X, _ = made()
    y = np.arange(40) % n_classes
    fisher = LinearDiscriminantAnalysis(solver="eigen").fit(X, y).scalings_[:, : n_classes - 1]
    found = MLDA(gamma=0.0, scale="none").fit(X, np.eye(n_classes)[y]).components_
    same_up_to_sign(found.T, unit_rows(fisher.T).T)


def test_cca_is_scikit_learns() -> None:
    X, Y = made()
    other = OtherCCA(3, tol=1e-12, max_iter=5000, scale=False).fit(X, Y.astype(float))
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(*(part.T for part in other.transform(X, Y)), strict=True)]
    found = CCA(gamma=0.0, scale="none").fit(X, Y)
    np.testing.assert_allclose(np.sqrt(found.eigenvalues_), correlations, rtol=1e-6)
    twice = CCA(gamma=0.0, scale="none").fit(X, np.hstack([Y, Y]))  # a label that depends on others adds nothing
    np.testing.assert_allclose(twice.components_, found.components_, atol=1e-6)


def test_cca_solves_its_eigenproblem() -> None:
    X, Y = made()
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    of_labels = Xc.T @ Yc @ np.linalg.inv(Yc.T @ Yc) @ Yc.T @ Xc
    values, vectors = scipy.linalg.eigh(of_labels, Xc.T @ Xc + 2 * np.eye(6))
    found = CCA(3, gamma=2.0, whiten=True, scale="none").fit(X, np.hstack([Y, Y[:, :1]]))  # S_yy is singular
    np.testing.assert_allclose(found.eigenvalues_, values[:2:-1])
    same_up_to_sign(found.components_.T, vectors[:, :2:-1])
    np.testing.assert_allclose(found.transform(X), Xc @ found.components_.T, atol=1e-10)


def test_a_kernel_is_a_space_of_features() -> None:
    X, Y = made()
    space = KernelPCA(kernel="rbf", gamma=0.05, remove_zero_eig=True).fit(X)
    new = X[:7] + 0.1
    for form in ("projection", "features"):
        direct = MDDM(kernel="rbf", gamma=0.05, form=form, whiten=True, scale="none").fit(X, Y)
        through = MDDM(form=form, whiten=True, scale="none").fit(space.transform(X), Y)
        same_up_to_sign(direct.transform(new), through.transform(space.transform(new)))
    assert MDDM(kernel="rbf", scale="none").fit(np.ones((4, 2)) * np.arange(4)[:, None], Y[:4]).gamma_ == 0.2


@together("kind", LINEAR)
def test_one_decomposition_serves_all_and_weights_repeat(kind) -> None:
    X, Y = made()
    space = FeatureSpace(X)
    expected = kind(scale="none").fit(X, Y)
    np.testing.assert_allclose(kind(scale="none").fit(space, Y).components_, expected.components_)
    times = np.arange(40) % 3 + 1
    weighted = kind(scale="none").fit(FeatureSpace(X, sample_weight=times), Y)
    repeated = kind(scale="none").fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-7)
    with pytest.raises(InvalidInputError, match="must be centred"):
        kind(scale="none").fit(FeatureSpace(X, fit_intercept=False), Y)


@together("kind", LINEAR)
def test_number_of_directions(kind) -> None:
    X, Y = made()
    rank = {MLSI: 6, MLDA: 2}.get(kind, 3)
    with pytest.warns(InputWarning, match=rf"100 directions were asked for, .* have {rank}"):
        capped = kind(100, scale="none").fit(X, Y)
    assert capped.transform(X).shape == (40, rank)
    assert capped.get_feature_names_out().tolist() == [f"{kind.__name__.lower()}{k}" for k in range(rank)]
    share = capped.eigenvalues_.cumsum() / capped.eigenvalues_.sum()
    assert kind(scale="none").fit(X, Y).n_components_ == 1 + np.searchsorted(share, 0.999)
    assert kind(0.2, scale="none").fit(X, Y).n_components_ == 2


@together("kind", LINEAR)
def test_labels_that_say_nothing(kind) -> None:
    X, Y = made()
    expected = kind(scale="none").fit(X, Y).components_
    padded = np.column_stack([np.zeros(40), Y, np.ones(40)])
    np.testing.assert_allclose(kind(scale="none").fit(X, padded).components_, expected)
    with pytest.raises(InvalidInputError, match="no label is on for some"):
        kind().fit(X, np.zeros((40, 2)))
    with pytest.raises(InvalidInputError, match="no feature varies"):
        kind(scale="none").fit(np.ones((40, 2)), Y)


@together("kind", [MLSI, MLDA, CCA])
def test_a_large_gamma_leaves_the_plain_length_to_regularise(kind) -> None:
    X, Y = made()
    expected = kind(gamma=1e12, scale="none").fit(X, Y).components_
    np.testing.assert_allclose(kind(gamma=1e100, scale="none").fit(X, Y).components_, expected, atol=1e-6)


def test_a_single_label_has_no_direction_of_mlda() -> None:
    X, Y = made()
    with pytest.raises(InvalidInputError, match="found no direction: .* labels are all alike"):
        MLDA().fit(X, Y[:, :1])


def test_more_features_than_instances() -> None:
    X, Y = made(n=10, D=30)
    dense = CCA(scale="none").fit(X, Y)
    np.testing.assert_allclose(dense.transform(X).sum(axis=0), 0, atol=1e-9)
    assert dense.eigenvalues_.max() < 1
    thin = CCA(scale="none").fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(thin.components_, dense.components_, atol=1e-6)


@together(
    ("model", "message"),
    [
        (MLDA(gamma=1e200), "gamma=1e\\+200: .* at most 1e\\+100"),
        (MDDM(kernel="rbf", gamma=1e-300), "gamma=1e-300: all instances are alike"),
    ],
)
def test_wrong_parameters(model, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        model.fit(*made())


def test_bases_are_scikit_learns_and_new_rows_are_folded_in() -> None:
    X = np.abs(made(20)[0])
    X[3] = 0
    found = FeatureNMF(3, random_state=0, max_iter=300, tol=1e-4).fit(X)
    other = NMF(3, init="nndsvda", max_iter=300, random_state=0).fit(X)
    lengths = np.linalg.norm(other.components_, axis=1, keepdims=True)
    np.testing.assert_allclose(found.components_, other.components_ / lengths, atol=1e-6)
    V = found.transform(X)
    np.testing.assert_allclose(V, [nnls(found.components_.T, x)[0] for x in X], atol=1e-5)
    assert not V[3].any()
    assert FeatureNMF(random_state=0).fit(X).components_.shape == (2, 6)  # 0.3 of the features
    with pytest.warns(ConvergenceWarning, match="FeatureNMF stopped after 2 iterations: raise max_iter, or tol, now"):
        most = FeatureNMF(random_state=0, max_iter=2).fit(np.random.default_rng(0).random((110, 350)))
    assert most.components_.shape == (100, 350)
