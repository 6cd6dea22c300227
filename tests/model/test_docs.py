"""Every parameter of every model is documented, shared ones by one text."""

import inspect
import re
from typing import Any

import pytest
from tests.together import together

from cofactor import labels, ratings
from cofactor.model.docs import PARAMETERS, fill_docs, filled

MODELS: dict[str, type[Any]] = {**ratings.MODELS, **ratings.ranking.MODELS, **labels.MODELS, **labels.TRANSFORMERS}


def documented_parameters(kind: Any) -> dict[str, str]:
    """Return the texts of the section Parameters of a docstring, by the names they stand under."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", inspect.getdoc(kind) or "", re.S | re.M)
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in section.group(1).splitlines() if section else []:
        if line[:1].strip():
            names = [name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")]
            texts |= dict.fromkeys(names, "")
        else:
            texts |= {name: f"{texts[name]} {line.strip()}".strip() for name in names}
    return texts


@together("name", MODELS)
def test_every_parameter_is_documented_and_what_has_a_place_in_order(name: str) -> None:
    texts, parameters = documented_parameters(MODELS[name]), inspect.signature(MODELS[name]).parameters
    assert sorted(texts) == sorted(parameters)
    by_place = [key for key, parameter in parameters.items() if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert list(texts)[: len(by_place)] == by_place
    assert all(texts.values()), [key for key, text in texts.items() if not text]


@together("name", MODELS)
def test_no_placeholder_is_left(name: str) -> None:
    for member in (MODELS[name], *(routine for _, routine in inspect.getmembers(MODELS[name], inspect.isroutine))):
        text = inspect.getdoc(member) or ""
        assert not any(f"{{{shared}}}" in text for shared in PARAMETERS), member
        assert "{{" not in text, member


@together("name", [name for name in labels.MODELS if "threshold" in labels.MODELS[name]().get_params()])
def test_joint_is_told_where_label_sets_are_decoded(name: str) -> None:
    head = next(line for line in (inspect.getdoc(MODELS[name]) or "").splitlines() if line.startswith("threshold : "))
    assert ('"joint"' in head) == MODELS[name]().capabilities.label_sets


@together("name", MODELS)
def test_defaults_are_told_as_they_are(name: str) -> None:
    kind = MODELS[name]
    text = inspect.getdoc(kind) or ""
    for key, parameter in inspect.signature(kind).parameters.items():
        head = next((line for line in text.splitlines() if line.startswith((f"{key} :", f"{key}, "))), "")
        if ", default=" in head:
            told = head.rpartition("default=")[2].strip('"')
            same = told == str(parameter.default) or float(told.split()[0]) == parameter.default
            assert same, f"{name}: {head}, but it is {parameter.default!r}"


def test_methods_and_classes_are_filled() -> None:
    @fill_docs
    class Model:
        """A model.

        Parameters
        ----------
        {tol}
            For this one.
        """

        def __init__(self, tol: float = 0.25) -> None:
            self.tol = tol

        def fit(self, X: Any) -> None:
            """Learn.

            Parameters
            ----------
            {features}
            """

    assert documented_parameters(Model) == {
        "tol": "Converged when the objective fell by less than this share of itself per iteration. For this one."
    }
    assert "tol : float, default=0.25" in (Model.__doc__ or "")
    assert list(documented_parameters(Model.fit)) == ["X"]
    with pytest.raises(ValueError, match="no shared text {nonsense}"):
        filled("\n    {nonsense}\n")
