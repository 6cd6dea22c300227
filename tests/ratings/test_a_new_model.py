"""The models with which docs/architecture.md shows how to add one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.skeletons import ROOT, block_of, n_passed

from cofactor import persistence
from cofactor.errors import InvalidInputError

PAGE = "architecture.md"
X = [(u, i) for u in range(8) for i in range(6) if u * i % 4 != 1]
Y = np.array([1.0 + (u + i) % 5 for u, i in X])


@pytest.fixture
def item_means() -> Any:
    names: dict[str, Any] = {"__name__": "page"}
    exec(block_of(PAGE, "class ItemMeans"), names)
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


@pytest.mark.evidence
@pytest.mark.processes
def test_it_passes_the_contract_tests(tmp_path: Path) -> None:
    """A reader begins with it: it is registered as the page says, and its tests run."""
    registered = """
from cofactor.ratings import MODELS
from .item_means import ItemMeans

MODELS["ItemMeans"] = ItemMeans
CASES = {"MMMF": CASES["MMMF"], "ItemMeans": Case(ItemMeans())}  # the others are tested where they stand
"""
    taste = "fold_in_learns or levels_that_nobody_used or ratings_are_all_equal or any_increasing_scale"
    insertions = {
        "item_means.py": (block_of(PAGE, "class ItemMeans"), ""),
        "models.py": (registered, "\n#: Runs a test for each case"),
        "test_input.py": ('\n    "shrinkage": [0, -1.0],', '\n    "levels": [['),
    }
    assert n_passed(ROOT / "tests" / "contract", insertions, f"ItemMeans and not ({taste})", tmp_path) > 45


@pytest.mark.evidence
@pytest.mark.processes
def test_that_of_interactions_passes_the_tests_of_all(tmp_path: Path) -> None:
    registered = """
from .shared_users import SharedUsers

MODELS["SharedUsers"] = SharedUsers
MODELS_UNDER_TEST["SharedUsers"] = SharedUsers(1.0)
"""
    insertions = {
        "shared_users.py": (block_of(PAGE, "class SharedUsers"), ""),
        "models.py": (registered, "assert {"),
    }
    assert n_passed(ROOT / "tests" / "ratings" / "ranking", insertions, "SharedUsers", tmp_path) > 15
