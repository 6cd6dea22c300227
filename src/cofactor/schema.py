"""What becomes of the columns of a table of features and labels: learned from one, done to others.

The words of free text are scikit-learn's. Its imputation, standardization and one-hot columns are not taken: for the
row that a server is asked about they need six times as long as `Schema.transform`, they do not say which row holds a
word that is new, and their median overflows. Their state, set from a file, would be attributes that are not documented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from itertools import chain, groupby
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, issparse

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.limits import CELLS, COLUMNS, FIT
from cofactor.text import first_repeated, plural, shorten

#: How many features a column of text becomes at most, unless the caller says another number.
MOST_WORDS = 20_000

_NAMED = 10  # how many columns a note names
_MOST_NGRAMS = 5
_HUGE = 1e300  # nothing in training can be so large
_TEXT: dict[str, type] = {"sep": str, "header": bool, "encoding": str}
_LATER = {"vocabularies", "fill", "scale", "label_sep", "tags"}  # members which files of older versions have not

_MOST_VALUES = 250  # values of a column of text, where nothing else is said: more than there are countries
_ROWS_TO_JUDGE = 20  # with fewer rows, all values of a feature may be different by chance
_DISTINCT = 0.9  # part of the rows with a value of their own from which on a column names the rows

_LETTERS = 6  # of a word, with the blank after it
_BYTES_OF_ONE, _BYTES_OF_RUN = 100, 240  # for a word, and for a run of words, most of which occur once: measured
_LEAST_ROWS = 2  # a word of one row says nothing of any other row

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
class Words:
    """Cells of text: the distinct values, without blanks around them, and for each row the position of its value.

    Examples
    --------
    >>> Words.of(["sea", " sun", "sea"])
    Words(values=['sea', 'sun'], codes=array([0, 1, 0]))
    """

    values: list[str]
    codes: NDArray[np.int64]
    merged: str | None = field(default=None, repr=False)  #: the first cell with blanks that equals another without them

    @classmethod
    def of(cls, cells: Iterable[str]) -> Words:
        """Number the distinct cells of a column."""
        values: dict[str, int] = {}
        codes = [values.setdefault(cell, len(values)) for cell in cells]
        return cls.stripped(list(values), np.array(codes, dtype=np.int64))

    @classmethod
    def stripped(cls, values: list[str], codes: NDArray[np.int64]) -> Words:
        """Return cells by the positions of their values, which may have blanks around them."""
        stripped = [cell.strip() for cell in values]
        if stripped == values:
            return cls(values, codes)
        position = {cell: k for k, cell in enumerate(dict.fromkeys(stripped))}
        merged = None
        if len(position) < len(values):
            seen = set(values)
            merged = next(
                (cell for cell, bare in zip(values, stripped, strict=True) if cell != bare and bare in seen), None
            )
        return cls(list(position), np.array([position[cell] for cell in stripped], dtype=np.int64)[codes], merged)

    def first_row(self, wanted: Callable[[str], bool]) -> int | None:
        """Return the first row whose cell is one of those wanted; None if there is none."""
        found = np.array([wanted(value) for value in self.values], dtype=bool)
        return int(np.argmax(found[self.codes])) if found.any() else None

    def at(self, row: int) -> str:
        """Return the cell of a row."""
        return self.values[self.codes[row]]


#: A column: numbers, NaN where there is none, or text, empty where there is none.
Cells: TypeAlias = NDArray[np.float64] | Words

#: From the name of a feature, and a row or None, to what errors call it.
PlaceOf: TypeAlias = Callable[..., Place]


def missing(cells: Cells) -> NDArray[np.bool_]:
    """Return which cells have no value.

    Examples
    --------
    >>> missing(Words.of(["sea", ""])).tolist(), missing(np.array([np.nan, 1])).tolist()
    ([False, True], [True, False])
    """
    if not isinstance(cells, Words):
        return np.isnan(cells)
    return cells.codes == (cells.values.index("") if "" in cells.values else -1)


class Transformed(NamedTuple):
    """What columns became.

    Attributes
    ----------
    X : ndarray, or csr_array if there is free text, of shape (n, D), float64
    filled : dict from str to int
        How many cells of a column had no value, by its name.
    new : dict from str to ndarray
        Which rows hold words that did not occur in training, where each word makes a column: all these are 0 there.
    """

    X: NDArray[np.float64] | csr_array
    filled: dict[str, int]
    new: dict[str, NDArray[np.intp]]


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
    def of_json(cls, value: Any) -> Self:
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

    @classmethod
    def learn(
        cls, texts: Words, place: Place, max_words: int | None = None, ngrams: int | None = None
    ) -> tuple[Self, csr_array]:
        """Return the words of a column of text that become features, and these: what `transform` makes of the texts.

        They are the most frequent ones of those words which occur in two or more rows. Words are runs of two or more
        letters and digits, in lower case. There is no list of words to be left out, since tf-idf gives frequent words
        little weight, in any language.

        Parameters
        ----------
        texts : Words
            The cells.
        place : Place
            Where the column is.
        max_words, ngrams : int, optional
            As in `cofactor.datasets.read_label_table`.

        Raises
        ------
        InvalidInputError
            If no word is in two rows.
        """
        words, longest = check_sizes(max_words, ngrams)
        _check_memory(texts, longest, place)
        vectorizer = _vectorizer(longest, min_df=_LEAST_ROWS, max_features=words)
        try:
            found = vectorizer.fit_transform([texts.values[code] for code in texts.codes.tolist()])
        except ValueError:  # there is no word; scikit-learn has several messages for it
            what = "holds no text" if not any(texts.values) else f"has no word that occurs in {_LEAST_ROWS} rows"
            raise InvalidInputError(f"{what}, so that no feature can be made of it", place=place) from None
        known = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
        COLUMNS.check(len(known), f"has {plural(len(known), 'word', form=',')}", place)
        return cls(tuple(known), tuple(vectorizer.idf_.tolist()), longest), csr_array(found)

    def transform(self, texts: Words) -> csr_array:
        """Return tf-idf of the words in each cell, with rows of norm 1, or 0 where no word is known.

        Parameters
        ----------
        texts : Words
            The cells.

        Returns
        -------
        csr_array of shape (n, words), float64

        Examples
        --------
        >>> Vocabulary(("sea", "sun"), (3.0, 4.0)).transform(Words.of(["sea and sun", "", "sea"])).toarray()
        array([[0.6, 0.8],
               [0. , 0. ],
               [1. , 0. ]])
        """
        return csr_array(self._vectorizer.transform(texts.values))[texts.codes]

    @cached_property
    def _vectorizer(self) -> Any:
        """What transforms texts; made once, since a server is asked about one row after another."""
        vectorizer = _vectorizer(self.ngrams, vocabulary={word: k for k, word in enumerate(self.words)})
        vectorizer.idf_ = np.array(self.idf)
        return vectorizer


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
        return name in self.words and not self.truth(name)

    def truth(self, name: str) -> dict[str, float]:
        """Return 0 or 1 for each word of a feature of words for off and on, in lower case; nothing of another one.

        Parameters
        ----------
        name : str
            Name of the column of the table.
        """
        words = self.words.get(name, ())
        return dict(zip(map(str.lower, words), map(float, truth_of(words) or ()), strict=False))

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
        known = {*self.drop, *([self.id] if self.id else ()), *(self.labels if _is_empty(labels) else ())}
        more = (name for name in names if name in known and name not in (id, *drop))
        return self.labels if labels is None else labels, (*drop, *more), id

    def with_labels(self, names: Mapping[str, str | None], new: tuple[str, ...] = ()) -> Self:
        """Return the schema of tables with other labels: columns or tags that are called otherwise, left out, or new.

        Parameters
        ----------
        names : mapping from str to str or None
            New names of labels; None for one that is left out from now on.
        new : tuple of str
            Labels that join the others; a column may have been left out until now.

        Raises
        ------
        InvalidInputError
            If a column would be called as another one that is no label.

        Examples
        --------
        >>> Schema(("wind",), ("sea", "sun", "ski")).with_labels({"sun": "sunny", "ski": None}).labels
        ('sea', 'sunny')
        """
        known = self.labels if self.label_sep is None else self.tags
        found = (*(called for name in known if (called := names.get(name, name)) is not None), *new)
        if self.label_sep is not None:
            return replace(self, tags=found)
        drop = tuple(name for name in self.drop if name not in new)
        taken = next((name for name in found if name in {*self.features, *drop, self.id}), None)
        if taken is not None:
            raise InvalidInputError(f"the table has a column {taken!r} that is no label")
        gone = tuple(name for name in known if names.get(name, name) is None)
        return replace(self, labels=found, drop=(*drop, *gone))

    @classmethod
    def learn(
        cls,
        columns: Mapping[str, Cells],
        place: PlaceOf,
        *,
        texts: Sequence[str] = (),
        max_values: int | None = None,
        max_words: int | None = None,
        ngrams: int | None = None,
        **roles: Any,
    ) -> tuple[Self, Transformed]:
        """Return how columns become features, as their cells teach it, and these features.

        Parameters
        ----------
        columns : mapping from str to Cells
            The cells of each feature.
        place : callable
            As in `transform`.
        texts : sequence of str, default=()
            Which columns are free text.
        max_values, max_words, ngrams : int, optional
            As in `cofactor.datasets.read_label_table`.
        **roles
            The members of the schema which say what the other columns are.

        Raises
        ------
        InvalidInputError
            If a column has no value, or so many words that it is free text, or is free text without words.
        """
        worded = {name: one for name, one in columns.items() if isinstance(one, Words) and name not in texts}
        words = {name: tuple(sorted(filter(None, cells.values))) for name, cells in worded.items()}
        sizes = [(name, len(some), place(name)) for name, some in words.items() if truth_of(some) is None]
        check_words(sizes, max((len(cells.codes) for cells in worded.values()), default=0), max_values)
        vocabularies, made, fill, scale = {}, {}, {}, {}
        for name, cells in columns.items():
            if name in texts and isinstance(cells, Words):
                vocabularies[name], made[name] = Vocabulary.learn(cells, place(name), max_words, ngrams)
                continue
            if missing(cells).all():
                what = ("no row has a value; leave it out with ", Argument("drop", [name]))
                raise InvalidInputError(what, place=place(name))
            numbers = _truth_values(cells) if isinstance(cells, Words) else cells
            if numbers is None:
                continue
            fill[name] = _median(numbers)
            if texts and name not in words:
                scale[name] = _mean_and_deviation(numbers, fill[name])
        schema = cls(tuple(columns), words=words, vocabularies=vocabularies, fill=fill, scale=scale, **roles)
        return schema, schema.transform(columns, place, made=made)  # texts are cut into words only once

    def transform(
        self, columns: Mapping[str, Cells], place: PlaceOf = Place, *, made: Mapping[str, csr_array] | None = None
    ) -> Transformed:
        """Return the features that columns become.

        Parameters
        ----------
        columns : mapping from str to Cells
            The cells of each feature: text for those of `words` and `vocabularies`, numbers for others; words for off
            and on may be 0 and 1 already.
        place : callable, default=Place
            From the name of a feature, and a row if it is one, to what errors call it.
        made : mapping from str to csr_array, optional
            What columns of free text became already.

        Raises
        ------
        InvalidInputError
            If a cell has no value, and the column nothing to fill it with, or is neither off nor on.

        Examples
        --------
        >>> schema = Schema(("wind", "sky"), words={"sky": ("blue", "grey")}, fill={"wind": 3.5})
        >>> found = schema.transform({"wind": np.array([1, np.nan]), "sky": Words.of(["grey", "red"])})
        >>> found.X.tolist(), found.filled, found.new
        ([[1.0, 0.0, 1.0], [3.5, 0.0, 0.0]], {'wind': 1}, {'sky': array([1])})
        """
        parts: list[Any] = []
        filled: dict[str, int] = {}
        new: dict[str, NDArray[np.intp]] = {}
        width = 0
        for name in self.features:
            cells = columns[name]
            gaps = missing(cells)
            if gaps.any():
                filled[name] = int(np.count_nonzero(gaps))
            if name in self.vocabularies and isinstance(cells, Words):
                parts.append(made[name] if made else self.vocabularies[name].transform(cells))
                continue
            width += len(self.words[name]) if self.spread(name) else 1
            many = f"with the values of column {name!r} there are {plural(width, 'column')}"
            CELLS.check(len(gaps) * width, many, place(name), size=len(gaps) * len(columns))
            if isinstance(cells, Words) and self.spread(name):
                known = {word: k for k, word in enumerate(self.words[name])}
                codes = np.array([known.get(word, -1) for word in cells.values], dtype=np.int64)[cells.codes]
                parts.append(codes[:, None] == np.arange(len(known)))
                if ((codes < 0) & ~gaps).any():
                    new[name] = np.flatnonzero((codes < 0) & ~gaps)
            else:
                parts.append(self._numbers(name, cells, gaps, place)[:, None])
        if not self.vocabularies:
            return Transformed(np.hstack(parts).astype(np.float64, copy=False), filled, new)
        runs = (some if texts else [csr_array(np.hstack([*some]))] for texts, some in groupby(parts, issparse))
        X = hstack([*chain.from_iterable(runs)], format="csr", dtype=np.float64)
        return Transformed(csr_array(X), filled, new)

    def _numbers(self, name: str, cells: Cells, gaps: NDArray[np.bool_], place: PlaceOf) -> NDArray[np.float64]:
        """Return the numbers of a feature that becomes one column, filled and scaled."""
        numbers = _truth_values(cells) if isinstance(cells, Words) else cells
        if numbers is None:
            assert isinstance(cells, Words)
            row = cells.first_row(lambda word: bool(word) and word.lower() not in self.truth(name))
            assert row is not None
            expected = f"expected {' or '.join(self.words[name])} as in training"
            raise InvalidInputError(f"{expected}, found {cells.at(row)!r}", place=place(name, row))
        if gaps.any():
            if name not in self.fill:
                raise InvalidInputError("no value", place=place(name, int(np.argmax(gaps))))
            numbers = np.where(gaps, self.fill[name], numbers)
        if name in self.scale:
            mean, deviation = self.scale[name]
            numbers = (numbers - mean) / deviation
        return numbers

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
    def of_json(cls, value: Mapping[str, Any]) -> Self:
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


def _is_empty(labels: Any) -> bool:
    return isinstance(labels, list | tuple) and not labels


def _truth_values(cells: Words) -> NDArray[np.float64] | None:
    """Return words for off and on as 0 and 1, and NaN where there is none; None of other words."""
    some = [word for word in cells.values if word]
    truth = truth_of(some) if some else ()
    if truth is None:
        return None
    codes = dict(zip(some, truth, strict=True))
    return np.array([codes.get(word, np.nan) for word in cells.values])[cells.codes]


def _median(numbers: NDArray[np.float64]) -> float:
    """Return the median of those numbers that are there; unlike NumPy's it does not overflow."""
    known = np.sort(numbers[~np.isnan(numbers)])
    low, high = known[(len(known) - 1) // 2], known[len(known) // 2]
    return float(low if low == high else low / 2 + high / 2)


def _mean_and_deviation(numbers: NDArray[np.float64], filler: float) -> tuple[float, float]:
    """Return mean and standard deviation of numbers when missing ones are filled; the latter is 1 where it is 0."""
    filled = np.where(np.isnan(numbers), filler, numbers)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers so large are refused by every model
        mean, deviation = float(filled.mean()), float(filled.std())
    return (mean, deviation or 1.0) if np.isfinite([mean, deviation]).all() else (0.0, 1.0)


def check_words(
    words: Sequence[tuple[str, int, Place]], n_rows: int, most: int | None, *, may_be_text: bool = True
) -> None:
    """Refuse features of text with so many values that they are free text, or name the rows; all of them at once.

    Parameters
    ----------
    words : sequence of (str, int, Place)
        Name of each column of text, how many values it has, and where it is.
    n_rows : int
        How many rows there are.
    most : int, optional
        How many values it may have; by default 250, and in a table of 20 or more rows less than nine tenths of the
        rows.
    may_be_text : bool, default True
        Whether the reader makes features of the words of free text.
    """
    limit = _MOST_VALUES if most is None else most
    rowwise = _DISTINCT * n_rows if most is None and n_rows >= _ROWS_TO_JUDGE else np.inf
    found = [one for one in words if one[1] > limit or one[1] >= rowwise]
    if not found:
        return
    names, highest = [name for name, _, _ in found], max(n for _, n, _ in found)
    why = "nearly every row has another one" if highest >= rowwise else f"more than {limit}"
    values = f"{highest:,} different values in {plural(n_rows, 'row', form=',')} ({why}), each of which would be a"
    one, place = len(found) == 1, found[0][2]
    by_words = (f"make features of {'its' if one else 'their'} words with ", Argument("text", names), ", ")
    raise InvalidInputError(
        f"{', '.join(map(repr, names))} {'is text with' if one else 'are text with up to'} {values} feature",
        advice=(
            *(by_words if may_be_text else ()),
            *(f"leave {'it' if one else 'them'} out with ", Argument("drop", names)),
            *(f", name the rows by {'it' if one else 'one'} with ", Argument("id", names[0])),
            *(", or take all values with ", Argument("max_values", highest)),
        ),
        place=place if one else Place(place.file),
    )


def check_sizes(max_words: int | None, ngrams: int | None) -> tuple[int, int]:
    """Return how many words, and how long runs of words, may become features; refuse others.

    Parameters
    ----------
    max_words : int, optional
        By default `MOST_WORDS`.
    ngrams : int, optional
        By default 1.
    """
    words, longest = MOST_WORDS if max_words is None else max_words, 1 if ngrams is None else ngrams
    if isinstance(words, bool) or not isinstance(words, int | np.integer) or words < 1:
        raise InvalidInputError("expected a whole number from 1", argument="max_words", found=max_words)
    if isinstance(longest, bool) or not isinstance(longest, int | np.integer) or not 1 <= longest <= _MOST_NGRAMS:
        expected = f"expected a whole number from 1 to {_MOST_NGRAMS}"
        raise InvalidInputError(expected, argument="ngrams", found=ngrams)
    return int(words), int(longest)


def _check_memory(texts: Words, ngrams: int, place: Place) -> None:
    """Refuse texts whose runs of words would not fit into memory while they are counted."""
    lengths = np.array([len(cell) for cell in texts.values], dtype=np.int64)
    n_words = int(lengths[texts.codes].sum()) // _LETTERS
    size = n_words * (_BYTES_OF_ONE + _BYTES_OF_RUN * (ngrams - 1))
    runs = "their words" if ngrams == 1 else f"their runs of up to {ngrams} words"
    FIT.check(size, f"to count {runs}, about {n_words:,} words of text take {size:,} bytes", place)


def _vectorizer(ngrams: int, **extra: Any) -> Any:
    """Return the vectorizer that reads all texts; a file of a model cannot change its settings."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes seconds to load, and few tables hold text

    return TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=True, **extra)


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
