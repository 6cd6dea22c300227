"""A wrong name of a parameter is told in our words, for every model alike."""

import copy
import inspect
import pickle
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC
from tests.together import together

from cofactor import labels, ratings
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation import Search

KINDS: dict[str, type[Any]] = {
    **ratings.MODELS,
    **ratings.ranking.MODELS,
    **labels.MODELS,
    **labels.TRANSFORMERS,
    "Search": Search,
}


@together("name", KINDS)
def test_a_wrong_name_is_told_with_the_model_and_the_near_name(name: str) -> None:
    kind = KINDS[name]
    right = next(key for key in kind._get_param_names() if len(key) > 5)
    message = rf"^{name} has no parameter '{right[:-1]}'; did you mean .*\b{right}\b"
    with pytest.raises(InvalidTypeError, match=message):
        kind(**{right[:-1]: 1})
    model = Search(labels.PLST()) if kind is Search else kind()
    with pytest.raises(InvalidInputError, match=message):
        model.set_params(**{right[:-1]: 1})
    with pytest.raises(InvalidTypeError, match=f"^{name}: too many positional arguments"):
        kind(*range(99))


def test_a_parameter_of_what_is_no_estimator_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"^estimator is None, which has no parameters; give .* to set its C$"):
        labels.BinaryRelevance().set_params(estimator__C=3)
    with pytest.raises(InvalidInputError, match="^estimator is None, "):
        Search(labels.BinaryRelevance(), {"estimator__C": [1]}).fit([[0], [1], [2]], [[0], [1], [0]])
    with pytest.raises(InvalidInputError, match=r"^alpha is 2.0, which has no parameters"):
        labels.PLST(alpha=2.0).set_params(alpha__C=3)
    assert labels.BinaryRelevance().set_params(estimator__C=3, estimator=LinearSVC()).estimator.C == 3


def test_signatures_and_copies_are_those_of_scikit_learn() -> None:
    for kind in KINDS.values():
        assert sorted(inspect.signature(kind).parameters) == sorted(kind._get_param_names())
    search = Search(labels.PLST(2, alpha=3.0))
    for same in (copy.deepcopy(search), pickle.loads(pickle.dumps(search)), clone(search)):
        assert same.estimator.get_params() == search.estimator.get_params()
    assert search.set_params(estimator__alpha=5.0).estimator.alpha == 5


def test_names_are_read_again_where_a_constructor_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def constructor(self: labels.PLST, beta: float = 1.0) -> None:
        self.beta = beta

    names = labels.PLST._get_param_names()
    names.clear()  # a list of its own
    assert "alpha" in labels.PLST._get_param_names()
    monkeypatch.setattr(labels.PLST, "__init__", constructor)
    assert labels.PLST._get_param_names() == ["beta"]
    assert labels.PLST(beta=2.0).get_params() == {"beta": 2.0}
