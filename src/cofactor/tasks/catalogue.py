"""Items of a model by the words of their titles."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Catalogue", "words_of"]

_WORD = re.compile(r"\w+")
_APOSTROPHES = re.compile("['’]")
_LAST = chr(0x10FFFF)  #: follows all other letters


class Catalogue:
    """Items, their titles and how many ratings they have; found by words.

    Parameters
    ----------
    ids : sequence of id
        Of all items.
    counts : array-like of shape (n,)
        How many ratings each has.
    titles : mapping from str to str
        By the text of an id. An item without a title is found by its id.

    Examples
    --------
    >>> films = Catalogue([7, 8, 9], [10, 30, 20], {"7": "Amélie (2001)", "8": "Schindler's List (1993)"})
    >>> films.found("LIST sch", 5)
    [{'item': 8, 'ratings': 30, 'title': "Schindler's List (1993)"}]
    >>> [one["item"] for one in films.found("amel", 5)], [one["item"] for one in films.found("", 2)]
    ([7], [8, 9])
    """

    def __init__(self, ids: Iterable[Any], counts: Any, titles: Mapping[str, str]) -> None:
        ids, counts = list(ids), np.asarray(counts)
        best_first = np.argsort(-counts, kind="stable")
        self._ids, self._counts = [ids[k] for k in best_first.tolist()], counts[best_first]
        self._place_of = {one: place for place, one in enumerate(self._ids)}
        self._titles = {one: titles[str(one)] for one in ids if titles.get(str(one))}
        by_word: dict[str, list[int]] = {}
        for place, one in enumerate(self._ids):
            for word in words_of(self._titles.get(one, str(one))):
                by_word.setdefault(word, []).append(place)
        self._words = sorted(by_word)
        lengths = [len(by_word[word]) for word in self._words]
        self._starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self._places = np.array([place for word in self._words for place in by_word[word]], dtype=np.int32)

    @property
    def n_titled(self) -> int:
        """How many items have a title."""
        return len(self._titles)

    def found(self, search: str, n: int) -> list[dict[str, Any]]:
        """Return items in whose titles each word of a search begins a word, those with most ratings first.

        Parameters
        ----------
        search : str
            Words; case, accents and apostrophes do not matter. Without any, all items are found.
        n : int
            How many to return at most.
        """
        places = np.arange(len(self._ids), dtype=np.int32)
        for word in words_of(search):
            places = np.intersect1d(places, self._beginning(word), assume_unique=True)
        return [self._row(place) for place in places[:n].tolist()]

    def of(self, ids: Iterable[Any]) -> list[dict[str, Any]]:
        """Return items by id, in the order of the ids; those which are not known are left out.

        Parameters
        ----------
        ids : iterable of id
            As the model has them.
        """
        return [self._row(self._place_of[one]) for one in ids if one in self._place_of]

    def titled(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of items, each with its title where that is known.

        Parameters
        ----------
        rows : list of dict
            Each with the id of its item.
        """
        if not self._titles:
            return rows
        return [row | self._title(row["item"]) for row in rows]

    def _beginning(self, word: str) -> NDArray[np.int32]:
        """Return the places of items with a word that begins so, without repetitions."""
        first, last = bisect_left(self._words, word), bisect_left(self._words, word + _LAST)
        return np.unique(self._places[self._starts[first] : self._starts[last]])

    def _row(self, place: int) -> dict[str, Any]:
        one = self._ids[place]
        return {"item": one, "ratings": int(self._counts[place]), **self._title(one)}

    def _title(self, one: Any) -> dict[str, str]:
        return {"title": self._titles[one]} if one in self._titles else {}


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case, without accents and apostrophes.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> sorted(words_of("Cité des enfants, La; Schindler's"))
    ['cite', 'des', 'enfants', 'la', 'schindlers']
    """
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(one for one in parts if not unicodedata.combining(one))
    return set(_WORD.findall(_APOSTROPHES.sub("", text.casefold())))
