"""What every task promises: all pass the same tests, each on a file of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import cofactor
from cofactor.datasets import make_labels, make_ratings, write_table
from cofactor.errors import InvalidInputError
from cofactor.labels import MNMTF, MLkNN
from cofactor.model.facts import Facts
from cofactor.model.named_splits import PROTOCOLS
from cofactor.service import TASKS, sniff, task_named, task_of
from cofactor.service.base import Task
from cofactor.service.results import AnswerTable, EvaluationProgress, EvaluationResult, Loaded, Protocol, Settings


@dataclass(frozen=True)
class Case:
    """A task with a file of it, how to read it, and a fast model."""

    task: Task
    file: str
    given: dict[str, Any]
    model: str
    rows: int


@pytest.fixture(params=sorted(TASKS))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    path = tmp_path / "data.csv"
    task = task_named(request.param)
    if task.name == "ratings":
        data = make_ratings(30, 20, 2, density=0.5, random_state=0)
        write_table(path, {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
        return Case(task, str(path), {}, "als", data.n_ratings)
    tags, _ = make_labels(60, 5, 3, n_groups=1, n_factors=2, random_state=0)
    X, Y = np.asarray(tags.X), tags.Y.toarray()
    columns = {f"f{j}": X[:, j] for j in range(5)} | {f"tag {k}": Y[:, k] for k in range(3)}
    write_table(path, columns)
    return Case(task, str(path), {"labels": "tag"}, "plst", 60)


def settings_of(case: Case, **more: Any) -> Settings:
    return Settings(alpha=2.0, options=case.task.values("fit", case.given), **more)


def loaded_of(case: Case) -> Loaded:
    return case.task.read(case.file, case.task.values("fit", case.given))


def fitted_of(case: Case) -> tuple[Any, Facts]:
    settings = settings_of(case)
    return case.task.fit(case.task.build(case.model, settings).model, loaded_of(case), settings)


def test_a_service_says_what_its_model_cannot_be_asked(case: Case) -> None:
    """Those of ratings can be asked all."""
    if case.task.name == "labels":
        service, said = (
            case.task.service(fitted_of(case)[0], "x.cofactor"),
            r"x\.cofactor: is a model of labels, which ",
        )
        for ask in (lambda: service.recommend_table(None, {}), lambda: service.similar_table(["1"], 3)):
            with pytest.raises(InvalidInputError, match=f"{said}(recommends|has) no "):
                ask()


def test_models_are_known_by_all_their_spellings(case: Case) -> None:
    for name, kind in case.task.models().items():
        assert {case.task.find(spelled) for spelled in (name, name.upper(), kind.__name__)} == {kind}
    assert {case.task.default_model, *case.task.compared_models} <= set(case.task.models())
    with pytest.raises(InvalidInputError, match="model='nonsens': not a known model"):
        case.task.build("nonsens", Settings())


def test_models_of_other_tasks_are_told(case: Case) -> None:
    (other,) = (task_named(name) for name in TASKS if name != case.task.name)
    with pytest.raises(InvalidInputError, match=f"is a {other.one_model}; {case.task.many_models} are "):
        case.task.build(other.default_model, Settings())


def test_settings_are_set_or_refused(case: Case) -> None:
    built = case.task.build(case.model, settings_of(case, factors=2, seed=5))
    params = built.model.get_params()
    assert (params["alpha"], params["random_state"], built.notes) == (2.0, 5, ())
    assert 2 in (params.get("n_factors"), params.get("n_components"))
    with pytest.raises(InvalidInputError, match="param='x': "):
        case.task.build(case.model, Settings(params={"x": 1}))
    with pytest.raises(InvalidInputError, match="alpha=3: alpha is set twice"):
        case.task.build(case.model, Settings(alpha=2.0, params={"alpha": 3}))
    without = {"ratings": "rating-svd", "labels": "mlknn"}[case.task.name]
    with pytest.raises(InvalidInputError, match=r"alpha=2\.0: \w+ has no .*; leave the option out"):
        case.task.build(without, Settings(alpha=2.0))
    assert len(case.task.build(without, Settings(alpha=2.0, lenient=True)).notes) == 1


def test_options_are_declared(case: Case) -> None:
    declared = TASKS[case.task.name].options
    for verb, options in declared.items():
        assert case.task.values(verb, {}) == {option.name: option.default for option in options}
        assert all(option.help and (option.kind is bool or option.unit or option.choices) for option in options)
        for option in options:
            if option.choices:
                with pytest.raises(InvalidInputError, match=f"{option.name}='no such': expected one of"):
                    case.task.values(verb, {option.name: "no such"})
    with pytest.raises(InvalidInputError, match=f"colour is no option of {case.task.name}"):
        case.task.values("fit", {"colour": "red"})


def test_the_way_of_a_file(case: Case, tmp_path: Path) -> None:
    """Read, fit, save, load, tell the task, predict."""
    model, facts = fitted_of(case)
    assert facts.values["model"] == type(model).__name__
    assert facts.shown
    assert all(isinstance(text, str) for text in facts.shown.values())
    model.save(tmp_path / "x.cofactor")
    loaded = cofactor.load(tmp_path / "x.cofactor")
    task = task_of(loaded)
    assert task.name == case.task.name
    service = task.service(loaded)
    table = service.predict_file(case.file, task.values("predict", {}))
    assert isinstance(table, AnswerTable)
    assert {len(column) for column in table.columns.values()} == {case.rows}
    assert table.notes == ()
    assert service.facts().values["model"] == type(model).__name__


def test_a_fit_leaves_the_model_that_it_was_given_alone(case: Case) -> None:
    settings = settings_of(case)
    given = case.task.build(case.model, settings).model
    before = str(given.get_params())
    heard: list[Any] = []
    fitted, _ = case.task.fit(given, loaded_of(case), settings, heard.append)
    assert str(given.get_params()) == before
    assert set(vars(given)) == set(given.get_params(deep=False))
    assert fitted.get_params().get("callback") is None


def test_evaluations_have_one_form(case: Case) -> None:
    settings = settings_of(case)
    models, _ = case.task.contestants([case.model], settings)
    (name,), heard = models, list[EvaluationProgress]()
    protocol = Protocol("holdout", 2, seed=3)
    measured = case.task.evaluate(models, loaded_of(case), protocol, settings, heard.append)
    assert isinstance(measured, EvaluationResult)
    assert next(iter(measured.results)) == name
    assert len(measured.results) > 1  # baselines
    assert {len(runs) for runs in measured.results.values()} == {2}
    assert measured.facts == {"data": "data.csv", "protocol": "holdout", "splits": 2, "seed": 3}
    assert measured.best in {column.key for column in case.task.metrics({})}
    assert measured.leader() in measured.results
    summary = measured.summary()[name]
    assert summary[measured.best]["mean"] == pytest.approx(np.mean(measured.values(name, measured.best)))
    assert (heard[0].model, heard[0].done, heard[-1].total) == (name, 0, 2 * len(measured.results))
    without_times = tuple(name for name in PROTOCOLS if name not in ("time", "user-last"))
    for protocol_name in {"ratings": without_times, "labels": ("kfold", "holdout")}[case.task.name]:
        assert case.task.splits(loaded_of(case), Protocol(protocol_name, 2))


def test_a_file_that_is_not_there(case: Case) -> None:
    with pytest.raises(InvalidInputError, match="no-such-file: no such file, and no known data set"):
        case.task.read("no-such-file", case.task.values("fit", {}))


def test_tasks_never_print(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = fitted_of(case)
    case.task.service(model).predict_file(case.file, case.task.values("predict", {}))
    assert capsys.readouterr() == ("", "")


def test_known_data_sets_tell_their_task() -> None:
    assert [sniff(name) for name in ("ml-100k", "emotions", "no-such-file")] == ["ratings", "labels", None]


def test_a_transformer_is_of_no_task() -> None:
    for model in (MNMTF(), make_pipeline(MNMTF(), MLkNN())):
        with pytest.raises(
            InvalidInputError, match=f"{type(model).__name__} is no model of ratings or labels; use .*Python"
        ):
            task_of(model)
