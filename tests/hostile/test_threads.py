"""One object in several threads at once: it is whole after fits, as one of them left it, and fold-ins do not mix."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from cofactor.ratings import ALS, EASE, OrdinalProbit


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


def test_fold_ins_at_once_are_as_one_after_the_other() -> None:
    X = np.argwhere(np.random.default_rng(0).random((30, 20)) < 0.4)
    model = OrdinalProbit(2, n_sweeps=6, burn_in=2, random_state=0).fit(X, 1.0 + X.sum(axis=1) % 5)

    def folded(k: int) -> float:
        new = model.fold_in([(f"new {k}", i) for i in range(k % 15 + 1)], [1 + (k + i) % 5 for i in range(k % 15 + 1)])
        return float(new.predict([(f"new {k}", 5)])[0])

    n = 100 * int(os.environ.get("COFACTOR_HOSTILE", "1"))
    with ThreadPoolExecutor(n) as pool:
        assert list(pool.map(folded, range(n))) == [folded(k) for k in range(n)]
