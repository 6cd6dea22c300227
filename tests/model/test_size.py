"""Parameters that would take all memory are refused before anything is allocated."""

import numpy as np
import pytest

from cofactor.errors import InvalidInputError
from cofactor.labels import MODELS as LABEL_MODELS
from cofactor.labels import TRANSFORMERS
from cofactor.ratings import MODELS, Ensemble, OrdinalProbit
from cofactor.warming import _small

PAIRS = np.array([(u, i) for u in range(12) for i in range(10) if (u + 2 * i) % 3])
RATINGS = 1.0 + (PAIRS[:, 0] * PAIRS[:, 1] + PAIRS[:, 1]) % 5
GROWING = ("n_factors", "n_components", "n_members")
KEPT = (*GROWING, "n_sweeps", "n_chains")  # a label model keeps no draws


def settings(models: dict, keys: tuple[str, ...] = GROWING) -> list[tuple[str, str]]:
    return [(name, key) for name, kind in models.items() for key in keys if key in kind().get_params(deep=False)]


@pytest.mark.parametrize(("name", "key"), settings(MODELS, KEPT))
def test_a_rating_model_ends_or_says_what_it_would_take(name, key, monkeypatch):
    monkeypatch.setenv("COFACTOR_MAX_FIT", "300")  # less than two factors take
    y = np.where(RATINGS > 2, 1.0, -1.0) if name == "BinaryMMMF" else RATINGS
    model = _small(MODELS[name], {key: 10**9})
    with pytest.raises(InvalidInputError, match=r"=1000000000.*: a fit would take .* GiB, and more than 300"):
        model.fit(PAIRS, y)
    assert not hasattr(model, "users_")


@pytest.mark.parametrize(("name", "key"), settings({**LABEL_MODELS, **TRANSFORMERS}))
def test_a_label_model_ends_or_says_what_it_would_take(name, key, monkeypatch):
    monkeypatch.setenv("COFACTOR_MAX_FIT", "100")
    X = np.random.default_rng(0).random((24, 5))
    model = _small({**LABEL_MODELS, **TRANSFORMERS}[name], {key: 10**9})
    with pytest.raises(InvalidInputError, match=r"=1000000000: a fit .*would take .* GiB, and more than 100"):
        model.fit(X, (X[:, :4] > X[:, 1:]).astype(int))


@pytest.mark.parametrize(
    "model",
    [
        OrdinalProbit(10**9),
        OrdinalProbit(n_sweeps=10**9),
        OrdinalProbit(n_chains=10**9),
        Ensemble(n_members=10**9),
        MODELS["Attitude"](10**9),
    ],
    ids=repr,
)
def test_what_no_machine_holds_is_refused_as_it_is(model):
    with pytest.raises(InvalidInputError, match=r"GiB.*COFACTOR_MAX_FIT to a larger number$"):
        model.fit(PAIRS, RATINGS)


def test_a_larger_limit_lets_it_begin(monkeypatch):
    model = OrdinalProbit(2, implicit=None, n_sweeps=4, burn_in=2, random_state=0)
    monkeypatch.setenv("COFACTOR_MAX_FIT", "100")
    with pytest.raises(InvalidInputError):
        model.fit(PAIRS, RATINGS)
    monkeypatch.setenv("COFACTOR_MAX_FIT", "100000")
    assert len(model.fit(PAIRS, RATINGS).samples_["U"]) == 2
