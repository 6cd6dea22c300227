"""What became of the columns of a table of features and labels, so that other tables can be read in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from cofactor.errors import Argument, InvalidInputError
from cofactor.text import first_repeated, plural, shorten

#: How many features a column of text becomes at most, unless the caller says another number.
MOST_WORDS = 20_000

_NAMED = 10  # how many columns a note names
_MOST_NGRAMS = 5
_HUGE = 1e300  # nothing in training can be so large
_TEXT: dict[str, type] = {"sep": str, "header": bool, "encoding": str}
_LATER = {"vocabularies", "fill", "scale", "label_sep", "tags"}  # members which files of older versions have not

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
        message = f"{shorten(needed)} {they} of the model, which needs all of them: leave it out of "
        raise InvalidInputError((message, Argument("drop")))


@dataclass(frozen=True)
class Vocabulary:
    """The words of a column of text which became features, and what each of them weighs.

    A text becomes the row of tf-idf values f(w) idf(w), divided by its Euclidean norm, with f(w) = 1 + ln(count of w)
    and idf(w) = 1 + ln((1 + n) / (1 + number of training rows with w)) for n training rows.

    Parameters
    ----------
    words : tuple of str
        In the order of their features.
    idf : tuple of float
        A weight above 0 for each.
    ngrams : int, default 1
        Features are single words, and runs of up to so many words.
    """

    words: tuple[str, ...]
    idf: tuple[float, ...]
    ngrams: int = 1

    @classmethod
    def of_json(cls, value: Any) -> Vocabulary:
        """Return the vocabulary that a schema wrote; refuse what is none.

        Parameters
        ----------
        value : object
            What a file holds.
        """
        if not isinstance(value, Mapping) or set(value) != {one.name for one in fields(cls)}:
            raise InvalidInputError("a vocabulary has other members than those of a vocabulary")
        words, idf, ngrams = value["words"], value["idf"], value["ngrams"]
        if not _distinct(words) or not words or not isinstance(idf, list | tuple) or len(idf) != len(words):
            raise InvalidInputError("a vocabulary must have distinct words, and a weight for each")
        if not all(map(_is_finite, idf)) or min(idf) <= 0 or ngrams not in range(1, _MOST_NGRAMS + 1):
            raise InvalidInputError("a vocabulary has weights which are not above 0, or too long runs of words")
        return cls(tuple(words), tuple(map(float, idf)), int(ngrams))


@dataclass(frozen=True)
class Schema:
    """How the columns of a table became features and labels.

    `read_label_table`, `read_arff` and `load_labels` return one with the data, as ``data.schema``. Given to them with
    another file it makes the same features of it: ``load_labels("new.csv", schema=data.schema)``. A model which the
    command line fitted holds it as ``schema_``, see the example.

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
    vocabularies : mapping from str to Vocabulary
        For each feature that is free text its words; each becomes a column ``feature:word``.
    fill : mapping from str to float
        What stands for a missing cell: for each feature that became one column its median in training. Cells of other
        features which are missing give zeros. A feature of one column that is not in it must have all its cells.
    scale : mapping from str to (float, float)
        For each feature of numbers beside text its mean and its standard deviation in training: it was standardized,
        so that it is comparable with words.
    label_sep : str, optional
        What parts the tags in the one column of `labels`, if it lists them.
    tags : tuple of str
        These tags, which are the labels then.

    Examples
    --------
    >>> schema = Schema(("wind", "sky"), ("is_sea",), ("note",), "beach", {"sky": ("blue", "grey")})
    >>> schema.feature_names
    ('wind', 'sky=blue', 'sky=grey')
    >>> schema.roles(["beach", "sky", "note", "wind"], labels=())
    ((), ('note',), 'beach')

    A model that holds a schema, such as one of ``cofactor fit pages.csv --labels tag_ --out tags.cofactor``, takes
    frames with the columns of the file, and data which were read by it::

        model = cofactor.load("tags.cofactor")
        model.predict(pd.read_csv("new-pages.csv"))
        model.predict(load_labels("new-pages.csv", labels=[], schema=model.schema_))
    """

    features: tuple[str, ...]
    labels: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    id: str | None = None
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: Mapping[str, Any] = field(default_factory=dict)
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    fill: Mapping[str, float] = field(default_factory=dict)
    scale: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    label_sep: str | None = None
    tags: tuple[str, ...] = ()

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
            if name in self.vocabularies:
                found += [f"{name}:{word}" for word in self.vocabularies[name].words]
            else:
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
            None for those of this schema, if any of them is there. If it is empty, they are left out.
        drop, id
            What is left out besides, and the column of ids instead of that of this schema.

        Raises
        ------
        InvalidInputError
            If `drop` or `id` names a feature of this schema.
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
        free = [f"{name!r} ({len(known.words):,})" for name, known in self.vocabularies.items()]
        spread = [f"{name!r} ({len(words)})" for name, words in self.words.items() if self.spread(name)]
        truth = [
            f"{name!r} ({', '.join(words)})"
            for name, words in self.words.items()
            if not self.spread(name) and not all(word.lstrip("+-").isdigit() for word in words)
        ]
        of_words = f"{plural(len(free), 'column')} of text became tf-idf of words: "
        one_each = f"{plural(len(spread), 'column')} of text became one feature for each of the values: "
        off_on = f"{plural(len(truth), 'column')} of text became 0 and 1: "
        return tuple(
            text + _some(names) for text, names in ((of_words, free), (one_each, spread), (off_on, truth)) if names
        )

    def fillings(self, filled: Mapping[str, int]) -> tuple[str, ...]:
        """Say which cells without a value were filled, and by what: one sentence, or none.

        Parameters
        ----------
        filled : mapping from str to int
            How many cells of each feature had no value, as `LabelDataset` has it.

        Examples
        --------
        >>> Schema(("wind", "sky"), words={"sky": ("blue", "grey")}, fill={"wind": 3.5}).fillings({"wind": 2, "sky": 1})
        ("3 cells without a value were filled: 'wind' (2, by the median 3.5), 'sky' (1, by zeros)",)
        """
        if not filled:
            return ()
        n = sum(filled.values())
        by = {name: f"the median {self.fill[name]:g}" if name in self.fill else "zeros" for name in filled}
        what = f"{plural(n, 'cell', form=',')} without a value {'was' if n == 1 else 'were'} filled: "
        return (what + _some([f"{name!r} ({count:,}, by {by[name]})" for name, count in filled.items()]),)

    def as_json(self) -> dict[str, Any]:
        """Return the schema as values that JSON can hold."""
        return asdict(self)

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> Schema:
        """Return the schema that `as_json` wrote; refuse what is none.

        Parameters
        ----------
        value : mapping from str to object
            What a file holds.

        Raises
        ------
        InvalidInputError
            If it is not a schema.
        """
        known = {one.name for one in fields(cls)}
        if not set(value) <= known or not known - set(value) <= _LATER:
            raise InvalidInputError("a schema of columns has other members than those of a schema")
        value = {**{name: {} for name in _LATER}, "label_sep": None, "tags": [], **value}
        text = value["text"]
        mappings = (value[name] for name in ("words", "text", "vocabularies", "fill", "scale"))
        if not all(isinstance(one, Mapping) for one in mappings) or not set(text) <= set(_TEXT):
            raise InvalidInputError("a schema of columns must hold words and options of text by their names")
        if not all(isinstance(given, _TEXT[name]) for name, given in text.items()):
            raise InvalidInputError("a schema of columns has options of text of a wrong type")
        lists = (value["features"], value["labels"], value["drop"], value["tags"], *value["words"].values())
        texts = [text for one in lists if isinstance(one, list | tuple) for text in one]
        texts += [one for one in (value["id"], value["label_sep"]) if one is not None]
        if not all(isinstance(one, list | tuple) for one in lists) or not all(isinstance(one, str) for one in texts):
            raise InvalidInputError("a schema of columns must hold lists of names")
        schema = cls(
            features=tuple(value["features"]),
            labels=tuple(value["labels"]),
            drop=tuple(value["drop"]),
            id=value["id"],
            words={str(name): tuple(some) for name, some in value["words"].items()},
            text=dict(text),
            vocabularies={str(name): Vocabulary.of_json(one) for name, one in value["vocabularies"].items()},
            fill=dict(value["fill"]),
            scale={name: tuple(pair) if isinstance(pair, list) else pair for name, pair in value["scale"].items()},
            label_sep=value["label_sep"],
            tags=tuple(value["tags"]),
        )
        schema._check()
        return schema

    def _check(self) -> None:
        """Refuse a schema that was read from a file if its parts do not fit together."""
        single = {name for name in self.features if name not in self.vocabularies and not self.spread(name)}
        numbers = single - set(self.words)
        kinds = set(self.words) | set(self.vocabularies)
        twice = first_repeated(self.features) is not None or set(self.words) & set(self.vocabularies)
        if twice or not kinds <= set(self.features) or not all(self.words.values()):
            raise InvalidInputError("a schema of columns has features that do not fit together")
        if not set(self.fill) <= single or not all(map(_is_finite, self.fill.values())):
            raise InvalidInputError("a schema of columns fills missing cells with what is no number")
        pairs = [pair for pair in self.scale.values() if isinstance(pair, tuple) and len(pair) == 2]
        if not set(self.scale) <= numbers or len(pairs) < len(self.scale):
            raise InvalidInputError("a schema of columns scales what is no feature of numbers")
        if not all(_is_finite(part) for pair in pairs for part in pair) or any(pair[1] <= 0 for pair in pairs):
            raise InvalidInputError("a schema of columns scales by what is no number above 0")
        listed = self.label_sep is not None
        if (listed and (not self.label_sep or len(self.labels) != 1)) or bool(self.tags) > listed:
            raise InvalidInputError("a schema of columns has tags without the column which lists them")
        if not _distinct(self.tags) or not all(self.tags):
            raise InvalidInputError("a schema of columns has tags which are not distinct names")


def _distinct(names: Any) -> bool:
    """Return whether it is a list of distinct texts."""
    return (
        isinstance(names, list | tuple) and all(isinstance(one, str) for one in names) and len(set(names)) == len(names)
    )


def _is_finite(value: Any) -> bool:
    """Return whether it is a finite number, which a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _HUGE


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
