"""Answers of a fitted model of labels to questions that come without files, as those to a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.labels.base import Predictions, label_facts
from cofactor.labels.decisions import Cut
from cofactor.tasks.label_output import best_labels
from cofactor.tasks.label_rows import Row, RowReader, hint
from cofactor.tasks.model_answers import ModelAnswers, told
from cofactor.tasks.words import shortest

__all__ = ["LabelAnswers"]

_FEW = 100  #: names that are told with a model


class LabelAnswers(ModelAnswers):
    """What a server may ask a fitted model of labels, or a pipeline of transformers that ends in one.

    Parameters
    ----------
    model : LabelModel or Pipeline
        Fitted.

    Attributes
    ----------
    rows : RowReader
        Makes features of rows.
    labels : list
        Names of the labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from cofactor.labels import LabelRidge
    >>> X = pd.DataFrame({"wind": [3.0, 0.0, 1.0, 4.0], "rain": [0.0, 1.0, 1.0, 0.0]})
    >>> y = pd.DataFrame({"sail": [1, 0, 0, 1], "read": [0, 1, 1, 0]})
    >>> answers = LabelAnswers(LabelRidge.paper().fit(X, y))
    >>> answers.tag([{"wind": 4}, [0, 2]])
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: is of the form numbers, and others are names; send each form in its own request
    >>> [one["labels"] for one in answers.tag([{"wind": 4}, {"rain": 1}])]
    [['sail'], ['read']]
    """

    kind = "labels"

    def __init__(self, model: Any) -> None:
        self.model, self.rows = model, RowReader(model)
        self._end = self.rows.end
        self.labels = [name if isinstance(name, int | float | str) else str(name) for name in _names_of(self._end)]
        self._by_name: dict[Any, Any] = {str(name): name for name in self.labels} | {name: name for name in self.labels}
        self._probable = hasattr(self._end, "predict_proba")

    def tag(
        self,
        rows: Sequence[Row],
        *,
        top: int | None = None,
        threshold: float | None = None,
        coverage: float | None = None,
        most: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the labels of each row.

        Parameters
        ----------
        rows : sequence of Row
            As `RowReader` takes them.
        top : int, optional
            How many of the best labels to return with their numbers: by probability, or by score where the model has no
            probabilities.
        threshold : float, optional
            Take the labels whose probability, or score, is above this number, and not those that the model decides for.
        coverage : float, optional
            Take sets of labels of this coverage instead, see `LabelModel.predict_set`.
        most : int, optional
            Labels of all rows together; more are refused.

        Returns
        -------
        list of dict
            labels; with `top` also top: label, score, and probability where there are probabilities; unknown where a
            column holds what did not occur in training.
        """
        if threshold is not None and coverage is not None:
            raise InvalidInputError("does not go with coverage: give one of them", argument="threshold")
        if coverage is not None:
            self._end.check_coverage()
        given = self.rows.read(rows)
        wanted = self._probable and (top is not None or threshold is not None)
        tagged: list[dict[str, Any]] = []
        n_labels = 0
        asked = {"probabilities": wanted, "coverage": coverage, "checked": True}
        for said in self._end.iter_predictions(given.features, **asked):
            on = said.on if threshold is None else Cut(threshold).apply(_numbers(said))
            n_labels += int(np.count_nonzero(on))
            if most is not None and n_labels > most:
                advice = "send fewer rows, or ask for labels that are more likely"
                raise InvalidInputError(
                    f"more than {most:,} labels are refused", argument="rows", found=len(rows), advice=advice
                )
            tagged += self._tagged(said, on, top)
        for k, names in given.unknown.items():
            tagged[k]["unknown"] = names
        return tagged

    def explain(self, row: Row, labels: Sequence[Any] | None, n: int) -> list[dict[str, Any]]:
        """Return what speaks for and against labels of a row, the strongest reasons first.

        Parameters
        ----------
        row : Row
            As `RowReader` takes it.
        labels : sequence, optional
            Names of labels; by default those that are predicted.
        n : int
            Number of reasons for each; the others are added up.

        Returns
        -------
        list of dict
            label, score, reasons, rest and intercept, which sum to the score.
        """
        wanted = None if labels is None else [self._label(one, f"labels[{k}]") for k, one in enumerate(labels)]
        given = self.rows.read([row], "row")
        self._end._check_explains()
        found = self._end.explain(given.features, wanted, n_terms=n)
        names = self.rows.terms
        return told(found, "label", (lambda term: term) if names is None else names.__getitem__)

    def facts(self) -> Mapping[str, Any]:
        """Return class, sizes and threshold of the model, the forms of rows, and names if they are few."""
        steps = {"steps": [type(step).__name__ for _, step in self.model.steps]} if hasattr(self.model, "steps") else {}
        few: dict[str, list[Any]] = {"label_names": self.labels, "row_names": self.rows.names}
        return {
            **label_facts(self._end).values,
            **steps,
            "rows": self.rows.forms,
            "probabilities": self._probable,
            **{name: names for name, names in few.items() if len(names) <= _FEW},
        }

    def example(self) -> dict[str, Any]:
        """Return a row that the model takes, and a label."""
        return {"kind": self.kind, "row": self.rows.example(), "label": self.labels[0]}

    def rehearse(self) -> None:
        """Answer one question of each kind that the model can answer, so that all it needs is compiled."""
        row = self.rows.example()
        self.tag([row], top=1)
        self.describe()

    def questions(self) -> Mapping[str, Callable[[], object]]:
        """Return small questions that not every model answers, by name."""
        row, label = self.rows.example(), self.labels[0]
        return {"explanations": lambda: self.explain(row, [label], 1)}

    def _label(self, one: Any, argument: str) -> Any:
        """Return a label by its name, or by the text of it."""
        found = self._by_name.get(one, self._by_name.get(str(one)))
        if found is None:
            advice = hint(str(one), list(map(str, self.labels)), "none of its labels has a similar name")
            raise InvalidInputError(f"is no label of the model: {advice}", argument=argument, found=one)
        return found

    def _tagged(self, said: Predictions, on: NDArray[np.bool_], top: int | None) -> list[dict[str, Any]]:
        """Return what is said of a block of rows."""
        names = self.labels
        tagged: list[dict[str, Any]] = [{"labels": [names[j] for j in np.flatnonzero(row).tolist()]} for row in on]
        if top is None:
            return tagged
        best = best_labels(_numbers(said), top)
        tables = {"score": said.scores} | ({} if said.probabilities is None else {"probability": said.probabilities})
        rows = np.arange(len(best))[:, None]
        columns = [shortest(table[rows, best]).tolist() for table in tables.values()]
        keys = ("label", *tables)
        for one, which, *numbers in zip(tagged, best.tolist(), *columns, strict=True):
            one["top"] = [
                dict(zip(keys, values, strict=True)) for values in zip([names[j] for j in which], *numbers, strict=True)
            ]
        return tagged


def _names_of(end: Any) -> list[Any]:
    names: list[Any] = [name.item() if isinstance(name, np.generic) else name for name in end.label_names_]
    return names


def _numbers(said: Predictions) -> NDArray[Any]:
    """Return the numbers by which labels are compared: probabilities, or scores where there are none."""
    return said.scores if said.probabilities is None else said.probabilities
