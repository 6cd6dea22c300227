"""Reasons: contributions sum to scores, changes are those of a fold-in without a rating; and what is refused."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.together import together

import cofactor
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.ratings import (
    ALS,
    BPMF,
    BPR,
    EASE,
    MMMF,
    PMF,
    GibbsMMMF,
    ImplicitALS,
    ImplicitModel,
    LogisticMF,
    OrdinalProbit,
    Recommender,
)

from .ranking.models import fitted as fitted_model
from .ranking.models import interactions_of

LINEAR = ["EASE", "EASE, dual", "EASE, low rank", "ItemKNN", "RP3beta", "Popularity"]


@lru_cache
def rated() -> tuple[np.ndarray, np.ndarray]:
    """Return pairs and ratings 1 to 5 from two planted factors."""
    rng = np.random.default_rng(0)
    U, V, b, c = (rng.normal(size=shape) for shape in ((60, 2), (40, 2), 60, 40))
    z = U @ V.T + 0.5 * (b[:, None] + c) + rng.normal(size=(60, 40))
    mask = rng.random(z.shape) < 0.5
    return np.argwhere(mask), 1 + np.digitize(z, [-1.5, -0.5, 0.5, 1.5])[mask]


def without(model: Any, user: int, items: list[int], interactions: bool = False) -> np.ndarray:
    """Return how much higher scores are with all entries of a user, folded in, than without each of them."""
    X, y = (interactions_of(), None) if interactions else rated()
    mine = np.flatnonzero(X[:, 0] == user)
    mine = mine[np.argsort(X[mine, 1])]
    rows = [(name, k) for name in range(-1, len(mine)) for k in range(len(mine)) if k != name]
    pairs = [(f"without {name}", X[mine[k], 1]) for name, k in rows]
    given = {} if y is None else {"y": [y[mine[k]] for _, k in rows]}
    asked = [(f"without {name}", item) for name in range(-1, len(mine)) for item in items]
    found = model.fold_in(pairs, **given).decision_function(asked).reshape(-1, len(items))
    return (found[0] - found[1:]).T


@together("name", LINEAR)
def test_contributions_of_interactions_sum_to_the_score_and_are_what_it_falls_by(name: str) -> None:
    model, user = fitted_model(name), 103
    items = [0, 7, 70, 203]
    why = model.explain(user, items)
    assert why.scores == pytest.approx(model.decision_function([(user, item) for item in items]), abs=1e-6)
    columns, counts = model.items_.index(items), np.log1p(model.ratings_.item_counts)
    popular = model.level_ * model.popularity_weight_ * counts / counts.max()
    score = model.scores_ if name == "Popularity" else popular
    assert why.intercepts == pytest.approx(score[columns], abs=1e-5)
    assert sorted(why.own_items.tolist()) == sorted(interactions_of()[interactions_of()[:, 0] == user, 1].tolist())
    new = [item for item in items if item not in why.own_items]
    changes = without(model, user, new, interactions=True)
    assert model.explain(user, new).contributions == pytest.approx(changes, abs=1e-5)


def test_counts_and_recency_are_in_the_strengths() -> None:
    X = interactions_of()
    times, counts = np.arange(len(X), dtype=float), 1 + np.arange(len(X)) % 4
    model = EASE(3.0, recency=2.0, popularity_weight=0, counts="linear").fit(X, counts, time=times)
    why = model.explain(103, [0, 7])
    assert why.intercepts == pytest.approx(np.zeros(2), abs=1e-5)
    assert sorted(why.own_ratings.tolist()) == sorted(counts[X[:, 0] == 103].tolist())


@pytest.mark.parametrize(
    "model",
    [ALS(2, 1.0, random_state=0), ALS(2, 1.0, alpha_bias=None, random_state=0), PMF(2, 2.0, random_state=0),
     PMF(2, 0.2, weighted=True, random_state=0)],
    ids=str,
)  # fmt: skip
def test_ridge_regressions_of_users_are_sums_over_ratings(model: Any) -> None:
    X, y = rated()
    weights = np.where(np.arange(len(y)) % 3, 1.0, 2.0)
    model = clone(model).fit(X, y, sample_weight=weights)
    mine = X[:, 0] == 7
    pairs = [("new", item) for item in X[mine, 1]]
    why = model.fold_in(pairs, y[mine]).explain("new", [0, 1, 2])
    base = model.mean_ + model.item_bias_[[0, 1, 2]]
    assert why.intercepts == pytest.approx(base, abs=1e-4)
    # A user of training: what remains besides is what the last round of the fit left.
    assert model.explain(7, [0, 1, 2]).intercepts == pytest.approx(base, abs=0.05)
    # It is linear in each rating, with these weights.
    for k, target in ((0, 5), (3, 1)):
        changed = y[mine].astype(float)
        changed[k] = target
        again = model.fold_in(pairs, changed).explain("new", [0, 1, 2])
        rest = y[mine][k] - model.mean_ - model.item_bias_[X[mine, 1][k]]
        place = why.own_items.tolist().index(X[mine, 1][k])
        by_one = why.contributions[:, place] / rest
        assert again.scores - why.scores == pytest.approx(by_one * (target - y[mine][k]), abs=1e-4)


def test_implicit_als_is_a_sum_over_interactions() -> None:
    model, mine = (
        ImplicitALS(3, 0.01, unobserved=0.4, popularity_weight=0, random_state=0).fit(interactions_of()),
        interactions_of()[interactions_of()[:, 0] == 103, 1],
    )
    why = model.fold_in([("new", item) for item in mine]).explain("new", [0, 7, 70])
    assert why.intercepts == pytest.approx(np.zeros(3), abs=1e-6)
    assert np.abs(model.explain(103, [0, 7, 70]).intercepts).max() < 0.02
    assert why.contributions.max() > 0.1


def test_logistic_mf_is_near_a_fold_in_without_the_interaction() -> None:
    model = LogisticMF(3, 1.0, tol=1e-9, max_iter=500, random_state=0).fit(interactions_of())
    found = model.explain(103, [0, 7, 70]).contributions
    true = without(model, 103, [0, 7, 70], interactions=True)
    assert np.corrcoef(found.ravel(), true.ravel())[0, 1] > 0.97
    assert (found * true).sum() / (found**2).sum() == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    "model",
    [OrdinalProbit(2, implicit=None, n_sweeps=300, random_state=0), BPMF(2, n_sweeps=300, random_state=0)],
    ids=["OrdinalProbit", "BPMF"],
)
def test_samplers_tell_the_change_of_a_fold_in_without_the_rating(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = clone(model).fit(*rated())
    items = list(range(0, 40, 4))
    found = model.explain(1, items)
    assert found.intercepts is None
    monkeypatch.setattr(type(model), "_n_fold_in_samples", 10_000)  # all of them
    true = np.zeros_like(found.contributions)
    for seed in range(2):
        model.seed_ = seed
        true += without(model, 1, items) / 2
    assert np.corrcoef(found.contributions.ravel(), true.ravel())[0, 1] > 0.9
    slope = (found.contributions * true).sum() / (found.contributions**2).sum()
    assert slope == pytest.approx(1, abs=0.2)


def test_a_model_of_drift_explains_too() -> None:
    X, y = rated()
    times = 3600.0 * np.arange(len(y))
    model = OrdinalProbit(2, implicit=None, time=True, n_sweeps=60, burn_in=20, random_state=0).fit(X, y, time=times)
    why = model.explain(1, [0, 4])
    assert why.scores == pytest.approx(model.decision_function([(1, 0), (1, 4)], time=times.max()))
    assert np.isfinite(why.contributions).all()


def test_a_recommender_mixes_reasons_for_interactions_and_likes() -> None:
    X, y = rated()
    probit = OrdinalProbit(2, n_implicit=2, n_sweeps=30, burn_in=10)
    model = Recommender([EASE(20.0), ImplicitALS(2)], probit, random_state=0).fit(X, y)
    seen = set(X[X[:, 0] == 3, 1].tolist())
    items = [item for item in range(40) if item not in seen][:4]
    why = model.explain(3, items)
    assert why.contributions == pytest.approx(why.parts["interaction"] + why.parts["like"])
    ranked = model.recommend([3], n=4, candidates=items)
    by_item = dict(zip(ranked.items[0].tolist(), ranked.scores[0], strict=True))
    assert why.scores == pytest.approx([by_item[item] for item in items], abs=1e-4)
    liked = np.array([0.0, 0, 0, 1, 1])
    chances = model.rating_model_.predict_proba([(3, item) for item in items]) @ liked
    rows = model.items_.index(items)
    changes = model.rating_model_.contributions(3, rows, liked)
    assert why.parts["like"] == pytest.approx(changes / chances[:, None])
    # Of EASE alone it is what the logarithm falls by without the interaction.
    alone = Recommender(EASE(20.0), None, random_state=0).fit(X)
    part = alone.implicit_models_[0]
    scores = part.decision_function([(3, item) for item in items])
    (slope, bend), knot = alone.weights_[0], alone.knots_[0]

    def of_interactions(scores: np.ndarray) -> np.ndarray:
        log_interactions = part.log_interactions(scores)
        return slope * log_interactions + bend * np.maximum(log_interactions - knot, 0)

    fallen = of_interactions(scores)[:, None] - of_interactions(scores[:, None] - part.explain(3, items).contributions)
    assert alone.explain(3, items).contributions == pytest.approx(fallen, abs=1e-3)
    assert alone.explain(3, items).kind == "interaction"
    assert "like" not in alone.explain(3, items).parts
    new = model.fold_in([("new", 0), ("new", 1)]).explain("new", [5])
    assert (new.kind, new.parts["like"].tolist()) == ("interaction", [[0.0, 0.0]])


def test_reasons_come_as_rows_and_as_frames(tmp_path: Path) -> None:
    model = fitted_model("EASE")
    why = model.explain(103, [7, 0])
    explanation = why.explanation(2)
    assert [group["item"] for group in explanation.groups()] == [7, 0]
    for group, score in zip(explanation.groups(), why.scores, strict=True):
        assert [term["kind"] for term in group["terms"]] == ["interaction", "interaction", "rest", "intercept"]
        assert sum(term["contribution"] for term in group["terms"]) == pytest.approx(score)
    for kind in ("pandas", "polars", "pyarrow"):
        frame = why.to_frame(kind)
        assert type(frame).__module__.startswith(kind)
        assert len(frame) == 2 * (len(why.own_items) + 1)
    first = why.raising(1)[0][0]
    assert why.contributions[0, first] == why.contributions[0].max() > 0
    model.save(tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").explain(103, [7, 0]).contributions, why.contributions)


@together(
    ("model", "why"),
    [
        (BPR(), "this BPR are no sum .* those of EASE, ImplicitALS, ItemKNN, .* can be explained"),
        (MMMF(2, 1.0), "this MMMF are no sum .* those of ALS, BPMF, OrdinalProbit, PMF can"),
        (PMF(2, 1.0, link="logistic", solver="lbfgs"), "this PMF with link='logistic' are no sum"),
        (Recommender(BPR(max_iter=2), None), "this BPR are no sum"),
        (Recommender(EASE(), GibbsMMMF(2, n_sweeps=4, burn_in=2)), "this GibbsMMMF are no sum"),
    ],
)
def test_models_that_cannot_explain_have_no_such_method(model: Any, why: str) -> None:
    """Fitted or not; the error says why, and names those that have it."""
    assert not hasattr(model, "explain")
    X, y = rated()
    model.fit(X, *(() if isinstance(model, ImplicitModel) or getattr(model, "ratings", 0) is None else (y,)))
    with pytest.raises(AttributeError, match=why):
        _ = model.explain


def test_what_cannot_be_explained_is_refused(tmp_path: Path) -> None:
    model, (X, y) = fitted_model("EASE"), rated()
    with pytest.raises(InvalidInputError, match="user 7 was not in training: fold new users in"):
        model.explain(7, [0])
    with pytest.raises(InvalidInputError, match="item 1 was not in training"):
        model.explain(103, [0, 1])
    with pytest.raises(InvalidTypeError, match=r"^user=\[103\]: expected the id of one user; call it for each of them"):
        model.explain([103], [0])
    with pytest.raises(InvalidInputError, match="expected at least one item"):
        model.explain(103, [])
    model.save(tmp_path / "lean", ratings=False)
    with pytest.raises(InvalidInputError, match="saved without its interactions: what is to be explained"):
        cofactor.load(tmp_path / "lean").explain(103, [0])
    als = ALS(2, 1.0, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="user 'new' has no ratings, of which one could") as error:
        als.fold_in([("new", "?"), ("old", 0)], [1, 2]).explain("new", [0])
    assert error.value.argument == "user"
    own = int(X[X[:, 0] == 1, 1][0])
    assert own in als.explain(1, [own]).own_items  # an item that the user rated has its own rating among the reasons
    why = fitted_model("EASE").explain(103, [7])
    mine = why.own_items.tolist()[0]
    again = fitted_model("EASE").explain(103, [mine])
    assert again.contributions[0, again.own_items.tolist().index(mine)] == pytest.approx(0, abs=1e-6)
