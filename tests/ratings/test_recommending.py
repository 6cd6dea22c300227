"""Recommendations ranked by another criterion than scores: an argument, which changes nothing in the model."""

import numpy as np
import pytest

from cofactor.ratings import MMMF, URP, Ensemble, RatingModel

from .reference import planted

PAIRS, RATINGS = planted(30, 24)
MODELS = [URP(3, random_state=0), Ensemble(URP(3), 3, random_state=0)]


def probabilities(model: RatingModel, user: int) -> np.ndarray:
    """Return the probabilities of all levels, for each item of one user."""
    return model.predict_proba([(user, item) for item in model.items_.ids.tolist()])


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_items_are_ranked_by_the_probability_of_being_liked(model: RatingModel) -> None:
    model.fit(PAIRS, RATINGS)
    before = dict(vars(model))
    users = model.users_.ids[:5].tolist()
    items, shares = model.recommend(users, 24, exclude_seen=False, at_least=4)
    for user, row, values in zip(users, items.tolist(), shares, strict=True):
        liked = probabilities(model, user)[:, 3:].sum(axis=1)
        expected = dict(zip(model.items_.ids.tolist(), liked.tolist(), strict=True))
        np.testing.assert_allclose(values, [expected[item] for item in row], rtol=1e-12)
        assert np.all(np.diff(values) <= 0)
    assert vars(model) == before
    scores = model.recommend(users, 3)[1]
    assert np.array_equal(model.recommend(users, 3)[1], scores)


def test_a_model_without_probabilities_says_so() -> None:
    model = MMMF(3, 1.0, random_state=0).fit(PAIRS, RATINGS)
    for argument in ({"at_least": 4}, {"quantile": 0.9}):
        with pytest.raises(ValueError, match="needs probabilities of levels, which MMMF does not have") as caught:
            model.recommend([0], **argument)
        assert caught.value.argument in argument
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("n", [10**9, np.int64(10**9), 10**30])
def test_more_items_than_memory_holds_are_refused(n: int) -> None:
    model = MMMF(3, 1.0, random_state=0).fit(PAIRS, RATINGS)
    with pytest.raises(ValueError, match=r"n=10+ for 2 users asks for 2,000,[0,]+ items, .*COFACTOR_MAX_CELLS"):
        model.recommend([0, 1], n)
    assert model.recommend([0, 1], 1000)[0].shape == (2, 1000)


def test_masks_and_words_are_no_candidates_and_no_flags() -> None:
    model = MMMF(3, 1.0, random_state=0).fit(PAIRS, RATINGS)
    mask = np.arange(len(model.items_)) % 2 == 0
    for given in (mask, mask.tolist()):
        with pytest.raises(TypeError, match=r"^candidates holds True and False, .* model\.items_\.ids\[mask\]$"):
            model.recommend([0], candidates=given)
    assert model.recommend([0], 3, candidates=model.items_.ids[mask])[0].shape == (1, 3)
    with pytest.raises(TypeError, match=r"^exclude_seen='no': expected True or False$"):
        model.recommend([0], exclude_seen="no")
