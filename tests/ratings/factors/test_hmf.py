"""Hierarchical matrix factorization: stages, decoding, the thesis's toy example."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.together import together

from cofactor.checks import make_generator
from cofactor.ratings import HMF, BinaryMMMF
from cofactor.ratings.scoring import first_below

from ...golden import thesis
from ..reference import binary_objective, planted

X, Y = planted()


def toy(decoding: str = "first") -> HMF:
    """Return a model of table 3.8 whose stages have the printed factors of tables 3.9, 3.11, 3.13 and 3.15."""
    model = HMF(2, 1.0, alpha_bias=None, decoding=decoding, random_state=0)
    model.fit(sparse.csr_array(thesis.TABLE_3_8))
    for stage, printed in zip(model.stages_, thesis.STAGES, strict=True):
        stage.U_, stage.V_ = printed.U.astype(np.float32), printed.V.astype(np.float32)
    return model


def test_the_toy_example_of_the_thesis():
    """Table 3.17 from the printed factors, by the decoding of the library (corrections.md, C8, C9)."""
    model = toy()
    assert np.array_equal(model.complete(), thesis.TABLE_3_17)
    everywhere = np.argwhere(np.ones(thesis.TABLE_3_8.shape))
    margins = model.margins(everywhere).reshape(5, 7, 4)
    for q, printed in enumerate(thesis.STAGES):
        assert np.array_equal(np.where(margins[:, :, q] < 0, -1, 1), printed.prediction)


def test_counting_stages_differs_from_the_first_hit_where_stages_contradict_each_other():
    signs = np.array([stage.prediction for stage in thesis.STAGES])
    expected = np.where(thesis.TABLE_3_8 > 0, thesis.TABLE_3_8, 1 + (signs > 0).sum(axis=0))
    completed = toy("count").complete()
    assert np.array_equal(completed, expected)
    differs = completed != thesis.TABLE_3_17
    assert differs.any()
    contradicts = (np.diff(signs, axis=0) > 0).any(axis=0)  # -1 at a stage and +1 at the next one
    assert np.all(contradicts[differs])


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([-1.0, -0.0, 0.0, 2.0]),
    )
)
def test_first_below_by_brute_force(margins):
    n, stages = margins.shape
    expected = thesis.first_hit(margins.T.reshape(stages, n, 1), np.zeros((n, 1), dtype=int)).ravel()
    assert np.array_equal(first_below(margins), expected)


@together("params", [{}, {"alpha_bias": None}, {"margin": "logistic", "threshold": 0.2}])
def test_stages_are_independent_bi_level_factorizations(params):
    """(3.17): stage q learns -1 for levels up to q and +1 above, as `BinaryMMMF` alone does, to the bit."""
    model = HMF(4, 1.0, random_state=3, **params).fit(X, Y)
    seeds = make_generator(3).integers(2**31, size=4)
    assert len(model.stages_) == 4
    for q, (stage, seed) in enumerate(zip(model.stages_, seeds, strict=True), 1):
        alone = BinaryMMMF(4, 1.0, random_state=int(seed), **params).fit(X, np.where(q >= Y, -1, 1))
        for key in ("U_", "V_", "user_bias_", "item_bias_", "thresholds_"):
            assert np.array_equal(getattr(stage, key), getattr(alone, key))
        assert stage.objective_ == alone.objective_ == pytest.approx(binary_objective(alone), rel=1e-5)
        assert np.array_equal(model.margins(X)[:, q - 1], alone.margins(X)[:, 0])


@together("decoding", ["first", "count"])
def test_decoding_from_the_stages(decoding):
    model = HMF(4, 1.0, decoding=decoding, random_state=0).fit(X, Y)
    pairs = np.argwhere(np.ones((40, 30)))
    below = np.column_stack([stage.predict(pairs) for stage in model.stages_]) < 0
    if decoding == "first":
        expected = np.where(below.any(axis=1), 1 + below.argmax(axis=1), 5)
    else:
        expected = 1 + (~below).sum(axis=1)
    assert np.array_equal(model.predict(pairs), expected)
    assert set(expected) == {1, 2, 3, 4, 5}
    assert np.mean(model.predict(X) == Y) > 0.85


def test_the_score_is_the_sum_of_clipped_margins():
    model = HMF(4, 1.0, threshold=0.3, random_state=0).fit(X, Y)
    scores = np.clip(np.column_stack([s.decision_function(X) - 0.3 for s in model.stages_]), -1, 1).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-5)
    items, values = model.recommend([3], 30, exclude_seen=False)
    np.testing.assert_allclose(values[0], model.decision_function([(3, j) for j in items[0]]), atol=1e-5)


def test_one_weight_for_each_stage():
    model = HMF(3, [0.5, 1.0, "auto", 4.0], random_state=0).fit(X, Y)
    assert model.alphas_[:2] + model.alphas_[3:] == [0.5, 1.0, 4.0]
    assert [stage.validation_ is not None for stage in model.stages_] == [False, False, True, False]
    assert model.alphas_[2] == model.stages_[2].validation_.best
    same = HMF(3, np.array([0.5, 1.0, model.alphas_[2], 4.0]), random_state=0).fit(X, Y)
    assert np.array_equal(same.stages_[0].U_, model.stages_[0].U_)
    norms = [np.linalg.norm(HMF(3, [a, 1, 1, 1], random_state=0).fit(X, Y).stages_[0].U_) for a in (0.5, 4.0)]
    assert norms[0] > norms[1]


def test_auto_chooses_for_each_stage():
    model = HMF(3, random_state=0).fit(*planted(n_levels=3))
    assert model.alphas_ == [stage.validation_.best for stage in model.stages_]
    assert len({stage.validation_.errors.tobytes() for stage in model.stages_}) == 2


@together("alpha", [[1.0, -1.0, 1.0, 1.0], [1.0, "best", 1.0, 1.0], [1.0, None, 1.0, 1.0]])
def test_a_wrong_weight_among_them(alpha):
    with pytest.raises((ValueError, TypeError), match=f"alpha={alpha[1]!r}"):
        HMF(3, alpha).fit(X, Y)


def test_two_levels_need_one_stage():
    two = np.where(Y > 3, 1, -1)
    model = HMF(3, 1.0, random_state=0).fit(X, two)
    alone = BinaryMMMF(3, 1.0, random_state=int(make_generator(0).integers(2**31, size=1)[0])).fit(X, two)
    assert np.array_equal(model.predict(X), alone.predict(X))


def test_stages_hold_no_ratings_of_their_own():
    model = HMF(3, 1.0, random_state=0).fit(X, Y)
    assert all(stage.ratings_ is None and stage.users_ is model.users_ for stage in model.stages_)


def test_factors_of_zero_predict_median_levels():
    model = HMF(3, 1e5, alpha_bias=None, random_state=0)
    with pytest.warns(UserWarning, match=r"HMF, stage \d: all factors are zero: alpha=100000 is too large"):
        model.fit(X, Y)
    users = np.unique(X[:, 0])
    medians = [np.sort(own)[len(own) // 2] for own in (Y[X[:, 0] == user] for user in users)]
    assert model.predict([(user, 0) for user in users]).tolist() == medians


def test_warnings_name_the_stage():
    model = HMF(3, 1.0, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"HMF, stage \d stopped after 1 iteration"):
        model.fit(X, Y)
    assert model.n_iter_ == 4
    with pytest.warns(ConvergenceWarning, match=r"HMF, stage \d stopped after 1 iteration"):
        model.fold_in([("new", 0), ("new", 1)], [1, 5])
