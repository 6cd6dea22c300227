"""Similar items and users by brute force; vectors in files, and in an index of approximate nearest neighbours."""

from functools import cache

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from tests.together import together

import cofactor
from cofactor.datasets import make_ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import ALS, BPMF, EASE, HMF, MMMF, OrdinalProbit, RatingSVD
from cofactor.ratings.similar import Embeddings

DATA = make_ratings(60, 40, 3, random_state=0)
MODELS = {
    "ALS": ALS(3, 1.0, random_state=0),
    "MMMF": MMMF(3, 1.0, random_state=0),
    "RatingSVD": RatingSVD(3),
    "BPMF": BPMF(3, n_sweeps=20, burn_in=10, random_state=0),
    "OrdinalProbit": OrdinalProbit(3, n_sweeps=20, burn_in=10, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return cofactor.ratings.MODELS[type(MODELS[request.param]).__name__](**MODELS[request.param].get_params()).fit(
        DATA.X, DATA.y
    )


@cache
def als() -> ALS:
    return clone(MODELS["ALS"]).fit(DATA.X, DATA.y)


def correlations(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Correlate what rows of `own` score with what the others do, row by row."""
    found = np.corrcoef(own.astype(float) @ other.astype(float).T)
    np.fill_diagonal(found, -np.inf)
    return found


@pytest.mark.parametrize("side", ["item", "user"])
def test_they_are_those_whose_scores_are_most_correlated(model, side):
    own, other = (model.V_, model.U_) if side == "item" else (model.U_, model.V_)
    known = model.items_ if side == "item" else model.users_
    expected = correlations(own, other)
    ids, found = getattr(model, f"similar_{side}s")(known.ids[:7], 5, min_ratings=0)
    np.testing.assert_allclose(found, -np.sort(-expected[:7])[:, :5], atol=1e-5)
    np.testing.assert_allclose(
        np.take_along_axis(expected[:7], known.index(ids.ravel()).reshape(7, 5), 1), found, atol=1e-5
    )
    vectors = getattr(model, f"{side}_vectors")().values
    np.testing.assert_allclose(
        (vectors @ vectors.T)[~np.eye(len(own), dtype=bool)], expected[~np.eye(len(own), dtype=bool)], atol=1e-5
    )


GENRES = {item: [float(item % 3 == k) for k in range(3)] for item in range(40)}
NEW = {"new": [0.0, 1.0, 0.0], "other": [0.0, 0.0, 1.0]}
DESCRIBED = ["ALS", "MMMF", "BPMF", "OrdinalProbit"]


@together("name", DESCRIBED)
def test_items_like_new_ones_that_only_features_describe(name):
    model = clone(MODELS[name]).fit(DATA.X, DATA.y, item_features=GENRES)
    ids, found = model.similar_items(["new", 3, "other"], 4, new_items=NEW, min_ratings=0)
    assert np.array_equal(ids[1], model.similar_items([3], 4, min_ratings=0)[0][0])
    cold = model.fold_in_items(item_features=NEW)
    each = [cold.V_[cold.items_.index(["new"])[0]], cold.V_[cold.items_.index(["other"])[0]]]
    scores = np.vstack([each, model.V_]).astype(float) @ model.U_.astype(float).T
    expected = np.corrcoef(scores)[:2, 2:]
    np.testing.assert_allclose(found[[0, 2]], -np.sort(-expected)[:, :4], atol=1e-4)


def test_what_new_items_need():
    model = clone(MODELS["ALS"]).fit(DATA.X, DATA.y, item_features=GENRES)
    assert set(model.similar_items(["new"], 3, new_items=NEW, candidates=[1, 2])[0][0]) == {1, 2, None}
    plain = als()
    for call, message in (
        (lambda: model.similar_items(["?"], new_items=NEW), "item '\\?' was not in training"),
        (lambda: plain.similar_items(["new"], new_items=NEW), "not given in training"),
        (lambda: model.fold_in([("u", 1)], [3]).similar_items(["new"], new_items=NEW), "comes from a fold-in"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            call()


def test_items_with_few_ratings_are_left_out_and_candidates_are_kept_to():
    model = als()
    counts = model.ratings_.item_counts
    often = set(model.items_.ids[counts >= np.median(counts)].tolist())
    ids, _ = model.similar_items(model.items_.ids, 3, min_ratings=int(np.median(counts)))
    assert set(ids.ravel().tolist()) <= often
    one, two = model.items_.ids[:2]
    ids, similarities = model.similar_items([one, two], 2, candidates=[one, two], min_ratings=0)
    assert ids.tolist() == [[two, None], [one, None]]
    assert np.isneginf(similarities[:, 1]).all()


def test_the_same_bits_from_a_file_and_without_ratings(tmp_path):
    model = BPMF(3, n_sweeps=20, burn_in=10, random_state=0).fit(DATA.X, DATA.y)
    model.save(tmp_path / "model", ratings=False)
    loaded, asked = cofactor.load(tmp_path / "model"), model.items_.ids[:4]
    for ours, theirs in zip(
        model.similar_items(asked, min_ratings=0), loaded.similar_items(asked, min_ratings=0), strict=True
    ):
        assert np.array_equal(ours, theirs)
    with pytest.raises(InvalidInputError, match="saved without its ratings: pass min_ratings=0"):
        loaded.similar_items(asked)


@together(
    ("call", "message"),
    [
        (lambda m: m.similar_items(["?"]), "item '\\?' was not in training: leave it out"),
        (lambda m: m.similar_users(["?"]), "user '\\?' was not in training: fold new users in"),
        (lambda m: m.similar_items(m.items_.ids[:1], 0), "n=0"),
        (lambda m: m.similar_items(m.items_.ids[:1], min_ratings=-1), "min_ratings=-1"),
        (lambda m: m.similar_users(m.users_.ids[:1], candidates=["?"]), "candidates holds no users of training: '\\?'"),
        (lambda m: m.item_vectors("cosine"), "for_='cosine': expected one of 'similarity', 'scores'"),
        (lambda m: m.fold_in([("new", m.items_.ids[0])], [3]).similar_items(m.items_.ids[:1]), "comes from a fold-in"),
        (lambda m: m.item_vectors().save("vectors.txt"), "ends in .npy or .parquet"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(als())


def test_an_id_that_is_known_in_another_type_is_told_as_such():
    numbers = als()
    item, user = numbers.items_.ids[:1].tolist()[0], numbers.users_.ids[:1].tolist()[0]
    for ask, bad, known in (
        (numbers.similar_items, str(item), item),
        (numbers.recommend, str(user), user),
        (EASE().fit([(str(u), str(i)) for u, i in DATA.X.tolist()]).recommend, user, str(user)),
    ):
        with pytest.raises(
            InvalidInputError, match=f"{bad!r} was not in training: it is of type .*, and {known!r} was"
        ):
            ask([bad])


def test_models_without_factors_have_no_such_methods():
    assert not hasattr(HMF(), "similar_items")


def test_vectors_in_files(tmp_path):
    vectors = Embeddings(np.array(["a", "b", 3], dtype=object), np.arange(6, dtype=np.float32).reshape(3, 2))
    vectors.save(tmp_path / "vectors.npy")
    vectors.save(tmp_path / "vectors.parquet")
    assert np.load(tmp_path / "vectors.ids.npy").tolist() == ["a", "b", "3"]
    assert np.array_equal(np.load(tmp_path / "vectors.npy"), vectors.values)
    assert pq.read_table(tmp_path / "vectors.parquet").to_pylist()[1] == {"id": "b", "vector": [2.0, 3.0]}


def test_an_index_of_neighbours_finds_what_exact_search_finds():
    usearch = pytest.importorskip("usearch.index")
    model = als()
    users, items = model.user_vectors("scores"), model.item_vectors("scores")
    index = usearch.Index(ndim=items.values.shape[1], metric="ip")
    index.add(np.arange(len(items.ids)), items.values)
    found = index.search(users.values, 10).keys
    expected, _ = model.recommend(users.ids, 10, exclude_seen=False)
    hits = [len(set(items.ids[one].tolist()) & set(two.tolist())) for one, two in zip(found, expected, strict=True)]
    assert np.mean(hits) >= 9.5
