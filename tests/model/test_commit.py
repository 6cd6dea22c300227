"""A fit takes effect whole or not at all."""

from typing import Any

import pytest
from sklearn.base import BaseEstimator

from cofactor.model.commit import committed, learned_names


class Model(BaseEstimator):
    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def fit(self, values: list[float], keep: tuple[str, ...] = (), end: type[BaseException] | None = None) -> Any:
        with committed(self, keep=keep) as fitted:
            fitted.seen_ = getattr(self, "seen_", 0) if keep else 0
            fitted.seen_ += len(values)
            if len(values) > 1:
                fitted.spread_ = max(values) - min(values)
            if end is not None:
                raise end
        return self


def test_a_refit_leaves_nothing_of_the_first_fit() -> None:
    model = Model().fit([1.0, 2.0])
    assert model.spread_ == 1
    model.fit([1.0])
    assert learned_names(model) == ["seen_"]


@pytest.mark.parametrize("end", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_fit_that_ends_early_changes_nothing(end: type[BaseException]) -> None:
    model = Model().fit([1.0, 2.0])
    before = dict(vars(model))
    with pytest.raises(end):
        model.fit([5.0, 9.0, 1.0], end=end)
    assert vars(model) == before
    fresh = Model()
    with pytest.raises(end):
        fresh.fit([5.0], end=end)
    assert vars(fresh) == {"alpha": 1.0}


def test_a_warm_start_keeps_what_it_names() -> None:
    model = Model().fit([1.0, 2.0]).fit([3.0], keep=("seen_",))
    assert (model.seen_, hasattr(model, "spread_")) == (3, False)


def test_parameters_and_the_settings_of_scikit_learn_stay() -> None:
    model = Model(alpha=3.0)
    model._sklearn_output_config = {"transform": "pandas"}
    model.fit([1.0])
    assert model.alpha == 3.0
    assert model._sklearn_output_config == {"transform": "pandas"}
