"""What a fitted model of labels can be asked from outside."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import get_tags

from cofactor.checks import AUTO
from cofactor.datasets.readers.matrices import in_form, indicator
from cofactor.datasets.types import LabelDataset
from cofactor.errors import Argument, InvalidInputError, Place, Text
from cofactor.labels import Explanation, LabelModel
from cofactor.labels.base import LabelPredictions, label_facts
from cofactor.labels.data import features_to_score
from cofactor.labels.decisions import Threshold
from cofactor.labels.features import CheckedFeatures
from cofactor.limits import LARGEST
from cofactor.model.explanations import described, group_lines
from cofactor.model.facts import Facts
from cofactor.schema import Cells, Schema, Words
from cofactor.service import label_files
from cofactor.service.base import ModelService, about, explanation_to_json
from cofactor.service.options import asked_of
from cofactor.service.results import AnswerTable, Loaded, shortest
from cofactor.text import did_you_mean, plural, shorten

_FEW = 100  #: names that are told with a model
_LABELS_SHOWN = 20  #: labels on a terminal


class LabelService(ModelService):
    """What a fitted model of labels can be asked from outside; see `ModelService`.

    Parameters
    ----------
    model : LabelModel, or pipeline that ends in one
        Fitted.
    called : str, default="the model"
        What messages call it: its file.
    titles : object, optional
        Passed over: labels have no titles.
    """

    kind = "labels"

    def __init__(self, model: Any, called: str = "the model", titles: Any = None) -> None:
        super().__init__(model, called)

    @cached_property
    def rows(self) -> RowReader:
        """What makes features of rows that come without files."""
        return RowReader(self.model)

    @cached_property
    def labels(self) -> list[Any]:
        """Names of the labels, as JSON has them."""
        names = (name.item() if isinstance(name, np.generic) else name for name in self.rows.end.label_names_)
        return [name if isinstance(name, int | float | str) else str(name) for name in names]

    def facts(self) -> Facts:
        """Return sizes and threshold of the model."""
        return label_facts(self.rows.end)

    # ---------------------------------------------------------------- questions about files

    def predict_file(self, file: str, options: Mapping[str, Any]) -> AnswerTable:
        """Predict the labels of the instances in a file; see `ModelService.predict_file`."""
        model, top, scores, form = self.rows.end, options["top"], options["scores"], options["form"]
        if top is not None and (scores or form == "table"):
            out = Argument("scores" if scores else "form")
            raise InvalidInputError(("writes labels with their scores: leave out ", out), argument="top", found=top)
        if options["proba"]:
            self._require_probabilities(scores)
        decision = asked_of(options)
        for other in ("top", "scores", "proba") if decision else ():
            if options[other]:
                what = " writes numbers, and decides nothing: leave out "
                raise InvalidInputError((Argument(other), what, Argument(next(iter(decision)))))
        if options["coverage"] is not None:
            for other in ("top", "scores", "proba", *decision):
                if options[other]:
                    message = (Argument("coverage"), " writes sets of labels: leave out ", Argument(other))
                    raise InvalidInputError(message)
            model.check_coverage()
        data = self.rows.read_file(file, options)
        proba, names = options["proba"], [str(name) for name in model.label_names_]
        asked = {"probabilities": proba, "coverage": options["coverage"], "decision": decision}
        blocks = model.iter_predictions(data.X, **asked)
        scores_, on, chances = zip(*blocks, strict=True)
        found = LabelPredictions(
            np.concatenate(scores_), np.concatenate(on), np.concatenate(chances) if proba else None
        )
        rows, sep = RowNames.of(data, model, options), _separator(model)
        tags_only = top is None and not scores and not proba and form == "tags"
        return AnswerTable(
            "Predicted labels",
            _label_columns(found, names, options, rows, sep),
            records=lambda: _label_records(found, names, options, rows),
            fault=_ambiguous(names, sep) if tags_only else None,
            notes=(*rows.notes, *label_files.fillings(data)),
        )

    def explain_table(self, of: Any, what: Any, n: int, options: Mapping[str, Any]) -> AnswerTable:
        """Return which features speak for and against labels of the instances in a file; see `ModelService`."""
        model = self.rows.end
        data = self.rows.read_file(of, options)
        rows = RowNames.of(data, model, options)
        model._check_explains()
        found = model.explain(data.X, what, n_terms=n)
        notes: tuple[Text, ...] = (*rows.notes, *label_files.fillings(data))
        if "kernel" in model.get_params() and "instance" in found.columns["kind"]:
            by_features = ("fit with ", Argument("kernel", "linear"), ", and all terms are features")
            notes += (("a kernel compares instances with those of training, and names no features; ", *by_features),)
        columns = dict(found.columns)
        terms, is_feature = columns["term"].copy(), columns["kind"] == "feature"
        terms[is_feature] = [str(data.feature_names[k]) for k in terms[is_feature]]
        if getattr(model, "instance_ids_", None) is None:  # they are numbered: counted from 1, as rows of files are
            terms[columns["kind"] == "instance"] += 1
        named = Explanation({**columns, "label": _texts(columns["label"]), "term": terms})
        heading = rows.heading_beside({name for name in columns if name != "instance"})
        shown = {heading if name == "instance" else name: values for name, values in named.columns.items()}
        shown[heading] = rows.ids[columns["instance"]]
        # The value of a feature has a column of its own.
        in_words = (str(row["term"]) if row["kind"] == "feature" else described(row) for row in named.records())
        return AnswerTable(
            "What speaks for and against labels",
            shown | {"term": _texts(in_words)},
            records=lambda: _explained_records(named, heading, rows.ids),
            text=lambda: _explained_text(named, rows.ids),
            notes=notes,
        )

    def read_more(self, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read features and labels by the schema of columns that the model holds; see `ModelService.read_more`."""
        self._way_of_updating()
        data = label_files.read_labels_for(file, self.model, options)
        return Loaded(file, data, notes=(*label_files.fillings(data), *label_files.unknown(data)))

    def update(self, loaded: Loaded, options: Mapping[str, Any]) -> Any:
        """Return a copy of the model that has learned from more instances, by its `update` or `partial_fit`."""
        way, model = self._way_of_updating(), self.model
        updated = without_names(copy.deepcopy(model))
        data, trained = loaded.data, {str(name): name for name in model.label_names_}
        names = [trained.get(name, name) for name in data.label_names]  # some may be whole numbers in the model
        alike = data.schema is not None and data.schema == getattr(model, "schema_", None)
        with about(loaded.file):
            X = data.X if alike else label_files.align_features(data, model)
            getattr(updated, way)(X, data.targets, data.weights, label_names=names)
        if hasattr(model, "feature_names_in_"):
            updated.feature_names_in_ = model.feature_names_in_
        return updated

    def _way_of_updating(self) -> str:
        """Return the method by which the model takes in more instances; refuse one that has none."""
        for way in ("update", "partial_fit"):
            if hasattr(self.model, way):
                return way
        raise InvalidInputError(f"{type(self.model).__name__} learns from all instances at once: fit it again")

    def _require_probabilities(self, scores: bool) -> None:
        """Refuse a model without probabilities, and scores beside them, which would have the same headings."""
        asked = Argument("proba")
        if scores:
            other = Argument("scores")
            raise InvalidInputError((asked, " writes probabilities in the place of scores: leave out ", other))
        if not self._probable:
            why = f": {self.called} cuts scores and has learned no probabilities; fit with "
            raise InvalidInputError((asked, why, Argument("threshold", AUTO)))

    # ---------------------------------------------------------------- questions without files

    def tag(
        self,
        rows: Sequence[Row],
        *,
        top: int | None = None,
        threshold: float | None = None,
        coverage: float | None = None,
        decision: Mapping[str, Any] | None = None,
        most: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the labels of each row.

        Parameters
        ----------
        rows : sequence of vector, mapping or text
            All of one form.
        top : int, optional
            How many of the best labels to add, with their scores, and probabilities where the model has such.
        threshold : float, optional
            Labels whose probability is above this, or whose score where there are no probabilities; by default those
            that the model predicts.
        coverage : float, optional
            Sets that hold all labels of a row with this probability, in the place of what is predicted.
        decision : mapping from str to object, optional
            Decide so, and not as the model does otherwise: the arguments of `LabelModel.set_decision`.
        most : int, optional
            The most labels of all rows together.

        Returns
        -------
        list of dict
            Each with labels, top if it was asked for, and unknown: the columns whose value did not occur in training.
        """
        how = {"threshold": threshold, "coverage": coverage, "decision": decision}
        given_ways = [name for name, value in how.items() if value is not None]
        if len(given_ways) > 1:
            raise InvalidInputError(f"does not go with {given_ways[1]}: give one of them", argument=given_ways[0])
        if coverage is not None:
            self.rows.end.check_coverage()
        given = self.rows.read(rows)
        wanted = self._probable and (top is not None or threshold is not None)
        tagged: list[dict[str, Any]] = []
        n_labels = 0
        asked = {"probabilities": wanted, "coverage": coverage, "decision": decision, "checked": True}
        for found in self.rows.end.iter_predictions(given.features, **asked):
            on = found.on if threshold is None else Threshold(threshold).apply(_numbers(found)[1])
            n_labels += int(np.count_nonzero(on))
            if most is not None and n_labels > most:
                advice = "send fewer rows, or ask for labels that are more likely"
                raise InvalidInputError(
                    f"more than {most:,} labels are refused", argument="rows", found=len(rows), advice=advice
                )
            names = [{"labels": labels} for labels in _tags(on, self.labels)]
            tagged += names if top is None else map(dict.__or__, names, self._best(found, top))
        for k, columns in given.unknown.items():
            tagged[k]["unknown"] = columns
        return tagged

    def explain(self, row: Row, labels: Sequence[Any] | None, n: int) -> list[dict[str, Any]]:
        """Return what speaks for and against labels of a row, the strongest reasons first.

        Parameters
        ----------
        row : vector, mapping or text
            As in `tag`.
        labels : sequence, optional
            Their names; by default those that are predicted.
        n : int
            Number of reasons for each; the others are added up.

        Returns
        -------
        list of dict
            label, score, reasons, rest, and intercept where they sum to the score; see `LabelModel.explain`.
        """
        wanted = None if labels is None else [self._label(one, f"labels[{k}]") for k, one in enumerate(labels)]
        given, end, names = self.rows.read([row], "row"), self.rows.end, self.rows.terms
        end._check_explains()
        found = end.explain(given.features, wanted, n_terms=n)
        return explanation_to_json(found, "label", (lambda term: term) if names is None else names.__getitem__)

    def about(self) -> Mapping[str, Any]:
        """Return class, sizes and threshold of the model, the forms of rows, and names if they are few."""
        steps = {"steps": [type(step).__name__ for _, step in self.model.steps]} if hasattr(self.model, "steps") else {}
        few: dict[str, list[Any]] = {"label_names": self.labels, "row_names": self.rows.names}
        return {
            **self.facts().values,
            **steps,
            "rows": self.rows.forms,
            "probabilities": self._probable,
            **{name: names for name, names in few.items() if len(names) <= _FEW},
        }

    def example(self) -> dict[str, Any]:
        """Return a row that the model takes, and a label."""
        return {"kind": self.kind, "row": self.rows.example(), "label": self.labels[0]}

    def warm_up(self) -> None:
        """Answer one question of each kind that the model can answer, so that all it needs is compiled."""
        self.tag([self.rows.example()], top=1)
        self.describe()

    def questions(self) -> Mapping[str, Callable[[], object]]:
        """Return small questions that not every model answers, by name."""
        row, end = self.rows.example(), self.rows.end
        return {
            "explanations": lambda: self.explain(row, self.labels[:1], 1),
            "decisions": lambda: end.decision_.asked({"precision": 0.9}, end.label_names_),
        }

    @property
    def _probable(self) -> bool:
        return hasattr(self.rows.end, "predict_proba")

    def _label(self, one: Any, argument: str) -> Any:
        """Return a label by its name, or by the text of it."""
        by_name = {str(name): name for name in self.labels} | {name: name for name in self.labels}
        found = by_name.get(one, by_name.get(str(one)))
        if found is None:
            advice = hint(str(one), list(map(str, self.labels)), "none of its labels has a similar name")
            raise InvalidInputError(f"is no label of the model: {advice}", argument=argument, found=one)
        return found

    def _best(self, found: LabelPredictions, top: int) -> Iterator[dict[str, Any]]:
        """Yield for each row of a block the best labels, with their scores, and probabilities if there are any."""
        best = _best_labels(_numbers(found)[1], top)
        tables = {"score": found.scores} | ({} if found.probabilities is None else {"probability": found.probabilities})
        columns = [shortest(np.take_along_axis(table, best, axis=1)).tolist() for table in tables.values()]
        for which, *numbers in zip(best.tolist(), *columns, strict=True):
            values = zip([self.labels[j] for j in which], *numbers, strict=True)
            yield {"top": [dict(zip(("label", *tables), one, strict=True)) for one in values]}


def _numbers(found: LabelPredictions) -> tuple[str, NDArray[Any]]:
    """Return the numbers by which labels are compared, probabilities, or scores without these, and their name."""
    return ("score", found.scores) if found.probabilities is None else ("probability", found.probabilities)


def _best_labels(values: NDArray[Any], top: int) -> NDArray[np.int64]:
    """Return the labels with the highest values of each row; of equal ones the label with the lower number first."""
    return np.argsort(-values, axis=1, kind="stable")[:, :top]


def _tags(on: NDArray[np.bool_], names: list[Any]) -> Iterator[list[Any]]:
    return ([names[j] for j in np.flatnonzero(row).tolist()] for row in on)


# -------------------------------------------------------------------- tables of the instances of a file


class RowNames(NamedTuple):
    """What the rows of a file are called: their ids, or numbers from 1."""

    heading: str
    ids: NDArray[Any]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Any, model: LabelModel, options: Mapping[str, Any]) -> RowNames:
        """Return those of data, of which a column may have the ids: that of an option, or else that of training."""
        column = options["id"] or getattr(getattr(model, "schema_", None), "id", None)
        if data.ids is not None and column is not None:
            return cls(column, data.ids)
        lost = f"there is no column {column!r}, which named the rows in training: rows are numbered"
        return cls("instance", np.arange(1, len(data) + 1), (lost,) if column else ())

    def heading_beside(self, columns: Iterable[str]) -> str:
        """Return the heading of a column of ids beside others, which may have the same name."""
        return f"id {self.heading}" if self.heading in columns else self.heading


def _label_columns(
    found: LabelPredictions, names: list[str], options: Mapping[str, Any], rows: RowNames, sep: str
) -> dict[str, Any]:
    """Return the columns of a table; the first one names the rows."""
    (heading, values), ids = _numbers(found), rows.ids
    columns: dict[str, Any]
    if options["top"] is not None:
        best = _best_labels(values, options["top"])
        ids = np.repeat(ids, best.shape[1])
        columns = {
            "rank": np.tile(np.arange(1, best.shape[1] + 1), len(values)),
            "label": np.array(names, dtype=object)[best].ravel(),
            heading: shortest(np.take_along_axis(values, best, axis=1).ravel()),
        }
    elif options["scores"] or options["proba"]:
        columns = {name: shortest(values[:, j]) for j, name in enumerate(names)}
    elif options["form"] == "table":
        columns = {name: found.on[:, j].astype(np.int8) for j, name in enumerate(names)}
    else:
        columns = {"labels": [sep.join(tags) for tags in _tags(found.on, names)]}
    return {rows.heading_beside(columns): ids} | columns


def _label_records(
    found: LabelPredictions, names: list[str], options: Mapping[str, Any], rows: RowNames
) -> Iterator[dict[str, Any]]:
    """Yield an object for each instance."""
    one, values = _numbers(found)
    best = None if options["top"] is None else _best_labels(values, options["top"])
    for k, (id, row, tags) in enumerate(zip(rows.ids.tolist(), values, _tags(found.on, names), strict=True)):
        record: dict[str, Any] = {"labels": tags}
        numbers = [float(str(value)) for value in row]
        if best is not None:
            record = {"top": [{"label": names[j], one: numbers[j]} for j in best[k]]}
        elif options["scores"] or options["proba"]:
            record["probabilities" if options["proba"] else "scores"] = dict(zip(names, numbers, strict=True))
        yield {rows.heading_beside(record): id} | record


def _separator(model: Any) -> str:
    """Return what parts labels that are written: what parted the tags in training, or a semicolon."""
    return getattr(getattr(model, "schema_", None), "label_sep", None) or ";"


def _ambiguous(names: list[str], sep: str) -> InvalidInputError | None:
    """Return an error if a name of a label holds what parts labels, so that names cannot be joined by it."""
    odd = next((name for name in names if sep in name), None)
    if odd is None:
        return None
    parting = "a semicolon" if sep == ";" else repr(sep)
    message = f"the label name {odd!r} holds {parting}, which parts labels: use "
    return InvalidInputError((message, Argument("form", "table"), " or ", Argument("json")))


def _texts(values: Iterable[Any]) -> NDArray[Any]:
    return np.array([str(value) for value in values], dtype=object)


def _explained_records(found: Explanation, heading: str, ids: NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Yield an object for each instance, also for one without any label to explain."""
    labels: list[list[dict[str, Any]]] = [[] for _ in ids]
    for group in found.groups():
        labels[group.pop("instance")].append(group)
    return ({heading: id, "labels": mine} for id, mine in zip(ids.tolist(), labels, strict=True))


def _explained_text(found: Explanation, ids: NDArray[Any]) -> str:
    """Return the first labels with their terms, and how many more there are."""
    groups = [{**group, "instance": ids[group["instance"]]} for group in found.groups()]
    if not groups:
        return "no label is predicted for any of these instances"
    lines = [line for group in groups[:_LABELS_SHOWN] for line in group_lines(group)]
    rest = len(groups) - _LABELS_SHOWN
    return "\n".join([*lines, *([f"... and {plural(rest, 'more label')}: --out FILE writes them all"] * (rest > 0))])


# -------------------------------------------------------------------- rows that come without files

#: A vector of all features; values by names of features, or of columns of a table; or a text.
Row: TypeAlias = Sequence[float] | Mapping[str, Any] | str

_FORMS: dict[type[Any], str] = {list: "numbers", dict: "names", str: "text"}
_MOST_KNOWN = 5000  #: names among which similar ones are looked for
_LONGEST = 100  #: characters of a name for which similar ones are looked for


class FeatureRows(NamedTuple):
    """Rows as features.

    Attributes
    ----------
    features : ndarray or csr_array of shape (n, D)
        Checked, not yet scaled.
    unknown : dict from int to list of str
        For some rows which columns hold a value that did not occur in training.
    """

    features: CheckedFeatures
    unknown: dict[int, list[str]]


def hint(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Return which of some names may be meant, see `did_you_mean`; where they are too many, how to see them.

    Parameters
    ----------
    name : str
        What was given.
    known : sequence of str
        What could be meant.
    otherwise : str, optional
        The hint where no name is similar.
    """
    return otherwise if len(known) > _MOST_KNOWN else did_you_mean(name[:_LONGEST], known, otherwise)


class RowReader:
    """Makes features of rows: for a model, or a pipeline of transformers and a model.

    Parameters
    ----------
    model : LabelModel or Pipeline
        Fitted.

    Attributes
    ----------
    end : LabelModel
        The model in which the pipeline ends; it takes the features without names.
    forms : tuple of str
        Which rows it reads: "numbers", all features in their order; "names", objects of values by names of features,
        0 where nothing is said; "table", objects of cells by columns of the table to which the model was fitted, a
        column that is not there as a cell without a value; "text".
    names : list of str
        What rows may name: features, by their positions where they have no names, or columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from cofactor.labels import LabelRidge
    >>> X = pd.DataFrame({"wind": [3.0, 0.0, 1.0, 4.0], "rain": [0.0, 1.0, 1.0, 0.0]})
    >>> reader = RowReader(LabelRidge.paper().fit(X, [[1], [0], [0], [1]]))
    >>> reader.forms, reader.read([{"rain": 2}, {}]).features.toarray().tolist()
    (('numbers', 'names'), [[0.0, 2.0], [0.0, 0.0]])
    >>> reader.read([{"win": 2}])
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: rows[0].win=2: is no feature of the model: did you mean wind?
    """

    def __init__(self, model: Any) -> None:
        steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
        *before, end = [step for step in steps if step is not None and not isinstance(step, str)]
        first = before[0] if before else end
        self.end, self._before = without_names(end), [without_names(step) for step in before]
        self._first = first
        self._schema: Schema | None = None if before else getattr(end, "schema_", None)
        self._takes_sparse = not before or bool(get_tags(model).input_tags.sparse)
        words = getattr(first, "vocabulary_", None)
        self._reads_text = words is not None
        known = getattr(first, "feature_names_in_", None) if words is None else sorted(words, key=words.__getitem__)
        n_features = first.n_features_in_ if words is None else len(words)
        self._n_features = int(n_features)
        self._features = list(map(str, range(self._n_features) if known is None else known))
        self._positions = {name: j for j, name in enumerate(self._features)}
        schema = self._schema
        self._codes = {} if schema is None else {name: schema.truth(name) for name in schema.words}
        # Features are other than the columns, so that rows are cells of a table.
        self._is_table = schema is not None and (bool(schema.scale) or schema.feature_names != schema.features)
        self._text_column = self._one_text()
        self.terms = _names_after(self._before, self._features, known is not None)

    @property
    def forms(self) -> tuple[str, ...]:
        """Which rows it reads."""
        if self._reads_text:
            return ("text",)
        return ("numbers", "table" if self._is_table else "names", *(["text"] if self._text_column else []))

    @property
    def names(self) -> list[str]:
        """What rows may name."""
        return list(self._schema.features) if self._schema is not None and self._is_table else self._features

    def described(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return name and kind of some of what rows may name: a number, a text, or words, of which it has these.

        Parameters
        ----------
        names : sequence of str
            Some of `names`.
        """
        schema = self._schema
        if schema is None:
            return [{"name": name, "kind": "word" if self._reads_text else "number"} for name in names]
        words = {name: {"kind": "text"} for name in schema.vocabularies} | {
            name: {"kind": "words", "words": list(some)} for name, some in schema.words.items()
        }
        return [{"name": name, **words.get(name, {"kind": "number"})} for name in names]

    def example(self) -> Any:
        """Return a row that the model takes."""
        schema = self._schema
        if self._reads_text:
            return " ".join(self._features[:2])
        if schema is not None and self._is_table:
            texts = {name: " ".join(known.words[:2]) for name, known in schema.vocabularies.items()}
            words = {name: some[-1] for name, some in schema.words.items()}
            return {name: {**schema.fill, **words, **texts}.get(name, 0.0) for name in schema.features}
        return dict.fromkeys(self._features[:2], 1)

    def read(self, rows: Sequence[Row], place: str = "rows[{}]") -> FeatureRows:
        """Return rows as features; all of them must have one form.

        Parameters
        ----------
        rows : sequence of Row
            At least one.
        place : str, default="rows[{}]"
            What messages call them.

        Raises
        ------
        InvalidInputError
            If a row does not fit the model; the message names the row and the feature.
        """
        kind = type(rows[0])
        for k, row in enumerate(rows):
            if type(row) is not kind:
                problem = f"is of the form {_form(row)}, and others are {_form(rows[0])}"
                raise InvalidInputError(problem, argument=place.format(k), advice="send each form in its own request")
        if _form(rows[0]) not in self.forms and not (kind is dict and self._is_table):
            raise self._wrong_form(rows[0], place.format(0))
        if kind is str:
            return self._texts(rows, place)
        if kind is list:
            return self._through(self._vectors(rows, place))
        if self._is_table:
            return self._table(rows, place)
        return self._through(self._named(rows, place))

    def read_file(self, file: str, options: Mapping[str, Any]) -> LabelDataset:
        """Return the features of the instances in a file, as `end` takes them, without labels.

        Parameters
        ----------
        file : str
            Path, ``-``, or name of a data set.
        options : mapping from str to object
            As `cofactor.service.label_files.read_features` has them; text, for texts.
        """
        labels = self.end.label_names_
        if self._reads_text:
            texts, ids = label_files.read_texts(file, labels, options)
            names = tuple(self._features if self.terms is None else self.terms)
            X = self._through(texts).features
            return LabelDataset(file, X, indicator(np.zeros((len(texts), 0)), file), names, (), ids=ids)
        if options.get("text"):
            advice = ("leave out ", Argument("text"))
            raise InvalidInputError((Argument("text"), " is for pipelines that take texts"), advice=advice)
        data = label_files.read_features(file, self._first, options, labels)
        if not self._before:
            return data
        if data.filled:
            gaps = f"cells of {shorten(list(data.filled))} have no value"
            raise InvalidInputError(f"{gaps}, and a pipeline keeps nothing to fill them with", place=Place(file))
        X = self._through(in_form(data.X, "auto" if self._takes_sparse else False, file)).features
        names = tuple(map(str, range(X.shape[1])) if self.terms is None else self.terms)
        return replace(data, X=X, feature_names=names)

    # ---------------------------------------------------------------- the forms

    def _vectors(self, rows: Sequence[Any], place: str) -> NDArray[np.float64]:
        """Return vectors of all features as a table."""
        for k, row in enumerate(rows):
            if len(row) != self._n_features:
                problem = f"expected {self._n_features:,} numbers, found {len(row):,}"
                raise InvalidInputError(problem, argument=place.format(k), found=len(row))
        table = np.array(rows, dtype=np.float64)
        wrong = ~(np.abs(table) <= LARGEST)
        if wrong.any():
            k, j = np.argwhere(wrong)[0].tolist()
            _refuse_size(f"{place.format(k)}[{j}]", rows[k][j])
        return table

    def _named(self, rows: Sequence[Any], place: str) -> CheckedFeatures:
        """Return values by names of features as a sparse table; what has no name is 0."""
        indptr: list[int] = [0]
        indices: list[int] = []
        values: list[float] = []
        for k, row in enumerate(rows):
            found: dict[int, float] = {}
            for name, value in row.items():
                j = self._positions.get(name)
                if j is not None:
                    found[j] = self._number(name, value, place, k)
                elif not self._is_left_out(name):
                    raise self._unknown(name, value, place.format(k))
            order = sorted(j for j, value in found.items() if value)
            indices += order
            values += [found[j] for j in order]
            indptr.append(len(indices))
        parts = (np.array(values), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
        table = csr_array(parts, shape=(len(rows), self._n_features))
        table.has_canonical_format = True  # by the order, so that it is not looked for again and again
        return table if self._takes_sparse else table.toarray()

    def _table(self, rows: Sequence[Any], place: str) -> FeatureRows:
        """Return rows of a table as features, by the schema of the model."""
        schema = self._schema
        assert schema is not None
        known = set(schema.features)
        for k, row in enumerate(rows):
            for name, value in row.items():
                if name not in known and not self._is_left_out(name):
                    raise self._unknown(name, value, place.format(k))
        found = schema.transform({name: self._cells(name, rows, place) for name in schema.features})
        unknown: dict[int, list[str]] = {}
        for name, new in found.new.items():
            for k in new.tolist():
                unknown.setdefault(k, []).append(name)
        return FeatureRows(features_to_score(in_form(found.X, "auto", "rows"), self.end), unknown)

    def _texts(self, rows: Sequence[Any], place: str) -> FeatureRows:
        if self._reads_text:
            return self._through(list(rows))
        return self._table([{self._text_column: row} for row in rows], place)

    def _through(self, table: Any) -> FeatureRows:
        """Return what transformers make of a table."""
        if not self._before:
            return FeatureRows(table, {})
        for step in self._before:
            table = step.transform(table)
        return FeatureRows(features_to_score(table, self.end), {})

    # ---------------------------------------------------------------- values

    def _number(self, name: str, value: Any, place: str, k: int) -> float:
        """Return the value of a feature as a number."""
        codes = self._codes.get(name)
        if codes:
            code = codes.get(_word(value).lower())
            if code is not None:
                return code
        if value is None and self._schema is not None and name in self._schema.fill:
            return self._schema.fill[name]
        if value is None or isinstance(value, str):
            expected = " or ".join(codes) if codes else "a number"
            raise InvalidInputError(f"expected {expected}", argument=f"{place.format(k)}.{name}", found=value)
        if not -LARGEST <= value <= LARGEST:
            _refuse_size(f"{place.format(k)}.{name}", value)
        return float(value)

    def _cells(self, name: str, rows: Sequence[Any], place: str) -> Cells:
        """Return the cells of a column, without a value where a row does not have it."""
        schema, values = self._schema, [row.get(name) for row in rows]
        assert schema is not None
        if name in schema.vocabularies or schema.spread(name):
            return Words.of("" if value is None else _word(value) for value in values)
        numbers, codes = np.full(len(rows), np.nan), self._codes.get(name)
        for k, value in enumerate(values):
            if value is None and name in schema.fill:
                continue
            numbers[k] = self._number(name, value, place, k)
            if codes and numbers[k] not in codes.values():
                expected = " or ".join(schema.words[name])
                raise InvalidInputError(f"expected {expected}", argument=f"{place.format(k)}.{name}", found=value)
        return numbers

    def _is_left_out(self, name: str) -> bool:
        """Return whether a name is that of a column which is no feature: a label, an id, or a remark."""
        schema = self._schema
        return schema is not None and (name == schema.id or name in schema.labels or name in schema.drop)

    # ---------------------------------------------------------------- refusals

    def _unknown(self, name: str, value: Any, place: str) -> InvalidInputError:
        what = "column" if self._is_table else "feature"
        advice = hint(name, self.names, f"none of its {what}s has a similar name")
        return InvalidInputError(
            f"is no {what} of the model: {advice}", argument=f"{place}.{name[:_LONGEST]}", found=value
        )

    def _wrong_form(self, row: Any, place: str) -> InvalidInputError:
        expected = {
            "numbers": f"a list of {self._n_features:,} numbers",
            "names": "an object of values by names of features",
            "table": "an object of cells by names of columns",
            "text": "a text",
        }
        takes = ", or ".join(expected[form] for form in self.forms)
        return InvalidInputError(f"is of the form {_form(row)}, and this model takes {takes}", argument=place)

    def _one_text(self) -> str | None:
        """Return the column of text, if there is just one."""
        columns = [] if self._schema is None else list(self._schema.vocabularies)
        return columns[0] if len(columns) == 1 else None


def _form(row: Any) -> str:
    return _FORMS[type(row)]


def _refuse_size(argument: str, found: Any) -> NoReturn:
    problem = f"features must lie between {-LARGEST:g} and {LARGEST:g}"
    raise InvalidInputError(problem, argument=argument, found=found)


def _word(value: Any) -> str:
    """Return a value as text, as tables have it.

    Examples
    --------
    >>> [_word(value) for value in (True, 3, 3.0, 2.5, " red ")]
    ['true', '3', '3', '2.5', 'red']
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _names_after(before: Sequence[Any], names: list[str], named: bool) -> list[Any] | None:
    """Return names of the features that transformers hand on; None where these have none."""
    found: Any = names if named else None
    for step in before:
        try:
            of_words = hasattr(step, "vocabulary_")
            found = step.get_feature_names_out(*(() if of_words else (found,))) if of_words or named else None
        except (AttributeError, ValueError):
            return None
    return None if found is None else list(map(str, found))


def without_names(model: Any) -> Any:
    """Return a fitted estimator that takes features without names, because they were matched before.

    Parameters
    ----------
    model : estimator
        Fitted; not changed.
    """
    bare = copy.copy(model)
    if hasattr(bare, "feature_names_in_"):
        del bare.feature_names_in_
    return bare
