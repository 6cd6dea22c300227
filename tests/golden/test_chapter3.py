"""Worked examples of thesis chapter 3, recomputed from the printed factors.

The printed tables follow from the factors *as printed* (two digits), so the only error allowed is the
rounding of the table's own cells: half a unit of the second digit.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array

from cofactor.losses import AllThreshold, Hinge, ImmediateThreshold, MarginLoss, SmoothHinge
from cofactor.ratings import HMF, Ratings

from . import thesis

HALF_UNIT = 0.005 + 1e-9


@pytest.mark.parametrize(
    ("U", "V", "table"),
    [
        (thesis.TABLE_3_2_U, thesis.TABLE_3_2_V, thesis.TABLE_3_3),
        (thesis.TABLE_3_6_U, thesis.TABLE_3_6_V, thesis.TABLE_3_7),
    ],
    ids=["table 3.3", "table 3.7"],
)
def test_scores(U: np.ndarray, V: np.ndarray, table: np.ndarray) -> None:
    assert np.abs(U @ V.T - table).max() <= HALF_UNIT


@pytest.mark.parametrize(
    ("loss", "table"),
    [(Hinge, thesis.TABLE_3_4), (SmoothHinge, thesis.TABLE_3_5)],
    ids=["table 3.4", "table 3.5"],
)
def test_losses(loss: type[MarginLoss], table: np.ndarray) -> None:
    Y, scores = thesis.TABLE_3_1, thesis.TABLE_3_2_U @ thesis.TABLE_3_2_V.T
    losses = np.where(Y != 0, loss().value(Y * scores), 0)
    assert np.abs(losses - table).max() <= HALF_UNIT
    assert np.abs(np.where(Y != 0, loss().value(Y * scores.astype(np.float32)), 0) - table).max() <= HALF_UNIT


@pytest.mark.parametrize(
    ("loss", "expected"), [(ImmediateThreshold, thesis.IMMEDIATE_LOSS), (AllThreshold, thesis.ALL_LOSS)]
)
def test_worked_losses(loss: type[ImmediateThreshold] | type[AllThreshold], expected: float) -> None:
    """Entry (1, 3): level 4, score printed as 0.37."""
    assert int(thesis.TABLE_3_6_Y[0, 2]) == 4
    value = loss().value(4, thesis.TABLE_3_7[0, 2], thesis.TABLE_3_6_THETA[0])
    assert abs(value - expected) <= HALF_UNIT


@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_stage_of_the_toy_example(q: int) -> None:
    """Tables 3.9, 3.11, 3.13, 3.15: bi-level matrix (3.17), signs of the printed factors, Ω^q."""
    stage, Y = thesis.STAGES[q - 1], thesis.TABLE_3_8
    assert np.array_equal(stage.bilevel, np.where(Y == 0, 0, np.where(q >= Y, -1, 1)))
    printed = thesis.PRINTED_ITEMS[q - 1]
    scores = stage.U @ stage.V.T
    assert np.array_equal(np.sign(stage.U @ stage.V[:printed].T), stage.prediction[:, :printed])
    assert np.array_equal(np.sign(scores), stage.prediction)
    negative = {f"{i + 1}{j + 1}" for i, j in np.argwhere(scores < 0)}
    assert negative == set(stage.negatives.split())


def test_the_printed_loop_would_overwrite() -> None:
    """corrections.md, C8: letting a later stage overwrite gives another matrix than table 3.17."""
    Y = thesis.TABLE_3_8
    last = Y.copy()
    for q, stage in enumerate(thesis.STAGES, start=1):
        last[(Y == 0) & (stage.prediction < 0)] = q
    last[last == 0] = thesis.N_LEVELS
    assert not np.array_equal(last, thesis.TABLE_3_17)


def test_hmf_completes_the_toy_example() -> None:
    """Tables 3.8 to 3.17 by the estimator itself: its stages are given the printed factors."""
    Y = thesis.TABLE_3_8
    ratings = Ratings.from_sparse(csr_array(Y), scale=np.arange(1, thesis.N_LEVELS + 1))
    model = HMF(n_factors=2, alpha=1.0, alpha_bias=None, random_state=0).fit(ratings)
    for stage, printed in zip(model.stages_, thesis.STAGES, strict=True):
        stage.U_, stage.V_ = printed.U.astype(np.float32), printed.V.astype(np.float32)
    assert np.array_equal(model.complete(), thesis.TABLE_3_17)


@pytest.mark.parametrize("q", [1, 2, 3, 4])
def test_bilevel_ratings_of_the_toy_example(q: int) -> None:
    """(3.17) by `Ratings.at_boundary`: the left parts of tables 3.9, 3.11, 3.13, 3.15."""
    ratings = Ratings.from_sparse(csr_array(thesis.TABLE_3_8), scale=np.arange(1, thesis.N_LEVELS + 1))
    bilevel = ratings.at_boundary(q)
    found = np.zeros(thesis.TABLE_3_8.shape)
    found[bilevel.pairs()] = bilevel.values
    assert np.array_equal(found, thesis.STAGES[q - 1].bilevel)
