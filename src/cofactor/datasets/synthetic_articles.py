"""A synthetic corpus of short news articles with tags, which has what real ones have."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cofactor.checks import check_number, make_generator
from cofactor.datasets.readers.label_tables import read_label_table
from cofactor.datasets.types import LabelDataset
from cofactor.text import plural
from cofactor.typing import RandomState

_WORDS = "articles.toml"

# Calibrated on real sets: benchmarks/articles.py puts them side by side.
_RARITY, _ZIPF = 0.9, 0.8  #: exponents by which tags of a section and words get rarer
_WITH, _SECTION = 3.2, 1.2  #: log odds that two tags stand together: if they often do, and in the same section
_MORE = 0.75  #: tags beside the first one, on average, without sections
_OF_TAG, _OF_SECTION = 0.4, 0.12  #: share of nouns and verbs; the others are anybody's
_TILT = 0.5  #: standard deviation of the logarithm of how often a tag uses a word of anybody
_BURST = 0.12  #: shape of the gamma variable by which an article prefers some words of a tag
_SPREAD = 0.75  #: standard deviation of the logarithm of the length
_IN_STORY, _STORY, _STAYS = 0.3, 12, 0.75  #: share and number of articles that continue a story, share of its tags
_CAST, _CAST_SHARE = {"s": 3, "p": 1}, 0.4  #: names in a story, and the share of names that are these

#: Sentences, and the kinds of words that fill them: adjective, noun, verb, surname, place, day.
_SENTENCES = (
    ("The %s %s %s the %s.", "anvn"),
    ("%s %s the %s before the %s.", "svnn"),
    ("In %s the %s %s their %s.", "pnvn"),
    ("The %s of the %s %s the %s %s.", "nnvan"),
    ("After the %s, the %s %s %s in %s.", "nnvsp"),
    ("No %s %s the %s, said %s.", "nvns"),
    ("The %s and the %s %s the %s.", "nnvn"),
    ("On %s the %s %s the %s %s.", "dnvan"),
)
_GENERAL = {"n": "nouns", "v": "verbs", "a": "adjectives", "p": "places"}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, eq=False)
class Articles:
    """The texts of `make_articles`, with the tags they have and those they should have.

    Parameters
    ----------
    texts : tuple of str
        A few sentences each.
    tags : tuple of tuple of str
        Tags of each text; some are forgotten.
    about : tuple of tuple of str
        All tags that belong to it.

    Examples
    --------
    >>> from cofactor.datasets import make_articles
    >>> _, articles = make_articles(50, random_state=0)
    >>> all(set(some) <= set(all_) for some, all_ in zip(articles.tags, articles.about, strict=True))
    True
    """

    texts: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    about: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class _Lexicon:
    """Tags, how they go together, and words, as the file of words has them."""

    tags: tuple[str, ...]
    section: NDArray[np.int64]  # (T,) position of the section of each tag; its own of a section
    frequency: NDArray[np.float64]  # (T,) of tags that are no sections
    together: NDArray[np.float64]  # (T, T) log odds
    words: Mapping[str, NDArray[Any]]  # kind of slot -> what fits without regard to tags
    of_tags: Mapping[str, NDArray[Any]]  # "n" and "v" -> (T, most words of a tag), padded
    weights: Mapping[str, NDArray[np.float64]]  # the same shape, 0 where padded


@cache
def _lexicon() -> _Lexicon:
    with (files("cofactor.datasets") / _WORDS).open("rb") as stream:
        known = tomllib.load(stream)
    general = known.pop("general")
    tags = tuple(known)
    section = np.array([tags.index(known[tag].get("in", tag)) for tag in tags])
    alone = np.array([known[tag].get("apart", False) for tag in tags])
    same = section[:, None] == section
    together = np.where(same & alone & alone[:, None], -np.inf, np.where(same, _SECTION, 0.0))
    for k, tag in enumerate(tags):
        for other in known[tag].get("with", ()):
            together[k, tags.index(other)] = together[tags.index(other), k] = _WITH
    leaf = section != np.arange(len(tags))
    rank = np.array([np.count_nonzero(leaf[:k] & (section[:k] == section[k])) for k in range(len(tags))])
    place = np.unique(section, return_inverse=True)[1]
    frequency = leaf * (1.0 + rank) ** -_RARITY * (1.0 + place) ** (-_RARITY / 2)
    words = {kind: np.array(general[name].split(), dtype=object) for kind, name in _GENERAL.items()}
    surnames = [start + end for end in general["name_ends"].split() for start in general["name_starts"].split()]
    words["s"] = np.array(surnames, dtype=object)
    words["d"] = np.array(_DAYS, dtype=object)
    of_tags, weights = {}, {}
    for kind, name in (("n", "nouns"), ("v", "verbs")):
        lists = [known[tag][name].split() for tag in tags]
        most = max(map(len, lists))
        of_tags[kind] = np.array([one + [""] * (most - len(one)) for one in lists], dtype=object)
        weights[kind] = (of_tags[kind] != "") * np.arange(1.0, most + 1) ** (-_ZIPF / 2)
    return _Lexicon(tags, section, frequency / frequency.sum(), together, words, of_tags, weights)


def make_articles(
    n_articles: int = 1000,
    *,
    length: float = 5.0,
    forgotten: float = 0.2,
    off_topic: float = 0.2,
    random_state: RandomState = None,
) -> tuple[LabelDataset, Articles]:
    r"""Write short news articles with tags: sentences without sense, statistics of real tagged texts.

    There are 95 tags: twelve sections, such as sport, and what stands below them, such as football and transfers. An
    article has a tag, drawn from a long tail, and a Poisson number of others, which are more likely from the same
    section or if they often go with it (interest rates with housing), and impossible if they exclude it (football and
    tennis); with each tag comes its section. Three of ten articles continue a story: they mostly have its tags, and
    name the same people and the same place. A sentence speaks of one of the tags, or now and then of another one: its
    nouns and verbs are of this tag, of its section, or anybody's, and some words stand for several tags (court,
    bank, strike, cell). An article prefers some words and says these again. The annotator sets the first tag, and
    forgets some of the others.

    Parameters
    ----------
    n_articles : int, default 1000
        How many, at least 10.
    length : float, default 5.0
        Median number of sentences.
    forgotten : float, default 0.2
        Share of tags, the first one of an article apart, that the annotator forgets.
    off_topic : float, default 0.2
        Share of sentences that speak of a tag which the article has not.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    data : LabelDataset
        Features are tf-idf values of the words that occur in two articles or more, named ``text:word``. Models that are
        fitted to it predict from frames with a column ``text``.
    articles : Articles
        The texts, with the tags they have and those they should have.

    Raises
    ------
    TypeError, ValueError
        If an argument is no number or out of range.

    Examples
    --------
    >>> from cofactor.datasets import make_articles
    >>> data, articles = make_articles(random_state=0)
    >>> data
    LabelDataset('articles': 1000 instances, 1617 features, 95 labels, 2.732 labels per instance, sparse)
    >>> print(articles.texts[1][:82])
    The careful result breached the backup. On Thursday the day saw the careful word.
    >>> articles.tags[1], articles.about[1]
    (('inflation', 'technology'), ('economy', 'inflation', 'technology', 'cyber attacks'))
    """
    check_number("n_articles", n_articles, low=10, whole=True)
    check_number("length", length, low=1)
    check_number("forgotten", forgotten, low=0, high=1)
    check_number("off_topic", off_topic, low=0, high=1)
    rng, known = make_generator(random_state), _lexicon()
    about, first, story = _tags(rng, known, n_articles)
    texts = _texts(rng, known, about, story, length, off_topic)
    seen = about & (rng.random(about.shape) >= forgotten)
    seen[np.arange(n_articles), first] = True
    tags, all_tags = (
        tuple(tuple(known.tags[k] for k in np.flatnonzero(row)) for row in some) for some in (seen, about)
    )
    data = read_label_table(pa.table({"text": texts, "tags": list(map(list, tags))}), "tags", text="text", sparse=True)
    description = f"{plural(n_articles, 'made-up news article', form=',')} with tags"
    return replace(data, name="articles", description=description), Articles(tuple(texts), tags, all_tags)


def _draw(rng: np.random.Generator, weights: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Draw positions in proportion to weights."""
    return np.searchsorted(np.cumsum(weights / weights.sum())[:-1], rng.random(size))


def _zipf(n: int) -> NDArray[np.float64]:
    return np.arange(1.0, n + 1) ** -_ZIPF


def _related(rng: np.random.Generator, known: _Lexicon, n: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Draw sets of tags that go together, without their sections; and the first tag of each."""
    first = _draw(rng, known.frequency, n)
    has = np.zeros((n, len(known.tags)), dtype=bool)
    has[np.arange(n), first] = True
    more = rng.poisson(_MORE, n)
    with np.errstate(divide="ignore"):
        rarity = np.log(known.frequency)
    for turn in range(1, more.max(initial=0) + 1):
        rows = np.flatnonzero(more >= turn)
        odds = rarity + _sums(has[rows], known.together)
        odds[has[rows]] = -np.inf
        has[rows, np.argmax(odds + rng.gumbel(size=odds.shape), axis=1)] = True
    return has, first


def _sums(has: NDArray[np.bool_], together: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log odds of each tag beside those that are there."""
    apart = np.isinf(together)
    odds = np.asarray(has @ np.where(apart, 0.0, together), dtype=np.float64)
    odds[has @ apart] = -np.inf
    return odds


def _tags(
    rng: np.random.Generator, known: _Lexicon, n: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Draw the tags of articles with their sections, the first tag, and which story an article continues, or -1."""
    n_stories = max(1, round(n * _IN_STORY / _STORY))
    has, first = _related(rng, known, n)
    of_stories, leading = _related(rng, known, n_stories)
    story = np.where(rng.random(n) < _IN_STORY, _draw(rng, _zipf(n_stories), n), -1)
    told = story >= 0
    first[told] = leading[story[told]]
    has[told] = of_stories[story[told]] & (rng.random((int(told.sum()), len(known.tags))) < _STAYS)
    has[np.arange(n), first] = True
    rows, tags = np.nonzero(has)
    has[rows, known.section[tags]] = True
    return has, first, story


def _texts(
    rng: np.random.Generator,
    known: _Lexicon,
    about: NDArray[np.bool_],
    story: NDArray[np.int64],
    length: float,
    off_topic: float,
) -> list[str]:
    n, n_tags = about.shape
    counts = np.ceil(length * np.exp(_SPREAD * rng.standard_normal(n))).astype(np.int64)
    article = np.repeat(np.arange(n), counts)
    shares = about * rng.standard_gamma(1.0, about.shape) * np.where(known.section == np.arange(n_tags), 0.5, 1.0)
    tag = _draw_by_row(rng, shares, article)
    passing = rng.random(len(article)) < off_topic
    tag[passing] = _draw(rng, known.frequency, int(passing.sum()))
    pattern = rng.integers(len(_SENTENCES), size=len(article))
    sizes = np.array([len(kinds) for _, kinds in _SENTENCES])[pattern]
    kinds = np.array(list("".join(_SENTENCES[k][1] for k in pattern.tolist())))
    words = _fill(rng, known, kinds, np.repeat(article, sizes), np.repeat(tag, sizes), story)
    ends = np.cumsum(sizes)
    sentences = [
        _SENTENCES[k][0] % tuple(words[end - size : end])
        for k, end, size in zip(pattern.tolist(), ends.tolist(), sizes.tolist(), strict=True)
    ]
    bounds = np.concatenate([[0], np.cumsum(counts)]).tolist()
    return [" ".join(sentences[start:stop]) for start, stop in pairwise(bounds)]


def _fill(
    rng: np.random.Generator,
    known: _Lexicon,
    kinds: NDArray[Any],
    article: NDArray[np.int64],
    tag: NDArray[np.int64],
    story: NDArray[np.int64],
) -> list[str]:
    """Draw a word for each slot, by its kind, its article and the tag of its sentence."""
    words = np.empty(len(kinds), dtype=object)
    for kind, choices in known.words.items():
        at = np.flatnonzero(kinds == kind)
        likely = _zipf(len(choices)) * np.exp(_TILT * rng.standard_normal((len(known.tags), len(choices))))
        words[at] = choices[_draw_by_row(rng, likely, tag[at])]
        if kind in known.of_tags:
            source = rng.random(len(at))
            at, source = at[source < _OF_TAG + _OF_SECTION], source[source < _OF_TAG + _OF_SECTION]
            speaks = np.where(source < _OF_TAG, tag[at], known.section[tag[at]])
            # An article has words of its own for each tag.
            pairs, pair = np.unique(article[at] * len(known.tags) + speaks, return_inverse=True)
            of = pairs % len(known.tags)
            likely = known.weights[kind][of]
            likely = likely * rng.standard_gamma(_BURST, likely.shape)
            words[at] = known.of_tags[kind][speaks, _draw_by_row(rng, likely, pair)]
        elif kind in _CAST:
            cast = rng.integers(len(choices), size=(story.max(initial=0) + 1, _CAST[kind]))
            at = at[(story[article[at]] >= 0) & (rng.random(len(at)) < _CAST_SHARE)]
            words[at] = choices[cast[story[article[at]], rng.integers(_CAST[kind], size=len(at))]]
    return words.tolist()


def _draw_by_row(rng: np.random.Generator, weights: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Draw a column for each row that is asked for, in proportion to the weights of the row."""
    steps = np.cumsum(weights, axis=1)
    return np.argmax(steps[rows] > rng.random((len(rows), 1)) * steps[rows, -1:], axis=1)
