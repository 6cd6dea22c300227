"""What became of the columns of a table of features and labels, so that other tables can be read in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from cofactor.errors import Argument, InvalidInputError
from cofactor.text import counted, few, first_repeated

__all__ = ["Recipe", "keep_features", "truth_of"]

_NAMED = 10  # how many columns a note names
_TEXT: dict[str, type] = {"sep": str, "header": bool, "encoding": str}

#: Pairs of words for off and on.
_TRUTH = (
    ("0", "1"),
    ("-1", "1"),
    ("-1", "+1"),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
    ("absent", "present"),
)


def truth_of(values: Sequence[str]) -> tuple[int, ...] | None:
    """Return 0 or 1 for each value if the values are words for off and on, in any order and case; otherwise None."""
    lower = [value.lower() for value in values]
    for pair in _TRUTH:
        if lower and set(lower) <= set(pair):
            return tuple(pair.index(value) for value in lower)
    return None


def keep_features(features: Sequence[str], drop: Sequence[str] = (), id: str | None = None) -> None:
    """Refuse to leave out features, or to name rows by one.

    Parameters
    ----------
    features : sequence of str
        Columns that are features in training.
    drop, id : optional
        What is to be left out, and what is to name the rows.

    Raises
    ------
    InvalidInputError
        If a feature is among them.
    """
    known = set(features)
    if id in known:
        raise InvalidInputError((f"{id!r} is a feature of the model, so that it cannot be ", Argument("id")))
    needed = [name for name in drop if name in known]
    if needed:
        they = "is a feature" if len(needed) == 1 else "are features"
        message = f"{few(needed)} {they} of the model, which needs all of them: leave it out of "
        raise InvalidInputError((message, Argument("drop")))


@dataclass(frozen=True)
class Recipe:
    """How the columns of a table became features and labels.

    `read_label_table`, `read_arff` and `load_labels` return one with the data, as ``data.recipe``. Given to them with
    another file it makes the same features of it: ``load_labels("new.csv", recipe=data.recipe)``. A model which the
    command line fitted holds it as ``recipe_``, see the example.

    Parameters
    ----------
    features : tuple of str
        Columns of the table which are features.
    labels : tuple of str, default ()
        Columns which are labels.
    drop : tuple of str, default ()
        Columns which were left out.
    id : str, optional
        The column which names the rows.
    words : mapping from str to tuple of str
        For each feature of text its values. Two words for off and on (no/yes, ...) make one column of 0 and 1,
        others a column ``feature=value`` each.
    text : mapping from str to object
        How a text file was said to be written: ``sep``, ``header`` and ``encoding``, as far as they were given.

    Examples
    --------
    >>> recipe = Recipe(("wind", "sky"), ("is_sea",), ("note",), "beach", {"sky": ("blue", "grey")})
    >>> recipe.feature_names
    ('wind', 'sky=blue', 'sky=grey')
    >>> recipe.roles(["beach", "sky", "note", "wind"], labels=())
    ((), ('note',), 'beach')

    The features of a new file, as a model of ``cofactor fit pages.csv --labels tag_ --out tags.cofactor`` takes them::

        model = cofactor.load("tags.cofactor")
        data = load_labels("new-pages.csv", labels=[], recipe=model.recipe_, sparse=False)
        model.predict(pd.DataFrame(data.X, columns=data.feature_names))
    """

    features: tuple[str, ...]
    labels: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id: str | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)

    def spread(self, name: str) -> bool:
        """Return whether a feature became a column for each of its values.

        Parameters
        ----------
        name : str
            Name of the column of the table.
        """
        return name in self.words and truth_of(self.words[name]) is None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X."""
        found: list[str] = []
        for name in self.features:
            found += [f"{name}={word}" for word in self.words[name]] if self.spread(name) else [name]
        return tuple(found)

    def roles(
        self, names: Sequence[str], labels: Any = None, drop: Sequence[str] = (), id: str | None = None
    ) -> tuple[Any, tuple[str, ...], str | None]:
        """Return which columns of another table are labels, which are left out, and which names the rows.

        Labels, the id and what is left out need not be there again; but of labels all or none.

        Parameters
        ----------
        names : sequence of str
            Columns of the other table.
        labels : optional
            None for those of this recipe, if any of them is there. If it is empty, they are left out.
        drop, id
            What is left out besides, and the column of ids instead of that of this recipe.

        Raises
        ------
        InvalidInputError
            If `drop` or `id` names a feature of this recipe.
        """
        keep_features(self.features, drop, id)
        if labels is None and not set(self.labels).intersection(names):
            labels = ()
        id = id or (self.id if self.id in names else None)
        known = {*self.drop, *([self.id] if self.id else ()), *(() if labels is None else self.labels)}
        more = (name for name in names if name in known and name not in (id, *drop))
        return self.labels if labels is None else labels, (*drop, *more), id

    def notes(self) -> tuple[str, ...]:
        """Say what was done with columns of text: at most one sentence for each way in which they became numbers."""
        spread = [f"{name!r} ({len(words)})" for name, words in self.words.items() if self.spread(name)]
        truth = [
            f"{name!r} ({', '.join(words)})"
            for name, words in self.words.items()
            if not self.spread(name) and not all(word.lstrip("+-").isdigit() for word in words)
        ]
        one_each = f"{counted(len(spread), 'column')} of text became one feature for each of the values: "
        off_on = f"{counted(len(truth), 'column')} of text became 0 and 1: "
        return tuple(text + _some(names) for text, names in ((one_each, spread), (off_on, truth)) if names)

    def as_json(self) -> dict[str, Any]:
        """Return the recipe as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Recipe:
        """Return the recipe that `as_json` wrote; refuse what is none.

        Parameters
        ----------
        value : mapping from str to object
            What a file holds.

        Raises
        ------
        InvalidInputError
            If it is not a recipe.
        """
        if set(value) != {one.name for one in fields(cls)}:
            raise InvalidInputError("a recipe of columns has other members than those of a recipe")
        text = value["text"]
        if not isinstance(value["words"], Mapping) or not isinstance(text, Mapping) or not set(text) <= set(_TEXT):
            raise InvalidInputError("a recipe of columns must hold words and options of text by their names")
        if not all(isinstance(given, _TEXT[name]) for name, given in text.items()):
            raise InvalidInputError("a recipe of columns has options of text of a wrong type")
        lists = (value["features"], value["labels"], value["drop"], *value["words"].values())
        texts = [text for one in lists if isinstance(one, list | tuple) for text in one]
        texts += [value["id"]] if value["id"] is not None else []
        if not all(isinstance(one, list | tuple) for one in lists) or not all(isinstance(one, str) for one in texts):
            raise InvalidInputError("a recipe of columns must hold lists of names")
        words = {str(name): tuple(some) for name, some in value["words"].items()}
        features = tuple(value["features"])
        if first_repeated(features) is not None or not set(words) <= set(features) or not all(words.values()):
            raise InvalidInputError("a recipe of columns has features that do not fit together")
        return cls(features, tuple(value["labels"]), tuple(value["drop"]), value["id"], words, dict(text))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
