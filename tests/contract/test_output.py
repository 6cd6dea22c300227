"""Predictions, completed matrices, recommendations and fold-in agree with each other and with brute force."""

import itertools
from functools import lru_cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import cofactor
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.ratings import RatingModel
from cofactor.ratings.sampled.base import SampledModel

from .models import all_pairs, bits, data, every_class, fitted, fresh, overriding, probed, simple_models

# ---------------------------------------------------------------- predictions


@every_class
def test_outputs_have_their_documented_forms(name):
    X, _ = data(name)
    model = fitted(name)
    predicted, scores, margins = model.predict(X), model.decision_function(X), model.margins(X)
    assert predicted.dtype == np.float64
    assert np.isin(predicted, model.scale_).all()
    assert scores.shape == (len(X),)
    assert margins.shape == (len(X), len(model.scale_) - 1)
    for method, shape in ((model.predict, (0,)), (model.decision_function, (0,)), (model.margins, margins[:0].shape)):
        for nothing in ([], X[:0]):
            assert method(nothing).shape == shape


@every_class
def test_rows_are_predicted_one_by_one(name):
    X, _ = data(name)
    model = fitted(name)
    order = np.random.default_rng(0).permutation(len(X))
    for method in (model.predict, model.decision_function, model.margins):
        assert np.array_equal(method(X[order]), method(X)[order])
        assert np.array_equal(np.concatenate([method(X[k : k + 1]) for k in range(20)]), method(X)[:20])
        assert np.array_equal(method(np.vstack([X, X])), np.concatenate([method(X)] * 2))


@every_class
def test_higher_scores_of_a_user_never_mean_lower_ratings(name):
    """Except where stages contradict each other, as those of HMF may, and a median the expected rating."""
    model = fitted(name)
    pairs = all_pairs(model).reshape(len(model.users_), -1, 2)
    swaps = total = 0
    for row in pairs:
        ranked = model.predict(row[np.argsort(model.decision_function(row), kind="stable")])
        swaps += int(np.count_nonzero(np.diff(ranked) < 0))
        total += len(ranked) - 1
    assert swaps <= (0.1 * total if "HMF" in name or hasattr(model, "predict_proba") else 0), swaps / total


@every_class
def test_margins_decode_to_predictions(name):
    model = fitted(name)
    margins = model.margins(all_pairs(model))
    at_most = np.isin(model.predict(all_pairs(model)), model.scale_[:1])
    clear = np.abs(margins).min(axis=1) > 1e-6
    assert np.array_equal((margins[:, 0] < 0)[clear], at_most[clear])


@every_class
def test_complete_keeps_ratings_and_predicts_the_rest(name):
    X, y = data(name)
    model = fitted(name)
    full = model.complete()
    assert full.dtype == np.float32
    expected = model.predict(all_pairs(model)).reshape(full.shape)
    assert not np.array_equal(full, expected)  # some ratings differ from their predictions
    expected[X[:, 0] - 100, X[:, 1] // 7] = y
    assert np.array_equal(full, expected)


# ---------------------------------------------------------------- recommendations


def assert_best(model: RatingModel, users: list, n: int, seen: dict, candidates: list, found: tuple) -> None:
    """Compare with the sorted scores of `decision_function`, which rounds differently."""
    items, scores = found
    assert items.shape == scores.shape == (len(users), n)
    for user, row, values in zip(users, items.tolist(), scores, strict=True):
        allowed = [i for i in candidates if i not in seen.get(user, ())]
        size = min(n, len(allowed))
        assert row[size:] == [None] * (n - size)
        assert np.all(values[size:] == -np.inf)
        assert len(set(row[:size])) == size
        assert set(row[:size]) <= set(allowed)
        if not size:
            continue
        own = model.decision_function([(user, i) for i in row[:size]])
        tolerance = 1e-5 * (1 + np.abs(own).max())
        np.testing.assert_allclose(values[:size], own, atol=tolerance, rtol=0)
        best = np.sort(model.decision_function([(user, i) for i in allowed]))[::-1][:size]
        np.testing.assert_allclose(values[:size], best, atol=tolerance, rtol=0)


#: Every way to ask for recommendations of the probe and of those that override it; of all others, one.
RECOMMENDATIONS = [
    *((name, 5, True, True) for name in every_class.args[1]),
    *(
        (name, n, seen, some)
        for name, n, seen, some in itertools.product(
            overriding("recommend"), (1, 5, 24, 40), (True, False), (True, False)
        )
        if (n, seen, some) != (5, True, True)
    ),
]


@pytest.mark.parametrize(("name", "n", "exclude_seen", "some"), RECOMMENDATIONS)
def test_recommendations_are_the_best_by_brute_force(name, n, exclude_seen, some):
    X, _ = data(name)
    model = fitted(name)
    users, items = model.users_.ids.tolist(), model.items_.ids.tolist()
    seen = {u: set(X[X[:, 0] == u, 1].tolist()) for u in users} if exclude_seen else {}
    candidates = items[::-3] if some else items
    found = model.recommend(users, n, exclude_seen=exclude_seen, candidates=candidates if some else None)
    assert_best(model, users, n, seen, candidates, found)


@every_class
def test_recommendations_in_several_blocks_of_users_and_items(name, monkeypatch):
    X, _ = data(name)
    model = fitted(name)
    users = np.random.default_rng(0).permutation(np.repeat(model.users_.ids, 2))
    seen = {u: set(X[X[:, 0] == u, 1].tolist()) for u in model.users_.ids.tolist()}
    monkeypatch.setattr("cofactor.ratings.blocks.BLOCK_BYTES", 8 * 5 * 8 * 4 * len(model.scale_))
    monkeypatch.setattr("cofactor.ratings.blocks._COLUMNS", 5)
    found = model.recommend(users, 3)
    assert len(users) == 60
    assert_best(model, users.tolist(), 3, seen, model.items_.ids.tolist(), found)
    for k in (0, 7, 8, 15, 59):
        items, scores = model.recommend(users[k], 3)
        assert np.array_equal(items[0], found[0][k])
        np.testing.assert_allclose(scores[0], found[1][k], rtol=1e-5)


@every_class
def test_lists_of_several_users_are_those_of_each_to_the_bit(name):
    """A server answers together those who ask at the same time."""
    model = fitted(name)
    users = model.users_.ids[:7]
    items, scores = model.recommend(users, 3)
    for k, user in enumerate(users):
        alone = model.recommend(user, 3)
        assert np.array_equal(alone[0][0], items[k])
        assert np.array_equal(alone[1][0], scores[k])


@probed("recommend")
def test_forms_of_users_and_candidates(name):
    model = fitted(name)
    users, items = model.users_.ids[:3], model.items_.ids[:8]
    expected = model.recommend(users, 2, candidates=items)
    for some, choice in (
        (users.tolist(), items.tolist()),
        (users.astype(float), items[::-1]),
        (tuple(users), [*items, *items]),
        ((user for user in users), set(items.tolist())),
        (dict.fromkeys(users.tolist()).keys(), (item for item in items)),
        (pd.Index(users), pd.Series(items)),
        (range(100, 103), pl.Series(items)),
    ):
        found = model.recommend(some, 2, candidates=choice)
        assert np.array_equal(found[0], expected[0])
        assert np.array_equal(found[1], expected[1])
    alone = model.recommend(users[0], 2, candidates=items)
    assert np.array_equal(alone[0], expected[0][:1])
    assert [a.shape for a in model.recommend([], 4)] == [(0, 4), (0, 4)]


# ---------------------------------------------------------------- fold-in


#: Precision of a fit that suffices, where each iteration takes long or gains little; a penalty that needs fewer steps.
ENOUGH = {
    "IPMMMF": {"tol": 1e-5},
    "IPMMMF, learned prior": {"tol": 1e-6},
    "GPLVM": {"tol": 1e-3},
    "PMF by sgd": {"alpha": 5.0},
    "RatingNMF, kl": {"alpha": 0.3},
}


@lru_cache
def exact(name: str) -> RatingModel:
    """Return a model fitted to high precision on the first 22 users."""
    X, y = data(name)
    old = X[:, 0] < 122
    settings = {"tol": 1e-9, "dtype": "float64", "max_iter": 20000} | ENOUGH.get(name, {})
    return fresh(name, **settings).fit(X[old], y[old])


@pytest.mark.parametrize("name", [*every_class.args[1], "MMMF of the thesis"])
def test_fold_in_of_training_users_finds_their_factors_again(name):
    """At the optimum of all, each user's part is the optimum given the items."""
    X, y = data(name)
    model = exact(name)
    old = X[:, 0] < 122
    folded = model.fold_in(X[old], y[old], known="replace")
    a, b = folded.decision_function(X[old]), model.decision_function(X[old])
    if "bagging" in name or isinstance(model, SampledModel):  # members saw nine tenths of the ratings; few samples
        assert np.corrcoef(a, b)[0, 1] > 0.95
        return
    assert np.abs(a - b).max() < 2e-3 * b.std()
    assert np.mean(folded.predict(X[old]) != model.predict(X[old])) < 0.01


@every_class
def test_a_model_does_what_its_tags_say_and_has_no_method_for_the_rest(name):
    model = fitted(name)
    user, items = model.users_.ids[0], model.items_.ids[:2]
    calls = {
        "probabilities": ("predict_proba", [(user, item) for item in items]),
        "explain": ("explain", user, items),
        "similar": ("similar_items", items),
        "fold_in_items": ("fold_in_items", [(user, -1), (user, -2)], model.scale_[:2]),
    }
    for tag, (method, *arguments) in calls.items():
        assert hasattr(model, method) == model.can(tag)
        if model.can(tag):
            getattr(model, method)(*arguments)
        else:
            with pytest.raises(InvalidInputError, match=type(model).__name__):
                model.require(tag)


@every_class
def test_fold_in_of_training_items_finds_their_factors_again(name):
    """Under new ids, from the ratings that they had: items are then what they were, to those who rated others too."""
    model, (X, y) = fitted(name), data(name)
    if not model.can("fold_in_items"):
        return
    some = np.unique(X[:, 1])[[2, 9, 17]]
    own = np.isin(X[:, 1], some)
    copies = model.fold_in_items(X[own] + [0, 10_000], y[own])
    assert copies.items_.ids.tolist() == (some + 10_000).tolist()
    pairs = np.array([(user, item) for item in some for user in model.users_.ids])
    renamed = np.add(pairs, [0, 10_000])
    before, after = model.decision_function(pairs), copies.decision_function(renamed)
    for k in range(3):
        item = slice(k * len(model.users_), (k + 1) * len(model.users_))
        assert np.corrcoef(before[item], after[item])[0, 1] > 0.98
    assert np.abs(copies.predict(renamed) - model.predict(pairs)).mean() < 0.2
    assert copies.recommend(model.users_.ids[:2], 2, exclude_seen=False).items.shape == (2, 2)


@every_class
def test_fold_in_of_a_user_does_not_depend_on_the_others(name):
    """Solved to high precision; with default tolerances, scores differ by less than a fiftieth of their spread."""
    X, y = data(name)
    new = X[:, 0] >= 122
    for model, tolerance in ((exact(name), 1e-3), (fitted(name), 2e-2)):
        together = model.fold_in(X[new], y[new], known="replace")
        spread = together.decision_function(X[new]).std()
        for user in (122, 125, 129):
            own = X[:, 0] == user
            alone = model.fold_in(X[own], y[own], known="replace")
            gap = alone.decision_function(X[own]) - together.decision_function(X[own])
            assert np.abs(gap).max() < tolerance * spread


@pytest.mark.filterwarnings("ignore:none of the .* users was in training")
@every_class
def test_fold_in_learns_and_leaves_the_model_as_it_was(name):
    X, y = data(name)
    new, model = X[:, 0] >= 122, exact(name)
    before = bits(model)
    folded = model.fold_in(X[new], y[new])
    assert bits(model) == before
    assert type(folded) is type(model)
    assert folded.users_.ids.tolist() == list(range(122, 130))
    assert folded.items_ == model.items_
    errors = np.abs(folded.predict(X[new]) - y[new]).mean()
    as_unknown = np.abs(model.predict(X[new]) - y[new]).mean()
    assert errors < 0.75 * as_unknown, "predictions hardly depend on a user's own ratings"
    for simple, old in zip(simple_models(folded), simple_models(model), strict=True):
        if not hasattr(simple, "U_"):
            continue
        assert simple.U_.shape == (8, old.U_.shape[1])
        if "V_" not in vars(simple):  # the mean of fewer samples, in the same frame: see test_alignment
            continue
        assert np.array_equal(simple.V_, old.V_)
        assert np.array_equal(simple.item_bias_, old.item_bias_)


@every_class
def test_a_folded_in_model_is_a_whole_one(name):
    X, y = data(name)
    new, model = X[:, 0] >= 122, exact(name)
    folded = model.fold_in(X[new], y[new])
    users, items = folded.users_.ids.tolist(), folded.items_.ids.tolist()
    seen = {u: set(X[X[:, 0] == u, 1].tolist()) for u in users}
    assert_best(folded, users, 6, seen, items, folded.recommend(users, 6))
    full = folded.complete()
    expected = folded.predict(all_pairs(folded)).reshape(8, 24)
    expected[X[new, 0] - 122, X[new, 1] // 7] = y[new]
    assert np.array_equal(full, expected)
    assert folded.score(X[new], y[new]) == -np.mean(np.abs(folded.predict(X[new]) - y[new]))
    again = folded.fold_in(X[new], y[new], known="replace")
    assert bits(again) == bits(folded)
    cold = folded.decision_function([(100, i) for i in items])  # a user of the model, not of this one
    assert np.array_equal(cold, folded.decision_function([("nobody", i) for i in items]))


@every_class
def test_users_of_training_are_folded_in_only_as_the_caller_says(name):
    """Their ratings of training would be forgotten without a word, and items they know recommended."""
    X, y = data(name)
    model, user = fitted(name), 105
    history = {tuple(pair): rating for pair, rating in zip(X.tolist(), y, strict=True) if pair[0] == user}
    again = next(iter(history))
    fresh_pairs = [(user, item) for item in model.items_.ids.tolist() if (user, item) not in history][:2]
    scale = model.scale_
    new = dict.fromkeys(fresh_pairs, scale[-1]) | {again: scale[0] if history[again] == scale[-1] else scale[-1]}
    with pytest.raises(InvalidInputError, match=r"1 user is known to this model, such as 105: .*'merge'.*'replace'"):
        model.fold_in([*new, ("new", again[1])], [*new.values(), scale[0]])
    for known, counts in (("merge", history | new), ("replace", new)):
        folded = model.fold_in(list(new), list(new.values()), known=known)
        assert bits(folded) == bits(model.fold_in(list(counts), list(counts.values()), known="replace"))
        assert {(user, item) for item in folded.ratings_.items.ids[folded.ratings_.indices].tolist()} == set(counts)
        recommended = {item for item in folded.recommend([user], len(model.items_))[0][0].tolist() if item is not None}
        assert recommended == set(model.items_.ids.tolist()) - {item for _, item in counts}


@probed("fold_in")
def test_a_model_without_its_ratings_has_nothing_to_merge_with(name, tmp_path):
    X, y = data(name)
    fitted(name).save(tmp_path / "lean", ratings=False)
    lean = cofactor.load(tmp_path / "lean")
    advice = "give known='replace', or save the fitted model with ratings=True"
    with pytest.raises(InvalidInputError, match=f"without its ratings: .*{advice}"):
        lean.fold_in(X[:3], y[:3], known="merge")
    a, b = (model.fold_in(X[:3], y[:3], known="replace") for model in (lean, fitted(name)))
    assert bits(a) == bits(b)
    with pytest.warns(InputWarning, match="known='merge' finds nobody: this model knows .* the model that was fitted"):
        folded = lean.fold_in([("new", X[0, 1])], y[:1], known="merge")
    with pytest.warns(InputWarning, match="finds nobody: this model knows 1 other user, such as 'new'; if it comes"):
        folded.fold_in(X[:3], y[:3], known="merge")
    with pytest.raises(InvalidInputError, match=r"known='both': expected"):
        lean.fold_in(X[:3], y[:3], known="both")


@every_class
def test_one_rating_is_enough_to_fold_in(name):
    model = fitted(name)
    item = model.items_.ids[3]
    low, high = (model.fold_in([("new", item)], [value]) for value in model.scale_[[0, -1]])
    # A solver stops within 1e-8 of its objective, and the error of a score is of the order of the root of that.
    error = 1e-4 * np.std(model.decision_function(data(name)[0]))
    assert low.decision_function([("new", item)]) <= high.decision_function([("new", item)]) + error
    assert low.predict([("new", item)]) <= high.predict([("new", item)])
