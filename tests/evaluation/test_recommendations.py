"""Lists of recommendations: what is measured, on whom, and beside what."""

import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, sparse
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score
from tests.together import together

from cofactor.datasets import InteractionDataset, RatingDataset, make_ratings
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation import (
    NewUsers,
    PerUserHoldout,
    RecommendationScores,
    UserLast,
    compare,
    evaluate_recommendations,
    wilcoxon_holm,
)
from cofactor.metrics import user_mean, user_ndcgs
from cofactor.ratings import ALS, EASE, MMMF, OrdinalProbit, Popularity, Recommender
from cofactor.ratings.ranking import Recommendations

DATA = make_ratings(60, 40, 3, density=0.4, random_state=0)
X, Y = DATA.X, DATA.y


class Oracle(BaseEstimator):
    """Recommends the items of a table with the highest numbers."""

    def __init__(self, table=None):
        self.table = table

    def fit(self, X, y):
        self.seen_ = {}
        for user, item in np.asarray(X).tolist():
            self.seen_.setdefault(user, set()).add(item)
        return self

    def fold_in(self, X, y):
        return Oracle(self.table).fit(X, y)

    def recommend(self, users, n=10, exclude_seen=True):
        ids, scores = np.full((len(users), n), None, dtype=object), np.full((len(users), n), -np.inf)
        for row, user in enumerate(np.asarray(users).tolist()):
            order = np.argsort(-self.table[user], kind="stable").tolist()
            left = [j for j in order if not exclude_seen or j not in self.seen_[user]][:n]
            ids[row, : len(left)], scores[row, : len(left)] = left, self.table[user][left]
        return ids, scores


def tables():
    ratings = np.zeros((60, 40))
    ratings[X[:, 0], X[:, 1]] = Y
    return ratings


def test_who_knows_the_ratings_is_perfect() -> None:
    found = evaluate_recommendations(Oracle(tables()), X, Y, at=(5, 10), likes=4, auc=True)
    assert found.methods == ("popularity", "Oracle")
    for metric in (
        "ndcg@5",
        "capped_recall@10",
        "mrr@5",
        "hit_rate@5",
        "any_ndcg@5",
        "graded_ndcg@10",
        "map@10",
        "auc",
    ):
        assert found.mean("Oracle", metric).mean == 1
        assert found.mean("popularity", metric).mean < 0.9
        assert found.difference("Oracle", metric).is_clear


def test_numbers_equal_those_by_hand() -> None:
    model = ALS(3, 1.0, random_state=0)
    found = evaluate_recommendations(model, X, Y, n_splits=2, random_state=3, at=5, likes=4, auc=True)
    ndcgs, aucs = np.zeros((2, 60)), np.zeros((2, 60))
    distinct = []
    for k, (train, test) in enumerate(PerUserHoldout(0.2, 2, 3).split(X)):
        fitted = model.fit(X[train], Y[train])
        ids, _ = fitted.recommend(np.arange(60), 5)
        liked = Y[test] >= 4
        relevant = sparse.csr_array((np.ones(liked.sum()), X[test][liked].T), shape=(60, 40))
        ndcgs[k] = user_ndcgs(ids.astype(int), relevant)
        distinct.append(np.unique(ids).size)
        for u in range(60):
            unseen = np.setdiff1d(fitted.items_.ids, X[train][X[train, 0] == u, 1])
            truth = np.isin(unseen, X[test][liked & (X[test, 0] == u), 1])
            scores = fitted.decision_function(np.column_stack([np.full(unseen.size, u), unseen]))
            aucs[k, u] = roc_auc_score(truth, scores) if truth.any() else np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # users without a value in both splits
        np.testing.assert_allclose(found.of("ALS", "ndcg@5"), np.nanmean(ndcgs, axis=0))
        np.testing.assert_allclose(found.of("ALS", "auc"), np.nanmean(aucs, axis=0), rtol=1e-5)
    assert found.of_lists["ALS"]["distinct@5"] == tuple(distinct)
    mean = user_mean(found.of("ALS", "ndcg@5"))
    assert found.mean("ALS", "ndcg@5") == mean
    row = found.summary()["ALS"]["ndcg@5"]
    assert (row["mean"], row["error"], row["users"]) == (mean.mean, mean.error, mean.n)


def test_users_without_a_liked_item() -> None:
    skipped, counted = (
        evaluate_recommendations(Popularity(), X, Y, at=5, likes=5, undefined=how) for how in ("skip", 0)
    )
    a, b = (one.mean("Popularity", "ndcg@5") for one in (skipped, counted))
    assert a.n < b.n == 60
    assert a.mean * a.n == pytest.approx(b.mean * b.n)
    assert skipped.mean("Popularity", "novelty@5") == counted.mean("Popularity", "novelty@5")


def test_models_with_probabilities_rank_by_what_is_liked(monkeypatch) -> None:
    asked = []
    recommend = OrdinalProbit.recommend

    def spy(self, users, n=10, *, exclude_seen=True, at_least=None):
        asked.append(at_least)
        return recommend(self, users, n, exclude_seen=exclude_seen, at_least=at_least)

    monkeypatch.setattr(OrdinalProbit, "recommend", spy)
    model = OrdinalProbit(2, burn_in=2, n_sweeps=8, random_state=0)
    evaluate_recommendations({"probit": model}, X, Y, at=3, likes=4)
    evaluate_recommendations({"probit": model}, X, Y, at=3)
    evaluate_recommendations({"probit": model}, X, Y, at=3, likes=1)  # which says nothing
    evaluate_recommendations({"probit": model}, X, Y, at=3, likes=4, ranking={"at_least": 5})
    assert asked == [4, None, None, 5]


@pytest.mark.parametrize("protocol", ["new-users", NewUsers(0.2, 0.5, 1, 0), "strong"])
def test_new_users_are_folded_in(protocol) -> None:
    found = evaluate_recommendations({"oracle": Oracle(tables()), "als": ALS(3, 1.0)}, X, Y, protocol, at=5)
    n = found.mean("als", "ndcg@5").n
    assert n == (12 if isinstance(protocol, NewUsers) else 6)
    assert found.mean("oracle", "ndcg@5").mean == 1
    assert np.isnan(found.of("als", "ndcg@5")).sum() == 60 - n


def test_users_whom_nobody_knows_are_left_out_and_items_that_nobody_knows_are_missed() -> None:
    train = np.flatnonzero((X[:, 0] > 2) & (X[:, 1] > 4))
    test = np.flatnonzero((X[:, 0] <= 3) & (X[:, 1] <= 4))
    found = evaluate_recommendations(ALS(2, 1.0), X, Y, [(train, test)], at=5)
    assert found.facts["users_left_out"] == np.unique(X[test, 0]).size - 1
    assert found.mean("ALS", "recall@5").n == 1
    assert found.mean("ALS", "recall@5").mean == 0
    test = np.flatnonzero(X[:, 0] <= 2)
    with pytest.raises(InvalidInputError, match="no user of the test part is known"):
        evaluate_recommendations(ALS(2, 1.0), X, Y, [(train, test)])


def test_lists_longer_than_what_is_left() -> None:
    pairs = np.array([(u, j) for u in range(4) for j in range(6)])
    ratings = np.arange(24) % 5 + 1.0
    test = [0, 7, 13]  # nothing else is left for these users, and nothing at all for the last one
    train = np.setdiff1d(np.arange(24), test)
    found = evaluate_recommendations(ALS(2, 1.0), pairs, ratings, [(train, np.array(test))], at=50, auc=True)
    assert found.mean("ALS", "recall@50").mean == 1
    assert found.mean("ALS", "precision@50").mean == 1 / 50
    assert found.mean("ALS", "auc").n == 0  # there is no other item
    assert found.mean("ALS", "diversity@50").n == 0
    assert "–" in found.text()
    assert found.summary()["ALS"]["auc"]["mean"] is None


def test_frames_words_and_times() -> None:
    frame = pd.DataFrame({"user": [f"u{u}" for u in X[:, 0]], "item": [f"i{j:02}" for j in X[:, 1]]})
    named = evaluate_recommendations(ALS(3, 1.0), frame, Y, at=5)
    plain = evaluate_recommendations(ALS(3, 1.0), X, Y, at=5)
    assert len(named.users) == 60
    assert named.mean("popularity", "ndcg@5").mean == pytest.approx(plain.mean("popularity", "ndcg@5").mean, abs=0.1)
    times = np.arange(len(X)) * 7919 % 1009
    last = evaluate_recommendations(ALS(3, 1.0), X, Y, "user-last", at=5, time=times)
    assert last.facts["protocol"] == "user-last"
    assert last.mean("ALS", "ndcg@5").n == 60


def test_tests_over_users() -> None:
    found = evaluate_recommendations(Oracle(tables()), X, Y, at=5)
    [pair] = wilcoxon_holm(found.scores("ndcg@5")).differing
    assert pair.better == "Oracle"
    assert pair.p_holm < 1e-6


def test_compare_has_the_same_means(tmp_path) -> None:
    models, sets = {"als": ALS(3, 1.0, random_state=0), "oracle": Oracle(tables())}, {"toy": (X, Y)}
    found = compare(models, sets, n_splits=2, seeds=(3,), at=(5, 10), likes=4)
    assert found.metrics == ("ndcg@5", "recall@5", "coverage@5")
    direct = evaluate_recommendations(models["als"], X, Y, "per-user", 1, 3, at=5, likes=4)
    (first, *_) = [result for result in found.results if result.method == "als"]
    for metric in ("ndcg@5", "novelty@5"):
        assert first.measures[metric] == pytest.approx(direct.mean("ALS", metric).mean)
    table = found.table()
    assert table.scores.methods == ("popularity", "als", "oracle")
    assert table.scores.ranks[0, 2] == 1
    assert "ndcg@5 ↑" in str(table)
    kept = tmp_path / "store"
    for at, likes in (((5, 1), None), ((5, 1), 4), ((5, 1), None)):  # other questions do not find each other's answers
        one = compare({"als": models["als"]}, sets, n_splits=1, at=at, likes=likes, store=kept)
        assert one.protocol == "per-user"
        assert ("any_ndcg@5" in one.results[0].measures) == (likes is not None)


@together(
    ("options", "message"),
    [
        ({"at": 5, "likes": 9}, "no rating of 'toy' is that high"),
        ({"likes": 4}, "likes=4: says what is liked of lists; give at too"),
        ({"at": 5, "metrics": ["ndcg@10"]}, "metric 'ndcg@10' is not known; did you mean ndcg@5"),
        ({"at": 5, "grids": {"als": {"alpha": [1.0]}}}, "does not go with grids"),
        ({"at": 0}, "at=0: expected a whole number"),
        ({"metrics": ["ndcg@10"]}, "metric 'ndcg@10' is not known"),
    ],
)
def test_compare_refuses(options, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        compare({"als": ALS(3, 1.0)}, {"toy": (X, Y)}, **options)


def test_the_table() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(50)
    methods = {"popularity": base, "better": base + 0.2, "like it": base + rng.normal(0, 0.1, 50), "worse": base - 0.1}
    values = {name: {"ndcg@10": column} for name, column in methods.items()}
    found = RecommendationScores(values, {name: {"distinct@10": (1234.0,)} for name in values}, np.arange(50))
    line = next(line for line in found.text().splitlines() if line.startswith("ndcg"))
    assert (line.count("↑"), line.count("↓"), line.count("±")) == (1, 1, 4)
    assert "1,234" in found.text()
    assert "ndcg@10, better – like it: " in found.text()
    ((first, second, above), *others) = found.pairs("ndcg@10")
    assert (first, second, above.is_clear, len(others)) == ("better", "like it", True, 2)
    narrow = found.text(40).splitlines()
    assert max(map(len, narrow[: narrow.index("mean ± 1.96 standard errors over users")])) <= 40
    assert sum(line.startswith("ndcg@10 ") for line in narrow) == 2
    with pytest.raises(InvalidInputError, match="metric='ndcg@1': was measured for lists of 10 items; at= of"):
        found.mean("better", "ndcg@1")
    with pytest.raises(InvalidInputError, match="metric='distinct@10': is of the lists of all users together"):
        found.mean("better", "distinct@10")
    with pytest.raises(InvalidInputError, match="did you mean better"):
        found.mean("beter", "ndcg@10")


def test_popular_items() -> None:
    model = Popularity().fit(X)
    counts = np.bincount(X[:, 1], minlength=40)
    items, scores = model.recommend([3, 0], 40)
    for row, user in enumerate((3, 0)):
        left = np.setdiff1d(np.arange(40), X[X[:, 0] == user, 1])
        best = left[np.lexsort((left, -counts[left]))]
        assert items[row, : left.size].tolist() == best.tolist()
        assert (60 * scores[row, : left.size]).tolist() == pytest.approx(counts[best].tolist())
        assert (items[row, left.size :] == None).all()  # noqa: E711
    everything, _ = model.recommend([3], 40, exclude_seen=False)
    assert everything.tolist() == [np.lexsort((np.arange(40), -counts)).tolist()]
    folded = model.fold_in([(99, int(everything[0, 0])), (99, 777)])
    assert folded.recommend([99], 1)[0].tolist() == [[everything[0, 1]]]


@together(
    ("options", "error", "message"),
    [
        ({"likes": 9}, InvalidInputError, "likes=9: no rating is that high"),
        ({"ranking": {"n": 3}}, InvalidInputError, "no model takes 'n'; this is said by the evaluation itself"),
        ({"ranking": {"candidate": [3]}}, InvalidInputError, "no model takes 'candidate'; did you mean candidates"),
        ({"at": 0}, InvalidInputError, "at=0: expected a whole number of at least 1"),
        ({"at": []}, InvalidInputError, "at least one length"),
        ({"protocol": "loo"}, InvalidInputError, "protocol='loo' is not known"),
        ({"protocol": "time"}, InvalidInputError, "no times"),
        (
            {"y": None, "likes": 4},
            InvalidInputError,
            "likes=4: there are no ratings, .* give them as y, or leave it out",
        ),
        (
            {"model": Popularity},
            InvalidTypeError,
            r"Popularity is a class, expected a model of it, such as Popularity\(\)",
        ),
        ({"model": BaseEstimator()}, InvalidTypeError, "has no method fit"),
        ({"model": {"popularity": Popularity()}}, InvalidInputError, "give yours another name"),
    ],
)
def test_bad_input(options, error, message) -> None:
    with pytest.raises(error, match=message):
        evaluate_recommendations(**{"model": Popularity(), "X": X, "y": Y, **options})


@pytest.mark.evidence
def test_figures_of_movielens_100k(data_dir) -> None:
    """Popularity on a random fifth of each user, as others measured it."""
    from cofactor.datasets import load_ratings

    data = load_ratings("ml-100k")
    found = evaluate_recommendations({}, data.X, data.y, n_splits=2, at=(10, 20), likes=4)
    figures = {"ndcg@10": 0.176, "precision@10": 0.136, "capped_recall@20": 0.219, "map@10": 0.089}
    figures |= {"any_ndcg@10": 0.221, "graded_ndcg@10": 0.168}
    for metric, value in figures.items():
        assert found.mean("popularity", metric).mean == pytest.approx(value, abs=0.006)
    assert found.mean("popularity", "novelty@10").mean == pytest.approx(1.43, abs=0.02)


@pytest.mark.parametrize("protocol", ["per-user", "new-users"])
def test_implicit_models_see_interactions_and_recommenders_ratings(protocol: str) -> None:
    ratings = OrdinalProbit(2, n_sweeps=12, burn_in=4)
    models = {
        "ease": EASE(10.0, random_state=0),
        "recommender": Recommender(EASE(10.0, random_state=0), ratings, random_state=0),
    }
    found = evaluate_recommendations(models, X, Y, protocol, at=5, likes=4)
    equal = evaluate_recommendations({"ease": EASE(10.0, random_state=0)}, X, np.full(len(Y), 3.0), protocol, at=5)
    assert found.mean("ease", "any_ndcg@5").mean == pytest.approx(equal.mean("ease", "ndcg@5").mean)
    assert np.isfinite(found.mean("recommender", "ndcg@5").mean)


def test_interactions_alone_need_no_ratings() -> None:
    a, b = (
        evaluate_recommendations(EASE(10.0, random_state=0), X, y, at=5).mean("EASE", "ndcg@5")
        for y in (None, np.ones(len(Y)))
    )
    assert a.mean == b.mean


# ---------------------------------------------------------------- over users, of chances, of counts


def test_a_comparison_is_tested_over_the_users_of_an_evaluation() -> None:
    models = {"ALS": ALS(3, 1.0, random_state=0), "EASE": EASE(10.0, random_state=0)}
    comparison = compare(models, {"toy": DATA}, n_splits=2, at=5, likes=4)
    direct = evaluate_recommendations(models, X, Y, "per-user", 2, 0, at=5, likes=4)
    found = comparison.over_users("toy")
    place = [found.users.tolist().index(str(user)) for user in direct.users]
    assert found.methods == direct.methods
    for method in direct.methods:
        for metric in ("ndcg@5", "novelty@5"):
            np.testing.assert_allclose(found.of(method, metric)[place], direct.of(method, metric), atol=1e-6)
    lines = comparison.statistics("ndcg@5").over_users
    assert list(lines) == [f"toy: {line}" for line in direct.tests("ndcg@5")]
    assert len(lines) == 3
    assert comparison.statistics("coverage@5").over_users == ()  # one number for all lists


def test_differences_over_users_are_corrected_for_their_number() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(50)
    values = {"a": base, "b": base + 0.02 + 0.1 * rng.standard_normal(50), "c": base + 0.3 * rng.standard_normal(50)}
    scores = RecommendationScores({name: {"mrr@5": one} for name, one in values.items()}, {}, np.arange(50))
    pairs = {}
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        gap = values[one] - values[other]
        pairs[one, other] = 2 * norm.sf(abs(gap.mean()) / (gap.std(ddof=1) / np.sqrt(50)))
    falling = sorted(pairs.values())
    corrected = np.maximum.accumulate(np.minimum(1, np.array(falling) * [3, 2, 1]))
    told = sorted(float("0" + line.split("corrected p = ")[1].split(":")[0]) for line in scores.tests("mrr@5"))
    np.testing.assert_allclose(told, corrected, atol=6e-4)


class Chances(Oracle):
    """Says how likely users interact with its items."""

    def recommend(self, users, n=10, exclude_seen=True):
        ids, scores = super().recommend(users, n, exclude_seen)
        return Recommendations(np.asarray(users), ids, scores, 0.02 * np.abs(np.sin(scores)), None)


def _held_out(p: np.ndarray, n: int, ordered: bool) -> np.ndarray:
    """Return how likely items are among n that are held out; those left out have small chances each."""

    def chances(t: float) -> np.ndarray:
        return t * p / (1 + t * p) if ordered else t * p / (1 + (t * p) ** 4) ** 0.25

    return chances(float(optimize.brentq(lambda t: chances(t).sum() + t * (1 - p.sum()) - n, 0, 1e3, xtol=1e-12)))


@pytest.mark.parametrize("splitter", [PerUserHoldout(0.5, 2, random_state=3), UserLast(0.5, times=np.arange(len(Y)))])
def test_chances_of_interactions_are_compared_with_what_was_held_out(splitter) -> None:
    """Of a random part; the last ones come by themselves."""
    rng = np.random.default_rng(1)
    model = Chances(rng.random((60, 40)))
    found = evaluate_recommendations(model, X, Y, splitter, at=7)
    bins = found.interactions["Chances"]
    chances, held_out = [], []
    for train, test in splitter.split(X):
        fitted = Chances(model.table).fit(X[train], None)
        for user in np.unique(X[test, 0]).tolist():
            mine = set(X[test][X[test, 0] == user, 1].tolist())
            listed = fitted.recommend([user], 7)
            p = listed.p_interact[0]
            chances += _held_out(p, len(mine), isinstance(splitter, UserLast)).tolist()
            held_out += [item in mine for item in listed.items[0].tolist()]
    place = np.searchsorted(bins.edges, chances, side="left") - 1
    for k in np.unique(place):
        assert bins.counts[k] == (place == k).sum()
        assert bins.predicted[k] == pytest.approx(np.array(chances)[place == k].mean())
        assert bins.observed[k] == pytest.approx(np.array(held_out)[place == k].mean())
    assert bins.counts.sum() == len(chances)
    assert "P(interact) of Chances, to be among the held-out items, predicted / observed: ." in found.text()
    assert found.summary()["Chances"]["p_interact"]["items"] == bins.counts.tolist()
    assert "popularity" not in found.interactions


class Counting(Oracle):
    """Keeps what it was given."""

    given: ClassVar[list[InteractionDataset]] = []

    def fit(self, X):
        Counting.given.append(X)
        return Oracle.fit(self, X.X, None)


def test_counts_are_given_as_counts() -> None:
    counts, times = np.arange(1.0, len(X) + 1), np.arange(len(X)) * 60
    Counting.given.clear()
    found = evaluate_recommendations(Counting(tables()), X, counts=counts, time=times, at=5)
    (given,) = Counting.given
    assert given.holds_interactions
    rows = (given.timestamps / 60).astype(int)
    assert np.array_equal(given.y, counts[rows])
    assert np.array_equal(given.X.astype(int), X[rows])
    assert found.mean("Counting", "graded_ndcg@5").mean == found.mean("Counting", "ndcg@5").mean  # counts are no gains
    with pytest.raises(InvalidInputError, match="counts: there are ratings already|there are ratings already"):
        evaluate_recommendations(EASE(), X, Y, counts=counts)


def test_a_comparison_of_interactions() -> None:
    interactions = InteractionDataset("plays", X, 1.0 + X[:, 0] % 3, None)
    found = compare({"EASE": EASE(10.0, random_state=0)}, interactions, at=5, n_splits=1)
    direct = evaluate_recommendations({"EASE": EASE(10.0, random_state=0)}, X, counts=interactions.y, at=5, n_splits=1)
    measured = next(one.measures for one in found.results if one.method == "EASE")
    assert measured["ndcg@5"] == pytest.approx(direct.mean("EASE", "ndcg@5").mean)
    with pytest.raises(InvalidInputError, match="'plays' holds interactions, and no ratings to predict"):
        compare({"ALS": ALS(2, 1.0)}, interactions)
    with pytest.raises(InvalidInputError, match="'plays' holds interactions, and no ratings"):
        compare({"EASE": EASE()}, interactions, at=5, likes=1)


@pytest.mark.parametrize(
    "make", [lambda: InteractionDataset("clicks", X, np.ones(len(X)), None), lambda: EASE().fit(X).ratings_]
)
def test_models_of_ratings_refuse_interactions(make) -> None:
    interactions = make()
    refused = "these are interactions, without ratings, .* Recommender, EASE, ImplicitALS"
    with pytest.raises(InvalidInputError, match=refused):
        MMMF(2, 1.0).fit(interactions)
    ratings = RatingDataset("stars", X, Y, DATA.scale)
    assert EASE().fit(ratings).ratings_.n_ratings == len(X)
    assert Recommender(EASE()).fit(interactions).rating_model_ is None
    model = Recommender(EASE()).fit(interactions)
    for name in ("predict", "predict_proba", "decision_function"):
        assert hasattr(Recommender(EASE()), name)
        assert not hasattr(Recommender(EASE(), None), name)
        with pytest.raises(AttributeError, match="fitted to interactions alone, and predicts no ratings"):
            getattr(model, name)
