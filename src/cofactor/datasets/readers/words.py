"""Free text as features: tf-idf of its words, learned from the texts of training."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from cofactor.datasets.readers.matrices import small_indices
from cofactor.datasets.table import Words
from cofactor.errors import InvalidInputError, Place
from cofactor.limits import COLUMNS, FIT
from cofactor.recipe import MOST_WORDS, Vocabulary
from cofactor.text import counted

__all__ = ["check_sizes", "learn_vocabulary", "words_of"]

_MOST_NGRAMS = 5
_LETTERS = 6  # of a word, with the blank after it
_BYTES_OF_ONE, _BYTES_OF_RUN = 100, 240  # for a word, and for a run of words, most of which occur once: measured
_LEAST_ROWS = 2  # a word of one row says nothing of any other row


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


def learn_vocabulary(
    texts: Words, place: Place, max_words: int | None, ngrams: int | None
) -> tuple[Vocabulary, csr_array]:
    """Return the words of a column of text that become features, and these: what `words_of` makes of the same texts.

    They are the most frequent ones of those words which occur in two or more rows.

    Words are runs of two or more letters and digits, in lower case. There is no list of words to be left out, since
    tf-idf gives frequent words little weight, in any language.

    Parameters
    ----------
    texts : Words
        The cells.
    place : Place
        Where the column is.
    max_words, ngrams : int, optional
        As in `read_label_table`.

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
    COLUMNS.check(len(known), f"has {counted(len(known), 'word', form=',')}", place)
    return Vocabulary(tuple(known), tuple(vectorizer.idf_.tolist()), longest), small_indices(csr_array(found))


def _check_memory(texts: Words, ngrams: int, place: Place) -> None:
    """Refuse texts whose runs of words would not fit into memory while they are counted."""
    lengths = np.array([len(cell) for cell in texts.values], dtype=np.int64)
    n_words = int(lengths[texts.codes].sum()) // _LETTERS
    size = n_words * (_BYTES_OF_ONE + _BYTES_OF_RUN * (ngrams - 1))
    runs = "their words" if ngrams == 1 else f"their runs of up to {ngrams} words"
    FIT.check(size, f"to count {runs}, about {n_words:,} words of text take {size:,} bytes", place)


def words_of(texts: Words, known: Vocabulary) -> csr_array:
    """Return tf-idf of the words in each cell, with rows of norm 1, or 0 where no word is known.

    Parameters
    ----------
    texts : Words
        The cells.
    known : Vocabulary
        The words which are features; others are left out.

    Returns
    -------
    csr_array of shape (n, words), float64

    Examples
    --------
    >>> words_of(Words.of(["sea and sun", "", "sea"]), Vocabulary(("sea", "sun"), (3.0, 4.0))).toarray()
    array([[0.6, 0.8],
           [0. , 0. ],
           [1. , 0. ]])
    """
    vectorizer = _vectorizer(known.ngrams, vocabulary={word: k for k, word in enumerate(known.words)})
    vectorizer.idf_ = np.array(known.idf)
    distinct = csr_array(vectorizer.transform(texts.values))
    return small_indices(distinct[texts.codes])


def _vectorizer(ngrams: int, **extra: Any) -> Any:
    """Return the vectorizer that reads all texts; a file of a model cannot change its settings."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes seconds to load, and few tables hold text

    return TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=True, **extra)
