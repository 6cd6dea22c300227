"""A fit takes effect whole or not at all: nothing of an earlier one remains, unless a warm start goes on from it."""

import numpy as np
import pytest

from cofactor.ratings import (
    ALS,
    GPLVM,
    HMF,
    MMMF,
    Ensemble,
    GibbsMMMF,
    OrdinalProbit,
    RatingModel,
    RatingNMF,
    RatingSVD,
)

from .reference import planted

FIRST, SECOND = planted(24, 18), planted(14, 11, noise=0.3)
SAMPLED = {"n_sweeps": 12, "burn_in": 5, "random_state": 0}

#: An unfitted model, and the parameters of its second fit.
REFITS: list[tuple[RatingModel, dict]] = [
    (MMMF(3, "auto", random_state=0), {"alpha": 1.0}),
    (ALS(3, "auto", random_state=0), {"alpha": 1.0, "alpha_bias": None}),
    (RatingNMF(3, 1.0, random_state=0), {"loss": "kl", "alpha": 0.1}),
    (RatingSVD(3, random_state=0), {"fill": "item-mean"}),
    (HMF(3, 1.0, random_state=0), {"decoding": "count"}),
    (GPLVM(3, 1.0, eta0=0.1, random_state=0), {"early_stopping": False, "max_iter": 5, "tol": 0.5}),
    (OrdinalProbit(2, n_implicit=3, n_chains=2, **SAMPLED), {"implicit": None, "n_chains": 1}),
    (GibbsMMMF(2, implicit="low-rank", n_implicit=3, **SAMPLED), {"implicit": None}),
    (Ensemble(MMMF(3, 1.0), 3, random_state=0), {"n_members": 2}),
]


def contents(model: RatingModel) -> dict[str, object]:
    """Return everything a model has, by name, in a form that == compares; times differ between fits."""
    return {name: plain(value) for name, value in vars(model).items() if name not in {"seconds_", "callback"}}


def plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes() if value.dtype != object else value.tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, RatingModel):
        return type(value).__name__, contents(value)
    if hasattr(value, "__dict__"):
        return {key: plain(part) for key, part in vars(value).items() if key != "seconds" and not key.startswith("_")}
    return value


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "params"), REFITS, ids=lambda value: type(value).__name__)
def test_a_refit_leaves_nothing_of_the_first_fit(model: RatingModel, params: dict) -> None:
    model.fit(*FIRST)
    again = model.set_params(**params).fit(*SECOND)
    alone = type(model)(**model.get_params(deep=False)).fit(*SECOND)
    assert contents(again) == contents(alone)


def test_shadow_users_and_features_are_gone_after_a_refit_without() -> None:
    pairs, ratings = FIRST
    features = {int(user): [int(user) % 3] for user in np.unique(pairs[:, 0])}
    shadow = (pairs + np.array([1000, 0]), ratings)
    model = OrdinalProbit(2, n_implicit=3, **SAMPLED).fit(pairs, ratings, user_features=features, shadow=shadow)
    assert model.is_shadow_.any()
    assert contents(model.fit(*SECOND)) == contents(OrdinalProbit(2, n_implicit=3, **SAMPLED).fit(*SECOND))


def test_a_fit_that_fails_half_way_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MMMF(3, 1.0, random_state=0).fit(*FIRST)
    before = contents(model)

    def solve(self: MMMF, *args: object, **options: object) -> None:
        self.U_ = None
        raise RuntimeError("half way")

    monkeypatch.setattr(MMMF, "solve", solve)
    with pytest.raises(RuntimeError, match="half way"):
        model.fit(*SECOND)
    assert contents(model) == before
