"""One object is fitted by several threads at once: it is whole afterwards, as one of the fits left it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from cofactor.ratings import ALS, EASE


@pytest.mark.parametrize(
    "model", [ALS(3, alpha=1.0, random_state=0), EASE(alpha=1.0, random_state=0)], ids=["ALS", "EASE"]
)
def test_a_model_is_as_one_of_its_fits_left_it(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.permutation(np.argwhere(rng.random((60, 40)) < 0.3))
    y = rng.integers(1, 6, len(X)) if isinstance(model, ALS) else None
    given = [(X[:n], None if y is None else y[:n]) for n in (len(X), len(X) // 2)]

    def scores(fitted: Any) -> bytes:
        pairs = [(user, item) for user in fitted.users_.ids for item in fitted.items_.ids]
        return bytes(fitted.decision_function(pairs).tobytes())

    expected = {scores(clone(model).fit(*one)) for one in given}
    shared = clone(model)
    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda k: shared.fit(*given[k % 2]), range(8)))
        assert scores(shared) in expected
