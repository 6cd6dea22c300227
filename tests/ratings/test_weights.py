"""Weights of ratings: how often each counts in a fit."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, cross_validate
from tests.together import together

import cofactor
from cofactor.errors import InvalidInputError
from cofactor.ratings import (
    ALS,
    BPMF,
    EASE,
    HMF,
    MMMF,
    MODELS,
    PMF,
    PMMMF,
    BinaryMMMF,
    Ensemble,
    OrdinalProbit,
    Popularity,
    RatingModel,
    Recommender,
)
from cofactor.ratings.data import Ratings, merged, restrict

WEIGHED = {
    "ALS": ALS(2, 0.5, random_state=0),
    "ALS, cg": ALS(2, 0.5, solver="cg", random_state=0),
    "PMF": PMF(2, 0.5, random_state=0),
    "PMF, logistic": PMF(2, 0.5, link="logistic", solver="lbfgs", random_state=0),
    "MMMF": MMMF(2, 0.5, random_state=0),
    "BinaryMMMF": BinaryMMMF(2, 0.5, random_state=0),
    "HMF": HMF(2, 0.5, random_state=0),
    "PMMMF": PMMMF(2, 0.5, random_state=0),
    "BPMF": BPMF(2, n_sweeps=8, burn_in=2, random_state=0),
    "Ensemble": Ensemble(MMMF(2, 0.5), 2, random_state=0),
}
every = pytest.mark.parametrize("name", WEIGHED)
RNG = np.random.default_rng(0)
X = RNG.permutation(np.argwhere(RNG.random((20, 12)) < 0.7))
W = RNG.integers(0, 3, len(X)).astype(float)


def ratings_for(model: RatingModel) -> np.ndarray:
    both = isinstance(model, BinaryMMMF)
    return np.where((X.sum(axis=1) % 3 > 0) ^ (RNG.random(len(X)) < 0.1), 2, 1) if both else 1 + X.sum(axis=1) % 4


@every
def test_weight_zero_is_leaving_out_and_one_is_none(name):
    model = WEIGHED[name]
    y, kept = ratings_for(model), W > 0
    assert len(np.unique(X[kept, 0])) == 20
    zero_or_one = model.fit(X, y, sample_weight=kept.astype(int)).decision_function(X)
    assert np.array_equal(zero_or_one, model.fit(X[kept], y[kept]).decision_function(X))
    ones = model.fit(X, y, sample_weight=np.ones(len(X))).decision_function(X)
    assert np.array_equal(ones, model.fit(X, y).decision_function(X))
    assert not np.array_equal(ones, model.fit(X, y, sample_weight=1 + W).decision_function(X))


@pytest.mark.parametrize("name", [name for name in WEIGHED if name not in ("BinaryMMMF", "HMF", "Ensemble")])
def test_weights_count_in_fold_ins_and_updates_as_in_fits(name):
    model = WEIGHED[name].fit(X, ratings_for(WEIGHED[name]))
    new = np.array([(user, item) for user in (100, 101) for item in range(12)])
    users = np.column_stack([new[:, 1], new[:, 0]])
    y, weights = 1 + new[:, 1] % 2, np.arange(len(new)) % 3
    for pairs, answer in (
        (new, model.fold_in),
        (users, model.fold_in_items),
        (new, lambda *given, **more: copy(model).update(*given, **more)),
    ):
        plain, twice, some, fewer = (
            one.decision_function(pairs)
            for one in (
                answer(pairs, y),
                answer(pairs, y, sample_weight=1 + weights),
                answer(pairs, y, sample_weight=np.minimum(weights, 1)),
                answer(pairs[weights > 0], y[weights > 0]),
            )
        )
        assert np.array_equal(answer(pairs, y, sample_weight=np.ones(len(new))).decision_function(pairs), plain)
        assert np.array_equal(some, fewer)
        assert not np.array_equal(twice, plain)


def test_models_without_weights_refuse_them_later_too():
    model, one = (
        OrdinalProbit(2, n_sweeps=4, burn_in=1, random_state=0).fit(X, 1 + X.sum(axis=1) % 4),
        {"sample_weight": [2.0]},
    )
    recommender = Recommender(Popularity(), OrdinalProbit(2, n_sweeps=4, burn_in=1), random_state=0)
    recommender.fit(X, 1 + X.sum(axis=1) % 4)
    for call in (model.fold_in, model.update, recommender.fold_in, recommender.update):
        with pytest.raises(InvalidInputError, match="OrdinalProbit takes no weights of ratings; leave them out, or"):
            call([(100, 1)], [2], **one)
    with pytest.raises(InvalidInputError, match="OrdinalProbit takes no weights"):
        model.fold_in_items([(1, 100)], [2], **one)


def test_a_recommender_weighs_interactions_and_ratings():
    new, y, weights = [(100, 1), (100, 2), (101, 1)], [1, 4, 2], [3.0, 1.0, 2.0]
    both = Recommender(Popularity(), BPMF(2, n_sweeps=8, burn_in=2), random_state=0)
    both.fit(X, 1 + X.sum(axis=1) % 4, sample_weight=W + 1)
    of_interactions = Recommender(EASE(1.0), None).fit(X, sample_weight=W + 1)
    for model, given in ((both, (new, y)), (of_interactions, (new,))):
        folded = model.fold_in(*given, sample_weight=weights)
        assert folded.ratings_.weights.tolist() == folded.implicit_models_[0].ratings_.weights.tolist() == weights
        total = model.ratings_.weights.sum()
        assert copy(model).update(*given, sample_weight=weights).ratings_.weights.sum() == total + 6


def test_weights_belong_to_rows_in_whatever_order():
    model = WEIGHED["ALS"]
    y, weights = ratings_for(model), W + 0.5
    expected = model.fit(X, y, sample_weight=weights).decision_function(X)
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(model.fit(X[order], y[order], sample_weight=weights[order]).decision_function(X), expected)


def test_forms_of_ratings():
    y, weights = ratings_for(WEIGHED["ALS"]), W + 0.5
    expected = WEIGHED["ALS"].fit(X, y, sample_weight=weights)
    scores = expected.decision_function(X)
    frame = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
    matrix = sparse.coo_array((y, tuple(X.T)))
    in_order = expected.ratings_
    for given, values, own in (
        (frame, None, weights),
        (iter(X.tolist()), y, weights),
        (matrix, None, weights),
        (matrix.tocsc(), None, sparse.coo_array((weights, tuple(X.T)))),
        (Ratings.from_pairs(X, y), None, in_order.weights),
        (in_order, None, None),
    ):
        assert np.array_equal(WEIGHED["ALS"].fit(given, values, sample_weight=own).decision_function(X), scores)


@pytest.mark.parametrize("model", [ALS(2, 0.5, max_iter=20), MMMF(2, 0.5, tol=1e-7), PMF(2, 0.5, max_iter=20)])
@pytest.mark.filterwarnings("ignore:.* stopped after 20 iterations")
def test_twice_all_weights_is_half_the_penalty(model):
    twice = {name: 2 * value for name, value in model.get_params().items() if name.startswith("alpha") and value}
    model.set_params(random_state=0, dtype="float64")
    y = ratings_for(model)
    plain = model.fit(X, y, sample_weight=1 + W).decision_function(X)
    both = model.set_params(**twice).fit(X, y, sample_weight=2 + 2 * W).decision_function(X)
    np.testing.assert_allclose(both, plain, atol=2e-3)


def test_weights_pull_predictions_towards_their_ratings():
    y = np.where(np.arange(len(X)) % 2, 1.0, 5.0)
    for model in (ALS(2, 5.0, random_state=0), BPMF(2, n_sweeps=30, burn_in=10, random_state=0)):
        low, high = (model.fit(X, y, sample_weight=1 + 99 * (y == v)).decision_function(X).mean() for v in (1, 5))
        assert low < 2.5
        assert high > 3.5


@together("kind", MODELS.values(), ids=lambda kind: kind.__name__)
def test_others_refuse_weights_and_name_those_that_take_them(kind):
    taking = {type(model) for model in WEIGHED.values()}
    model = kind(estimator=OrdinalProbit()) if kind is Ensemble else kind()
    if kind in taking and kind is not Ensemble:
        assert model.can("weights")
        return
    with pytest.raises(
        InvalidInputError, match=r"no weights of ratings.*ALS, BPMF, BinaryMMMF, HMF, MMMF, PMF, PMMMF"
    ) as error:
        model.fit(X, 1 + X.sum(axis=1) % 4, sample_weight=1 + W)
    assert error.value.argument == "sample_weight"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (W[1:], r"sample_weight has shape .*: a weight for each rating"),
        (np.where(W > 1, -1, 1), r"holds -1 \(rating"),
        (np.where(W > 1, np.nan, 1), "holds nan"),
        (0 * W, "all zero"),
        (["heavy"] * len(X), "must be numbers"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        WEIGHED["ALS"].fit(X, ratings_for(WEIGHED["ALS"]), sample_weight=weights)


def test_cross_validation_splits_weights():
    y, weights, folds = ratings_for(WEIGHED["ALS"]), 1 + W, KFold(3, shuffle=True, random_state=0)
    found = cross_validate(WEIGHED["ALS"], X, y, cv=folds, params={"sample_weight": weights})["test_score"]
    for score, (train, test) in zip(found, folds.split(X), strict=True):
        model = WEIGHED["ALS"].fit(X[train], y[train], sample_weight=weights[train])
        assert score == model.score(X[test], y[test])


def test_weights_are_saved_and_merged(tmp_path):
    y, weights = ratings_for(WEIGHED["ALS"]), W + 0.5
    model = WEIGHED["ALS"].fit(X, y, sample_weight=weights)
    model.save(tmp_path / "weighed.cofactor")
    loaded = cofactor.load(tmp_path / "weighed.cofactor")
    assert np.array_equal(loaded.ratings_.weights, model.ratings_.weights)
    new = (2, next(i for i in range(12) if (2, i) not in set(map(tuple, X.tolist()))))
    folded = loaded.fold_in([new], [4], known="merge")
    own = X[:, 0] == 2
    again = model.fold_in(
        Ratings.from_pairs(
            [*X[own].tolist(), new],
            [*y[own], 4],
            model.scale_,
            items=model.items_,
            sample_weight=[*weights[own], 1],
        ),
        known="replace",
    )
    assert np.array_equal(folded.U_, again.U_)


def test_parts_of_ratings_keep_their_weights():
    y, weights = 1 + X.sum(axis=1) % 4, W + 0.5
    whole = Ratings.from_pairs(X, y, sample_weight=weights)
    by_pair = dict(zip(map(tuple, X.tolist()), weights, strict=True))

    def agrees(part: Ratings) -> bool:
        users, items = part.pairs()
        pairs = zip(part.users.ids[users].tolist(), part.items.ids[items].tolist(), strict=True)
        return part.weights is not None and [by_pair[pair] for pair in pairs] == part.weights.tolist()

    assert agrees(whole)
    assert agrees(whole.subset(whole.levels > 2))
    assert agrees(whole.at_boundary(2))
    some = type(whole.users)([7, 3, 5])
    assert agrees(restrict(whole, users=some))
    rest = whole.subset(~np.isin(whole.row_of_entry, whole.users.index(some.ids)))
    both = merged(rest, restrict(whole, users=some))
    assert both.n_ratings == whole.n_ratings
    assert agrees(both)
