"""What every implicit-feedback model does: rank, fold in, update, save, and the same bits for any number of threads."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import cofactor
from cofactor.datasets import RatingDataset, make_interactions
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.kernels.threads import library_limit, thread_limit
from cofactor.ratings import (
    EASE,
    ImplicitALS,
    ItemKNN,
    Popularity,
    Ratings,
    Recommender,
    RP3beta,
    Rules,
)
from cofactor.ratings.ranking.counts import as_interactions

from .models import IMPLICIT, MODELS_UNDER_TEST, bits, fitted, interactions_of

every = pytest.mark.parametrize("name", MODELS_UNDER_TEST)
every_implicit_model = pytest.mark.parametrize("name", IMPLICIT)


def all_scores(model: Any) -> np.ndarray:
    """Return the scores of all pairs, one pair at a time."""
    users, items = model.users_.ids, model.items_.ids
    return model.decision_function([(u, i) for u in users for i in items]).reshape(len(users), len(items))


@every_implicit_model
def test_recommendations_are_those_of_brute_force(name: str) -> None:
    model = fitted(name)
    scores, seen = all_scores(model), set(map(tuple, interactions_of().tolist()))
    items, found = model.recommend(n=4)
    assert items.shape == (len(model.users_), 4)
    for row, user in enumerate(model.users_.ids.tolist()):
        left = [k for k, item in enumerate(model.items_.ids.tolist()) if (user, item) not in seen]
        best = sorted(left, key=lambda k, row=row: (-scores[row, k], k))[:4]
        assert items[row].tolist() == model.items_.ids[best].tolist()
        np.testing.assert_allclose(found[row], scores[row, best], rtol=1e-5, atol=1e-7)


@every
def test_lists_of_several_users_are_those_of_each_to_the_bit(name):
    """A server answers together those who ask at the same time."""
    model = fitted(name)
    users = model.users_.ids[:7]
    items, scores = model.recommend(users, 3)
    for k, user in enumerate(users):
        own_items, own_scores = model.recommend([user], 3)
        assert np.array_equal(own_items[0], items[k])
        assert np.array_equal(own_scores[0], scores[k])


@every
def test_new_users_beside_others_are_as_alone_to_the_bit(name: str) -> None:
    model = fitted(name)
    chosen = {"ann": [0, 7, 14], "bob": [21], "cat": [0, 28, 35, 42, 49, 56]}
    together = model.fold_in([(user, item) for user, own in chosen.items() for item in own])
    for user, own in chosen.items():
        alone = model.fold_in([(user, item) for item in own])
        for found, expected in zip(together.recommend([user], 20), alone.recommend([user], 20), strict=True):
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", [name for name in IMPLICIT if name != "Popularity"])
def test_it_learns_who_likes_what(name: str) -> None:
    model = fitted(name)
    items = model.recommend(n=3)[0]
    same = (items // 7 % 3) == ((model.users_.ids - 100) % 3)[:, None]
    assert same.mean() > 0.6


@every_implicit_model
def test_candidates_and_seen_items(name: str) -> None:
    model = fitted(name)
    items, scores = model.recommend([100], n=3, candidates=[0, 7], exclude_seen=False)
    assert set(items[0, :2].tolist()) == {0, 7}
    assert items[0, 2] is None
    assert scores[0, 2] == -np.inf


@every
def test_the_same_bits_for_any_number_of_threads(name: str) -> None:
    models = []
    for n in (1, 2):
        with thread_limit(n), library_limit(n, "blas"):
            models.append(clone(MODELS_UNDER_TEST[name]).fit(interactions_of()))
            models[-1].told = models[-1].recommend(n=5)[1].tobytes()
    assert bits(models[0]) == bits(models[1])
    assert models[0].told == models[1].told


@every
def test_a_file_holds_all_of_it(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    model.save(tmp_path / "model.cofactor")
    again = cofactor.load(tmp_path / "model.cofactor")
    assert bits(again) == bits(model)
    assert repr(again) == repr(model)
    for one, other in zip(answers(again), answers(model), strict=True):
        assert np.array_equal(one, other)


def answers(model: Any, n: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return items and scores for all users."""
    found = model.recommend(n=n)
    return found if isinstance(found, tuple) else (found.items, found.scores)


@every
def test_without_its_interactions_it_folds_in(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    model.save(tmp_path / "model.cofactor", ratings=False)
    lean = cofactor.load(tmp_path / "model.cofactor")
    with pytest.raises(InvalidInputError, match="was saved without its"):
        lean.recommend([100])
    X = [("new", 0), ("new", 21)]
    assert np.array_equal(answers(lean.fold_in(X))[0], answers(model.fold_in(X))[0])


@every
def test_a_fold_in_of_a_known_history_ranks_as_training(name: str) -> None:
    model, X = fitted(name), interactions_of()
    user = X[X[:, 0] == 105]
    new = model.fold_in([("new", item) for item in user[:, 1]])
    tolerance = 0.3 if name == "BPR" else 0.02  # whose steps are random
    np.testing.assert_allclose(answers(new)[1][0], answers(model)[1][5], rtol=tolerance, atol=tolerance)
    with pytest.raises(InvalidInputError, match="known to this model"):
        model.fold_in(user)
    both = model.fold_in([(105, 0), (105, 7)], known="merge")
    assert both.ratings_.n_ratings == len({*map(tuple, user.tolist()), (105, 0), (105, 7)})


@every
def test_who_has_no_interactions_gets_what_is_popular(name: str) -> None:
    model = fitted(name)
    new = model.fold_in([("new", 0), ("cold", "unheard of")])
    popular = np.argsort(-Popularity().fit(interactions_of()).scores_, kind="stable")
    assert answers(new, n=30)[0][0].tolist() == model.items_.ids[popular].tolist()


@pytest.mark.parametrize("model", [EASE(random_state=0), ItemKNN(), RP3beta(), ImplicitALS(random_state=0)])
def test_where_nobody_has_two_items_lists_are_popular(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.c_[np.arange(400), (20 * rng.random(400) ** 2).astype(int)]
    popular = Popularity().fit(X)
    found = clone(model).fit(X).recommend(n=5)[0]
    counts = dict(zip(popular.items_.ids.tolist(), popular.popularity_.tolist(), strict=True))
    gains = np.vectorize(counts.get)
    np.testing.assert_allclose(gains(found), gains(popular.recommend(n=5)[0]))


def test_counts_of_which_sums_are_lost_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="the largest count is 1e\\+300"):
        Popularity().fit([("ann", "Up"), ("bob", "Up")], [1.0, 1e300])


def test_small_weights_say_as_much_as_large_ones() -> None:
    X = interactions_of()
    weights = np.where(np.arange(len(X)) % 2, 1.0, 0.5)
    found = [Popularity().fit(X, sample_weight=scale * weights) for scale in (1.0, 0.001)]
    assert np.allclose(found[0].popularity_, found[1].popularity_)


@pytest.mark.parametrize("model", [EASE(alpha=5.0), ItemKNN(), RP3beta(beta=0.4)])
def test_of_equals_the_popular_one_comes_first(model: Any) -> None:
    rare, common = 1, 2  # neither occurs with 7 or 8
    X = [(u, i) for u in range(4) for i in (7, 8)] + [(u, rare) for u in (5, 6)] + [(u, common) for u in (7, 8, 9)]
    model = clone(model).set_params(popularity_weight=0.0).fit(X)
    assert model.recommend([0], n=2)[0].tolist() == [[common, rare]]
    assert model.fold_in([("new", 7)]).recommend(["new"], n=3)[0].tolist() == [[8, common, rare]]
    assert model.recommend([0], n=2, rules=Rules(min_support=1))[0].tolist() == [[common, rare]]


@pytest.mark.parametrize("model", [EASE(random_state=0), ItemKNN(), RP3beta(), ImplicitALS(random_state=0)])
def test_with_two_clicks_of_each_user_no_model_is_worse_than_popularity(model: Any) -> None:
    interactions, _ = make_interactions(4000, 400, 12_000, random_state=0)
    rng = np.random.default_rng(0)
    order = np.lexsort((rng.random(interactions.nnz), np.repeat(np.arange(4000), np.diff(interactions.indptr))))
    kept = np.concatenate([order[lo : lo + min(2, hi - lo - 1)] for lo, hi in pairwise(interactions.indptr)])
    row_of = np.repeat(np.arange(4000), np.diff(interactions.indptr))
    X, out = np.c_[row_of, interactions.indices][kept], np.ones(interactions.nnz, dtype=bool)
    out[kept] = False
    users = np.intersect1d(X[:, 0], row_of[out])
    hidden = set(zip(row_of[out].tolist(), interactions.indices[out].tolist(), strict=True))

    def share(found: np.ndarray) -> np.ndarray:
        hits = [[(u, i) in hidden for i in row] for u, row in zip(users.tolist(), found.tolist(), strict=True)]
        return np.array(hits) @ (1 / np.log2(np.arange(2, 12)))

    risen = share(clone(model).fit(X).recommend(users)[0]) - share(Popularity().fit(X).recommend(users)[0])
    assert risen.mean() > -2 * risen.std() / np.sqrt(len(users))


@every
def test_an_update_takes_in_users_and_items(name: str) -> None:
    model = clone(MODELS_UNDER_TEST[name]).fit(interactions_of())
    model.update([("new", "film"), (100, "film"), ("new", 7)])
    assert model.users_.index(["new"])[0] >= 0
    assert model.items_.index(["film"])[0] >= 0
    assert answers(model)[0].shape == (41, 5)
    assert not model.refit_due_
    if name.startswith(("EASE", "Popularity")):
        again = clone(MODELS_UNDER_TEST[name])
        if "EASE" in name:
            again.set_params(alpha=model.alpha_, popularity_weight=model.popularity_weight_)
        again.fit(model.ratings_)
        assert np.array_equal(answers(again)[1], answers(model)[1])


@pytest.mark.parametrize("name", ["EASE", "Recommender"])
def test_interactions_come_in_many_forms(name: str) -> None:
    X = interactions_of()
    model = fitted(name)
    ratings = Ratings.from_pairs(X, np.arange(len(X)) % 5 + 1)
    indices = np.column_stack([X[:, 0] - 100, X[:, 1] // 7])
    matrix = sparse.csr_array((np.ones(len(X)), indices.T))
    pandas = pytest.importorskip("pandas").DataFrame(X, columns=["userId", "movie_id"])
    expected = answers(model)[1]
    for given in (ratings, matrix, pandas, pandas.assign(rating=np.arange(len(X)) % 5), np.vstack([X, X[:3]])):
        found = clone(MODELS_UNDER_TEST[name]).set_params(**binary(name)).fit(given)
        assert np.array_equal(answers(found)[1], expected)


def binary(name: str) -> dict[str, Any]:
    """Return the parameters by which counts say nothing."""
    if not name.startswith("Recommender"):
        return {"counts": "binary"}
    return {"interactions": [clone(part).set_params(counts="binary") for part in MODELS_UNDER_TEST[name].interactions]}


@pytest.mark.parametrize("model", [Popularity(), EASE(1.0), ImplicitALS(2, random_state=0)], ids=repr)
def test_counts_say_more(model: Any) -> None:
    X, y = [(0, "a"), (0, "b"), (1, "a"), (1, "c"), (2, "b"), (2, "a"), (3, "a")], [1, 1, 1, 50, 1, 1, 1]
    plain, counted = (clone(model).fit(X, counts).decision_function([(1, "c")])[0] for counts in (None, y))
    assert counted > plain
    repeated = [pair for pair, n in zip(X, y, strict=True) for _ in range(n)]
    assert np.array_equal(clone(model).fit(repeated).recommend()[1], clone(model).fit(X, y).recommend()[1])


def test_the_newest_interactions_say_most() -> None:
    X = [(u, i) for u in range(12) for i in range(6) if u % 2 == i % 2] + [(99, 0), (99, 1)]
    old, new = (
        EASE(1.0, recency=0.5).fit(X, time=[0] * (len(X) - 2) + times).recommend([99], n=1)[0][0, 0]
        for times in ([1, 2], [2, 1])
    )
    assert (old % 2, new % 2) == (1, 0)
    with pytest.raises(InvalidInputError, match="needs the time of each interaction"):
        EASE(1.0, recency=3).fit(X)


STARS = np.repeat([1.0, 2, 3, 4, 5], [6, 11, 27, 34, 22])
PAIRS = [(k, 0) for k in range(100)]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (PAIRS, -np.arange(100.0), "negative count"),
        (PAIRS, [np.nan] * 100, "NaN"),
        (PAIRS, STARS, "look like ratings: 1, 2, 3, 4, 5"),
        (PAIRS, STARS / 2, "look like ratings"),
        (PAIRS, np.zeros(100), "all counts are 0"),
        (PAIRS, [1, 2], "must agree"),
        (sparse.csr_array(STARS[:, None]), None, "fit(X.astype(bool), sample_weight=X)"),
        ([], None, "empty"),
        (sparse.csr_array((3, 4)), None, "empty"),
        (sparse.csr_array(np.eye(3)), [1, 1, 1], "must be None"),
    ],
)
def test_what_is_no_interaction_is_refused(X: Any, y: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        Popularity().fit(X, y)


@pytest.mark.parametrize("name", ["EASE", "Recommender"])
def test_updates_and_fold_ins_refuse_ratings_as_counts_as_a_fit_does(name: str) -> None:
    model = clone(MODELS_UNDER_TEST[name]).fit(interactions_of())
    for learn in (clone(model).fit, model.update, model.fold_in):
        with pytest.raises(InvalidInputError, match="y is to hold counts, and these look like ratings: 1, 2, 3, 4, 5"):
            learn([(k, 7) for k in range(100)], STARS)


def test_what_a_name_calls_counts_are_counts_however_they_look() -> None:
    pd = pytest.importorskip("pandas")
    X = [(k % 20, k // 4) for k in range(100)]
    frame = pd.DataFrame(X, columns=["user", "item"])
    expected = EASE(1.0).fit(X, sample_weight=STARS).recommend(n=3)[1]
    assert np.array_equal(EASE(1.0).fit(frame.assign(n_plays=STARS)).recommend(n=3)[1], expected)
    assert Recommender(EASE(1.0)).fit(frame.assign(Plays=STARS)).ratings_.weights.sum() == STARS.sum()
    plays = pd.Series(STARS, name="plays")
    assert np.array_equal(EASE(1.0).fit(frame, plays).recommend(n=3)[1], expected)
    assert Recommender(EASE(1.0)).fit(frame, plays).ratings_.weights.sum() == STARS.sum()
    table = sparse.coo_array((STARS[::-1], np.array(X[::-1]).T))  # by no order that scipy would keep
    for form in (table, table.tocsr(), table.tocsc()):
        advised = EASE(1.0).fit(form.astype(bool), sample_weight=form)  # what the error advises
        assert np.array_equal(advised.recommend(n=3)[1], expected)


def test_weights_of_a_matrix_go_to_the_interactions_at_their_places() -> None:
    """However either is stored; an interaction without a weight is none, and a weight alone does not count."""
    rng = np.random.default_rng(0)
    row, column = np.divmod(rng.choice(600, 200, replace=False), 20)
    plays = sparse.coo_array((rng.integers(1, 6, 200), (row, column)), (30, 20))
    some = sparse.coo_array((plays.data[20:], (row[20:], column[20:])), plays.shape)
    expected = as_interactions(np.stack([row, column], axis=1), plays.data * 10)
    twice = sparse.coo_array((np.r_[plays.data, plays.data] / 2, (np.r_[row, row], np.r_[column, column])), plays.shape)
    for form in (plays, plays.tocsr(), plays.tocsc(), plays.tolil(), twice):
        for entries in (plays.astype(bool), plays != 0, form.astype(bool).tocsc()):
            interactions = as_interactions(entries, sample_weight=10 * form)
            np.testing.assert_array_equal(interactions.indices, expected.indices)
            np.testing.assert_array_equal(interactions.weights, expected.weights)
    np.testing.assert_array_equal(as_interactions(plays.astype(bool), sample_weight=some).weights.sum(), some.sum())
    np.testing.assert_array_equal(as_interactions(some.astype(bool), sample_weight=plays).weights.sum(), some.sum())
    for X in (np.stack([row, column], axis=1), sparse.csr_array((30, 21))):
        with pytest.raises(
            InvalidInputError, match=r"sample_weight is a sparse matrix of shape \(30, 20\), and so must be X"
        ):
            as_interactions(X, sample_weight=plays)


def test_a_column_of_numbers_that_is_not_read_is_told() -> None:
    """Whoever calls counts by another name would not notice that they do not count."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([(k % 20, k // 4) for k in range(100)], columns=["user", "item"])
    expected = EASE(1.0).fit(frame).recommend(n=3)[1]
    with pytest.warns(
        InputWarning, match="column 'amount' of X is not read, and each pair counts once; call it 'count'"
    ):
        found = EASE(1.0).fit(frame.assign(amount=STARS)).recommend(n=3)[1]
    assert np.array_equal(found, expected)
    for columns in ({"kind": "song"}, {"rating": STARS}, {"timestamp": STARS}, {"amount": STARS, "price": STARS}):
        EASE(1.0).fit(frame.assign(**columns))  # without a word


def test_an_item_that_was_rated_twice_counts_once() -> None:
    X, y = [("ann", "Up"), ("ann", "Up"), ("bob", "Heat")], np.array([3.0, 5.0, 4.0])
    pairs = np.array(X, dtype=object)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["user", "item"]).assign(rating=y)
    for given in (RatingDataset("tiny", pairs, y, np.arange(1.0, 6.0)), frame):
        assert as_interactions(given).weights is None
        assert as_interactions(given).n_ratings == 2
    assert as_interactions(X).weights.tolist() == [2, 1]


@pytest.mark.parametrize("name", ["EASE", "ImplicitALS", "Recommender"])
def test_counts_of_new_users_count_where_those_of_training_did(name: str, tmp_path: Path) -> None:
    X, new, counts = interactions_of(), [("new", 0), ("new", 21)], [1, 40]
    plain = clone(MODELS_UNDER_TEST[name]).fit(X)
    plain.save(tmp_path / "lean.cofactor", ratings=False)
    lean = cofactor.load(tmp_path / "lean.cofactor")
    counted = clone(MODELS_UNDER_TEST[name]).fit(X, np.where(np.arange(len(X)) % 3, 1, 30))
    once = answers(plain.fold_in(new))[1]
    for model in (plain, lean, plain.fold_in([("other", 7)])):
        assert np.array_equal(answers(model.fold_in(new, counts))[1], once)
    for model in (counted, counted.fold_in([("other", 7)])):
        assert not np.array_equal(answers(model.fold_in(new, counts))[1], answers(model.fold_in(new))[1])


def test_interactions_with_unknown_items_are_called_interactions() -> None:
    with pytest.raises(InvalidInputError, match="^1 interaction is of items which the model does not know"):
        as_interactions([("ann", "Up"), ("ann", "Heat")], items=as_interactions([("bob", "Up")]).items)


def test_stars_as_weights_and_counts_of_zero_are_taken() -> None:
    assert Popularity().fit(PAIRS, sample_weight=STARS).ratings_.weights.sum() == STARS.sum()
    model = Popularity().fit([("ann", "Up"), ("bob", "Heat")], [1, 0])
    assert (len(model.users_), len(model.items_), model.ratings_.n_ratings) == (2, 2, 1)


@pytest.mark.parametrize(
    ("model", "argument"),
    [
        (EASE(alpha=0), "alpha"),
        (EASE(solver="fast"), "solver"),
        (EASE(counts="many"), "counts"),
        (Popularity(half_life=-1), "half_life"),
        (ImplicitALS(0), "n_factors"),
        (ImplicitALS(unobserved=0), "unobserved"),
    ],
)
def test_parameters_out_of_range_are_named(model: Any, argument: str) -> None:
    with pytest.raises((ValueError, TypeError), match=argument):
        model.fit(interactions_of())


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil"])
def test_entries_of_a_sparse_matrix_are_interactions_whatever_its_form(form: str) -> None:
    rng = np.random.default_rng(3)
    rows, columns, counts = rng.integers(0, 9, 60), rng.integers(0, 7, 60), rng.choice([0, 1, 9, 200], 60)
    table = sparse.coo_array((counts, (rows, columns)), shape=(9, 7))  # holds pairs twice, and zeros
    given = table.asformat(form)
    found, model = (
        as_interactions(given),
        as_interactions(table, sample_weight=np.ones(60)),
    )  # the latter entry by entry
    np.testing.assert_array_equal(given.toarray(), table.toarray())
    assert found.users == model.users
    for name in ("indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr", "weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))


@pytest.mark.parametrize("solver", ["exact", "cg"])
def test_als_has_no_more_factors_than_users_or_items(solver: str) -> None:
    X = [(u, i) for u in range(6) for i in range(5) if (u + i) % 2]
    many, enough = (ImplicitALS(d, solver=solver, random_state=0).fit(X) for d in (3000, 5))
    assert many.V_.shape == (5, 5)
    assert many.V_.tobytes() == enough.V_.tobytes()


def test_a_penalty_that_leaves_nothing_is_warned_of() -> None:
    """Whoever takes alpha for the confidence of Hu et al. gets lists that mean nothing."""
    X = make_interactions(100, 60, 1000, random_state=0)[0]
    with pytest.warns(InputWarning, match=r"alpha=40\.0 is too large a penalty: .* unobserved"):
        ImplicitALS(8, alpha=40.0, random_state=0).fit(X)


def test_without_factors_no_users_are_similar_and_no_items_are_known_by_features() -> None:
    model = fitted("EASE")
    assert not hasattr(model, "similar_users")
    assert not hasattr(model, "user_vectors")
    with pytest.raises(InvalidInputError, match="EASE takes no features") as refused:
        model.similar_items(["new"], new_items={"new": [1.0]})
    assert refused.value.argument == "new_items"


def test_sparse_interactions_have_other_factors_than_popularity() -> None:
    """Of many items each of few users, of two kinds, the settings are those by which lists are of the user's kind."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(600), 6)
    items = 2 * (300 * rng.random(len(users)) ** 2).astype(int) + users % 2
    model = ImplicitALS(counts="binary", random_state=0).fit(np.column_stack([users, items]))
    assert model.unobserved_ == pytest.approx(8 * model.ratings_.n_ratings / np.prod(model.ratings_.shape), rel=1e-6)
    lists = model.recommend(np.arange(600), 10)[0]
    assert (lists % 2 == np.arange(600)[:, None] % 2).mean() > 0.95


def test_walks_hold_popular_items_back_as_far_as_lists_become_better() -> None:
    """Where all interactions are by popularity alone, nothing is to be held back; where kinds matter, it depends."""
    rng = np.random.default_rng(0)
    popular = np.column_stack([np.repeat(np.arange(400), 5), (100 * rng.random(2000) ** 3).astype(int)])
    assert RP3beta().fit(popular).beta_ <= 0.2
    fixed = RP3beta(beta=0.8).fit(popular)
    assert fixed.beta_ == 0.8
    chosen = RP3beta().fit(popular)
    again = RP3beta(beta=chosen.beta_).fit(popular)
    assert np.array_equal(again.weights_.toarray(), chosen.weights_.toarray())


def test_a_penalty_is_found_where_all_cells_weigh_much() -> None:
    X = np.argwhere(np.random.default_rng(0).random((200, 60)) < 0.2 + 0.6 * (np.indices((200, 60)).sum(axis=0) % 2))
    model = ImplicitALS(4, unobserved=30, random_state=0).fit(X)  # a warning would be an error
    assert np.abs(model.U_).max() > 0.01
    assert model.alpha_ < 0.03


def test_a_chosen_penalty_leaves_factors_though_more_is_learned_from() -> None:
    """A tenth of the interactions is held out for the choice, and what the rest bears may leave nothing of them all."""
    for seed in (89, 111):  # where the penalty that is best for nine tenths leaves nothing of all
        X = np.argwhere(np.random.default_rng(seed).random((10, 12)) < 0.4)
        model = ImplicitALS(1, random_state=seed).fit(X)  # a warning would be an error
        assert np.abs(model.U_ @ model.V_.T).max() > 0.001


@pytest.mark.parametrize("name", MODELS_UNDER_TEST)
@pytest.mark.parametrize(
    "X",
    [
        [("ann", item) for item in range(5)],
        [(user, "Up") for user in range(5)],
        [(user, item) for user in range(5) for item in range(4)],
        [("ann", "Up")],
        [(user, item) for user in range(6) for item in ("Up", f"film {user % 3}")],
    ],
    ids=["one user", "one item", "all alike", "one interaction", "an item that everybody has"],
)
def test_little_to_learn_from_gives_lists_of_what_is_left(name: str, X: list[tuple[Any, Any]]) -> None:
    model = clone(MODELS_UNDER_TEST[name]).fit(X)
    seen, (lists, *_) = set(X), model.recommend(n=3)
    for user, items in zip(model.users_.ids.tolist(), lists.tolist(), strict=True):
        left = {item for item in model.items_.ids.tolist() if (user, item) not in seen}
        listed = [item for item in items if item is not None]
        assert len(listed) == min(3, len(left)) == len(set(listed))
        assert set(listed) <= left


def test_a_fit_warns_of_a_robot() -> None:
    robot = [("robot", item) for item in range(40)]
    people = [(f"user {user}", item) for user in range(9) for item in (user, user + 1)]
    with pytest.warns(InputWarning, match="user robot has 69% of all interactions"):
        Popularity().fit(robot + people)
    with pytest.warns(InputWarning, match="user robot has 96% of all interactions"):  # the same film again and again
        Recommender(Popularity(), None).fit([("robot", 0)] * 400 + people)
    Popularity().fit(people)
