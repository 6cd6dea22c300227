"""Measures of dependence against scikit-learn, SciPy and each other."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score
from tests.together import together

from cofactor.correlation import LABEL_MEASURES, chi_squared, measured, mutual_information, pearson, squared_pearson
from cofactor.errors import InvalidInputError

DEPENDENCE = [squared_pearson, mutual_information, chi_squared]


def labels(n: int = 60, L: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((n, L)) < rng.uniform(0.1, 0.6, L)).astype(np.int64)


def test_against_other_implementations() -> None:
    Y = labels()
    information, statistic = mutual_information(Y), chi_squared(Y)
    for i in range(5):
        for j in range(i):
            table = np.array([[np.sum((Y[:, i] == a) & (Y[:, j] == b)) for b in (0, 1)] for a in (0, 1)])
            assert information[i, j] == pytest.approx(mutual_info_score(Y[:, i], Y[:, j]), abs=1e-14)
            assert statistic[i, j] == pytest.approx(chi2_contingency(table, correction=False)[0], rel=1e-12)


def test_chi_squared_is_n_times_the_squared_correlation() -> None:
    Y = labels()
    np.testing.assert_array_equal(chi_squared(Y), 60 * squared_pearson(Y))
    np.testing.assert_allclose(squared_pearson(Y), np.corrcoef(Y.T) ** 2 - np.eye(5), atol=1e-13)


@together("measure", LABEL_MEASURES.values())
def test_forms_of_labels_and_weights(measure) -> None:  # type: ignore[no-untyped-def]
    """Sparse, truth values and floats are the same labels; a weight of 2 is an instance twice, of 0 none."""
    Y = labels()
    for form in (sparse.csr_array(Y), sparse.csc_matrix(Y), Y > 0, Y.astype(np.float32)):
        np.testing.assert_allclose(measure(form), measure(Y), atol=1e-13)
    times = np.random.default_rng(1).integers(0, 3, len(Y))
    for form in (Y, Y.astype(float), sparse.csr_array(Y)):
        np.testing.assert_allclose(measure(form, times), measure(np.repeat(Y, times, axis=0)), atol=1e-12)


@together("measure", DEPENDENCE)
@together("convert", [np.asarray, sparse.csr_array])
def test_constant_and_equal_labels(measure, convert) -> None:  # type: ignore[no-untyped-def]
    Y = labels(n=49)
    Y[:, 1], Y[:, 2], Y[:, 4] = 0, 1, Y[:, 3]
    result = measure(convert(Y))
    assert not result[[1, 2]].any()
    assert not result[:, [1, 2]].any()
    assert not np.diag(result).any()
    p = Y[:, 3].mean()
    entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
    most = {squared_pearson: 1, chi_squared: 49, mutual_information: entropy}[measure]
    assert result[3, 4] == pytest.approx(most)
    np.testing.assert_array_equal(measure(convert(Y[:, :1])), [[0.0]])


def test_what_is_refused() -> None:
    Y = labels()
    with pytest.raises(InvalidInputError, match="labels coded 0 and 1"):
        mutual_information(2 * Y)
    with pytest.raises(InvalidInputError, match="sample_weight holds -1"):
        pearson(Y, -np.ones(60))
    with pytest.raises(InvalidInputError, match="'likelihood-gain'"):
        measured("covariance", None, Y)
