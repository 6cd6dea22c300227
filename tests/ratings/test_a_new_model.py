"""The model with which docs/architecture.md shows how to add one."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from cofactor import persistence
from cofactor.errors import InvalidInputError

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
X = [(u, i) for u in range(8) for i in range(6) if u * i % 4 != 1]
Y = np.array([1.0 + (u + i) % 5 for u, i in X])


@pytest.fixture
def item_means() -> Any:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    names: dict[str, Any] = {"__name__": "page"}
    exec(next(block for block in blocks if "class ItemMeans" in block), names)
    return names["ItemMeans"]


def test_it_is_an_estimator_like_all(item_means: Any) -> None:
    assert clone(item_means(2.0)).set_params(levels=[1, 5]).get_params()["shrinkage"] == 2.0
    with pytest.raises(InvalidInputError, match="shrinkage=-1: expected a number above 0"):
        item_means(-1).fit(X, Y)


def test_it_predicts_means_folds_in_and_takes_in_what_is_new(item_means: Any) -> None:
    model = item_means(2.0).fit(X, Y)
    own = Y[[i == 3 for _, i in X]]
    mean = (own.sum() + 2 * Y.mean()) / (len(own) + 2)
    assert model.decision_function([(0, 3), (0, "?")]) == pytest.approx([mean, Y.mean()])
    assert model.recommend([0], 6, exclude_seen=False).scores[0] == pytest.approx(np.sort(model.item_means_)[::-1])
    assert model.fold_in([("me", 1)], [5]).predict([("me", 3)]) == model.predict([(0, 3)])
    model.update([(0, "new"), ("x", "new")], [5, 5])
    assert model.decision_function([(1, "new")]) == pytest.approx([(10 + 2 * Y.mean()) / 4])


def test_its_file_holds_what_was_learned_and_no_other_shape(item_means: Any, tmp_path: Path) -> None:
    model, registry = item_means(2.0).fit(X, Y), {"ItemMeans": item_means}
    model.save(tmp_path / "model")
    assert np.array_equal(persistence.load(tmp_path / "model", registry).predict(X), model.predict(X))
    model.item_means_ = model.item_means_[1:]
    model.save(tmp_path / "damaged")
    with pytest.raises(persistence.ModelFileError, match=r"item_means_ must be finite float64 of shape \(6\)"):
        persistence.load(tmp_path / "damaged", registry)
