"""Label PCA and feature/label CCA against scikit-learn, and against the definitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from tests.contract_labels.models import planted

from cofactor.labels import PLST, FeatureLabelCCA, FeatureSpace, LabelPCA

X, Y = planted(60, 5, seed=1)
N_LABELS = Y.shape[1]


def least_squares(X, Y):
    return LinearRegression().fit(X, Y).predict(X) - 0.5


def test_label_pca_is_regression_on_principal_components():
    pca = PCA(2).fit(Y)
    codes = LinearRegression().fit(X, pca.transform(Y)).predict(X)
    model = LabelPCA.paper(2).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), pca.inverse_transform(codes) - 0.5, atol=1e-10)
    np.testing.assert_allclose(np.abs(model.decoder_), np.abs(pca.components_), atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), pca.inverse_transform(codes) >= 0.5)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_with_all_components_cca_is_regression_of_each_label(alpha):
    scores = FeatureLabelCCA.paper(1.0, alpha=alpha).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(scores, PLST.paper(1.0, alpha=alpha).fit(X, Y).decision_function(X), atol=1e-10)
    if not alpha:
        np.testing.assert_allclose(scores, least_squares(X, Y), atol=1e-10)


def test_canonical_correlations_are_those_of_scikit_learn():
    u, v = CCA(3, scale=False, max_iter=5000, tol=1e-12).fit(X, Y).transform(X, Y)
    expected = [np.corrcoef(u[:, k], v[:, k])[0, 1] for k in range(3)]
    np.testing.assert_allclose(FeatureLabelCCA.paper(3).fit(X, Y).correlations_, expected, atol=1e-5)


@pytest.mark.parametrize("decoding", ["inverse", "printed"])
def test_eigenvectors_as_the_thesis_writes_them(decoding):
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    xx, xy, yy = Xc.T @ Xc, Xc.T @ Yc, Yc.T @ Yc
    values, P = np.linalg.eig(np.linalg.inv(yy) @ xy.T @ np.linalg.inv(xx) @ xy)
    P = np.real(P[:, np.argsort(-np.real(values))[:2]])
    P /= np.linalg.norm(P, axis=0)
    codes = Xc @ np.linalg.solve(xx, Xc.T @ Yc @ P)
    decoder = P.T if decoding == "printed" else np.linalg.solve(P.T @ yy @ P, P.T @ yy)
    model = FeatureLabelCCA.paper(2, decoding=decoding).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), codes @ decoder + Y.mean(axis=0) - 0.5, atol=1e-9)


def test_a_penalty_of_the_labels_keeps_the_code_invertible():
    full = FeatureLabelCCA.paper(1.0, label_penalty=0.5).fit(X, Y)
    np.testing.assert_allclose(full.decision_function(X), least_squares(X, Y), atol=1e-10)
    assert full.correlations_[0] < FeatureLabelCCA.paper(1.0).fit(X, Y).correlations_[0]


def test_the_penalty_of_the_labels_is_that_of_ledoit_and_wolf():
    rho = ledoit_wolf_shrinkage(Y)
    assert FeatureLabelCCA(2, threshold=0).fit(X, Y).label_penalty_ == pytest.approx(rho / (1 - rho))


def test_singular_scatters():
    """A constant and a repeated feature, a repeated label, a label that is the others' sum: nothing changes."""
    wide = np.hstack([X, np.ones((len(X), 1)), X[:, :1]])
    labels = np.hstack([Y, Y[:, :1]])
    model = FeatureLabelCCA.paper(2).fit(wide, labels)
    scores = model.decision_function(wide)
    np.testing.assert_allclose(scores[:, :N_LABELS], FeatureLabelCCA.paper(2).fit(X, Y).decision_function(X), atol=1e-9)
    np.testing.assert_allclose(scores[:, -1], scores[:, 0], atol=1e-12)
    few = FeatureLabelCCA.paper(50).fit(X[:4], Y[:4])  # fewer instances than labels
    np.testing.assert_array_equal(few.predict(X[:4]), Y[:4])
    assert few.n_components_ <= 3


def test_components_are_no_more_than_features_predict():
    assert FeatureLabelCCA.paper(50).fit(X, Y).n_components_ == X.shape[1] == 5


def test_features_too_large_for_a_decomposition(monkeypatch):
    expected = FeatureLabelCCA.paper(2, alpha=1.0).fit(X, Y).decision_function(X)
    monkeypatch.setattr(FeatureSpace, "too_large", staticmethod(sparse.issparse))
    scores = FeatureLabelCCA.paper(2, alpha=1.0).fit(sparse.csr_array(X), Y).decision_function(X)
    np.testing.assert_allclose(scores, expected, atol=1e-7)
