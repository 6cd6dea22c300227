"""Recommendations by models drawn from a posterior: all items by some samples, the best of them by all."""

import copy
import tracemalloc

import numpy as np
import pytest

import cofactor.ratings
from cofactor.kernels.threads import thread_limit
from cofactor.ratings import BPMF, Ensemble, GibbsMMMF, OrdinalProbit, RatingModel
from cofactor.ratings.blocks import BLOCK_BYTES
from cofactor.ratings.sampled.samples import N_COARSE, N_RESCORED
from cofactor.ratings.topn import n_scored
from cofactor.warming import _small

MODELS = {
    "OrdinalProbit": OrdinalProbit(2, implicit=None, n_sweeps=90, burn_in=20, random_state=0),
    "BPMF": BPMF(2, n_sweeps=90, burn_in=20, random_state=0),
    "GibbsMMMF": GibbsMMMF(2, n_sweeps=90, burn_in=20, random_state=0),
    "Ensemble": Ensemble(
        OrdinalProbit(2, implicit=None, n_sweeps=40, burn_in=10), n_members=2, n_jobs=1, random_state=0
    ),
}


def planted(n: int, m: int, n_ratings: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ratings 1..5 from a product of factors; every item has one."""
    rng = np.random.default_rng(0)
    cells = np.unique(np.concatenate([rng.integers(0, n * m, n_ratings), rng.integers(0, n, m) * m + np.arange(m)]))
    X = np.column_stack(np.divmod(cells, m))
    x = rng.normal(size=(n, 2))[X[:, 0]] * rng.normal(size=(m, 2))[X[:, 1]]
    return X, np.clip(np.rint(3 + x.sum(axis=1) + 0.5 * rng.normal(size=len(X))), 1, 5)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest) -> RatingModel:
    """Return a model with more samples than a ranking goes through, and of more items than are looked at twice."""
    return MODELS[request.param].fit(*planted(20, 400, 2700))


@pytest.mark.parametrize("criterion", [{}, {"quantile": 0.7}])
def test_the_best_are_nearly_those_of_all_samples(fitted, criterion):
    users, items = fitted.users_.ids, fitted.items_.ids
    found, scores = fitted.recommend(users, 5, exclude_seen=False, **criterion)
    everything, values = fitted.recommend(users, 400, exclude_seen=False, **criterion)  # nothing is left to miss
    assert len(items) == 400 > 8 * n_scored(5)
    members = getattr(fitted, "members_", [fitted])
    assert sum(len(member.samples_["U"]) for member in members) > N_RESCORED > N_COARSE
    same = [len({*a} & {*b}) / 5 for a, b in zip(found.tolist(), everything[:, :5].tolist(), strict=True)]
    assert np.mean(same) > 0.97
    assert np.mean(values[:, :5] - scores) < 1e-3
    if not criterion:
        pairs = np.column_stack([np.repeat(users, 5), found.ravel()])
        assert np.array_equal(scores.ravel(), fitted.decision_function(pairs))


@pytest.mark.parametrize("criterion", [{}, {"quantile": 0.7}])
def test_threads_and_other_users_do_not_change_a_bit(fitted, criterion, monkeypatch):
    users = fitted.users_.ids
    expected = fitted.recommend(users, 5, **criterion)
    monkeypatch.setattr("cofactor.ratings.blocks.BLOCK_BYTES", 40_000)
    monkeypatch.setattr("cofactor.ratings.blocks._COLUMNS", 31)
    for threads in (1, 3):
        with thread_limit(threads):
            found = fitted.recommend(users, 5, **criterion)
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
    for k in (0, 7):
        alone = fitted.recommend(users[k : k + 1], 5, **criterion)
        assert all(np.array_equal(a[0], b[k]) for a, b in zip(alone, expected, strict=True))


def peak(job) -> int:
    """Return the bytes that a call takes at most; its result counts."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_items():
    """40 users and 30,000 items are 1.2 million pairs, whose probabilities alone took 48 MB."""
    model = OrdinalProbit(2, implicit=None, n_sweeps=8, burn_in=4, random_state=0).fit(*planted(40, 30_000, 100))
    for options in ({}, {"quantile": 0.9}):
        with thread_limit(2):
            assert peak(lambda o=options: model.recommend(model.users_.ids, **o)) < 2 * BLOCK_BYTES + (4 << 20)


#: Models whose scores are products of factors and biases, as those of MMMF are.
PLAIN = {"ALS", "PMF", "RatingNMF", "RatingSVD", "BinaryMMMF", "IPMMMF"}


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in cofactor.ratings.MODELS if name not in PLAIN])
def test_no_model_takes_much_for_a_large_catalogue(name, monkeypatch):
    """400 users and 1,600 items; scores of all pairs would take 2.5 MB, probabilities 25; blocks are an eighth."""
    monkeypatch.setattr("cofactor.ratings.blocks.BLOCK_BYTES", BLOCK_BYTES // 8)
    X, y = planted(400, 1600, 3200)
    members = {"estimator": _small(cofactor.ratings.MODELS["MMMF"], {})} if name == "Ensemble" else {}
    model = _small(cofactor.ratings.MODELS[name], members)
    model.fit(X, y)
    with thread_limit(2):
        assert peak(lambda: model.recommend(model.users_.ids)) < 2.5e6
        if hasattr(model, "predict_proba"):
            assert peak(lambda: model.recommend(model.users_.ids[:20], quantile=0.9)) < 2.5e6


def test_fold_ins_share_what_they_leave_and_a_new_fit_or_update_does_not():
    X, y = planted(30, 150, 1500)
    model = BPMF(2, n_sweeps=90, burn_in=20, random_state=0).fit(X, y)
    new = [("new", 3), ("new", 5)], [1, 5]
    first, second = model.fold_in(*new), model.fold_in(*new)
    assert first.samples_["V"] is second.samples_["V"]
    assert np.array_equal(first.samples_["U"], second.samples_["U"])
    where = np.linspace(0, 69, len(first.samples_["V"])).round().astype(int)
    assert np.array_equal(first.samples_["V"], model.samples_["V"][where])
    for change in (lambda m: m.update([(0, 9), (7, 9)], [5, 5]), lambda m: m.set_params(random_state=1).fit(X, y)):
        other = copy.copy(model)
        change(other)
        assert np.array_equal(other.fold_in(*new).samples_["V"], other.samples_["V"][where])
        assert not np.array_equal(other.samples_["V"], model.samples_["V"])
    assert model.fold_in(*new).samples_["V"] is first.samples_["V"]


@pytest.mark.parametrize("name", ["OrdinalProbit", "BPMF", "GibbsMMMF"])
def test_a_cold_user_is_the_same_to_a_fold_in(name):
    """Nothing that a fold-in is given says anything of whom nobody knows."""
    model = MODELS[name].fit(*planted(30, 150, 1500))
    folded = model.fold_in([("new", 3), ("new", 5)], [1, 5])
    where = np.linspace(0, 69, len(folded.samples_["U"])).round().astype(int)
    assert np.array_equal(folded.samples_["U"][:, -1], model.samples_["U"][where, -1])
    if "thresholds" in folded.samples_:
        assert np.array_equal(folded.samples_["thresholds"][:, -1], model.samples_["thresholds"][where, -1])
    assert not np.array_equal(folded.samples_["U"][:, 0], folded.samples_["U"][:, -1])
