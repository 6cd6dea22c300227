"""A synthetic catalogue of films, with people who watch and rate them."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number, make_generator
from cofactor.datasets.readers.features import SideTable
from cofactor.datasets.synthetic import apportion
from cofactor.datasets.types import RatingDataset
from cofactor.errors import Argument, InvalidInputError
from cofactor.typing import RandomState

_N_TASTES = 8  #: dimensions of taste; each matters less than the one before
_MOST = 0.44  #: share of the catalogue that a user rates, at most
_FEWEST = 0.19  #: ratings of a user, at least, as a share of the mean
_SESSIONS = 12  #: of a user, at most
_CELLS = 1 << 22  #: of users x films that are in memory at a time
_BEGIN = 1_704_067_200  #: of the first ratings: January 1, 2024
_DAY = 86_400

# Calibrated on MovieLens 100K: benchmarks/movies.py puts both side by side.
_SHARES = np.array([0.061, 0.114, 0.271, 0.342, 0.212])  #: of the ratings 1 to 5
_QUALITY, _HABIT, _TASTE, _MOOD, _NOISE = 0.66, 0.36, 0.61, 0.15, 0.79  #: standard deviations of parts of a rating
_SPREAD = 0.3  #: standard deviation of the logarithm of how far apart the ratings of a user are
_CUTS = 0.15  #: standard deviation of where a user begins to give each star
_ATTRACTION, _HEARSAY = 0.9, 1.5  #: what tastes and circles add to the logarithm of how likely a film is watched
_N_CIRCLES = 3  #: dimensions of what people hear of
_MERIT = 0.72  #: correlation of quality and popularity
_DECAY, _TOP = 6.2, 0.4  #: popularity falls exponentially with the rank, and is higher at the top


def make_movies(
    n_users: int = 943,
    n_items: int = 1682,
    n_ratings: int = 100_000,
    *,
    random_state: RandomState = None,
) -> tuple[RatingDataset, SideTable]:
    r"""Invent a catalogue of films, and ratings 1 to 5 by people with tastes, moods and habits.

    Films have genres, a director and a style of their own, whose sum is a vector :math:`v_i`; people have a taste
    :math:`p_u`, and in each session a mood :math:`m_s`. They watch one film after the other, none twice, and rate it:

    .. math::

        P(i \mid u) \propto w_i\, e^{a\, p_u \cdot v_i + b\, c_u \cdot f_i},
        \qquad
        z_{ui} = q_i + h_u + e^{s_u} (p_u \cdot v_i + m_s \cdot v_i + \varepsilon_{ui})

    where the popularity :math:`w_i` falls with the rank of a film, and :math:`c_u \cdot f_i` is how much a film is
    talked about in the circles of a user; the quality :math:`q_i` goes up with the popularity; :math:`h_u` and
    :math:`s_u` are habits, of giving high ratings and of using the whole scale. So what is liked is watched more. Each
    user cuts z into stars at places of their own, about where all together give each star as often as in MovieLens
    100K. How strong everything is was chosen so that with the default sizes popularity, ratings of a user, and how hard
    they are to predict are those of MovieLens 100K; the page on data sets has both side by side.

    Parameters
    ----------
    n_users, n_items, n_ratings : int, default 943, 1682, 100000
        Sizes. Ids are 1..n_users and 1..n_items; a few films have no ratings.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same data.

    Returns
    -------
    data : RatingDataset
        Ratings in the order of their times, with titles.
    films : tuple (ids, columns)
        Year, director and genres of each film in the form of `load_side_features`, for models that take features of
        items.

    Raises
    ------
    InvalidInputError
        If there are fewer ratings than users, or more than two fifths of all pairs.

    Examples
    --------
    >>> from cofactor.datasets import make_movies
    >>> data, (ids, films) = make_movies(60, 80, 1000, random_state=0)
    >>> data.n_ratings, data.n_users
    (1000, 60)
    >>> data.item_names[1], str(films["director"][0]), [genre for genre in list(films)[2:] if films[genre][0]]
    ('Invisible Rendezvous (2022)', 'Teo Abara', ['Comedy', 'Romance'])
    """
    for name, value in {"n_users": n_users, "n_items": n_items}.items():
        check_number(name, value, low=1, whole=True)
    check_number("n_ratings", n_ratings, low=n_users, whole=True)
    if n_ratings > 0.4 * n_users * n_items:
        raise InvalidInputError(
            f"expected at most two fifths of the {n_users * n_items:,} pairs",
            argument="n_ratings",
            found=n_ratings,
            advice=("lower it, or raise ", Argument("n_items")),
        )
    rng = make_generator(random_state)
    columns, styles = _films(rng, n_items)
    popularity, quality = _popularity(rng, n_items)
    tastes = rng.standard_normal((n_users, _N_TASTES))
    counts = _counts(rng, n_users, n_items, n_ratings)
    users = np.repeat(np.arange(n_users), counts)
    circles, reach = (rng.standard_normal((n, _N_CIRCLES)) for n in (n_users, n_items))
    drawn = np.hstack([tastes * _ATTRACTION, circles * (_HEARSAY / np.sqrt(_N_CIRCLES))])
    items = _watched(rng, drawn, np.hstack([styles, reach]), popularity, counts)
    times, moods = _sessions(rng, users, items, styles)

    taste = np.einsum("rk,rk->r", tastes[users] * _TASTE + moods * _MOOD, styles[items])
    z = _QUALITY * quality[items] + _HABIT * rng.standard_normal(n_users)[users]
    spread = np.exp(_SPREAD * rng.standard_normal(n_users))[users]
    z += spread * (taste + _NOISE * rng.standard_normal(n_ratings))
    cuts = np.quantile(z, np.cumsum(_SHARES)[:-1]) + _CUTS * rng.standard_normal((n_users, len(_SHARES) - 1))
    y = 1.0 + (z[:, None] > cuts[users]).sum(axis=1)

    order = np.argsort(times, kind="stable")
    ids = np.arange(1, n_items + 1)
    names = [f"{title} ({year:.0f})" for title, year in zip(columns.pop("title"), columns["year"], strict=True)]
    films = f"{n_items:,} invented films ({np.unique(items).size:,} with ratings)"
    data = RatingDataset(
        name="synthetic movies",
        X=1 + np.column_stack([users, items])[order],
        y=y[order],
        scale=np.arange(1.0, len(_SHARES) + 1),
        item_names=dict(zip(ids.tolist(), names, strict=True)),
        timestamps=times[order],
        description=f"{n_users:,} users, {films}, {n_ratings:,} synthetic ratings 1..5",
    )
    return data, (ids, columns)


def _films(rng: np.random.Generator, m: int) -> tuple[dict[str, NDArray], NDArray[np.float64]]:
    """Return what is known of films, by column, and their styles: one on average is the variance of taste in them."""
    genres = _words()["genres"]
    shares = np.array([genre["share"] for genre in genres.values()], dtype=np.float64)
    order = np.argsort(-np.log(shares / shares.sum()) - rng.gumbel(size=(m, len(genres))), axis=1)
    main, n_genres = order[:, 0], 1 + rng.choice(3, size=m, p=(0.4, 0.4, 0.2))
    weights = np.zeros((m, len(genres)))
    for k, weight in enumerate((1.0, 0.6, 0.6)):
        weights[np.arange(m), order[:, k]] = weight * (n_genres > k)
    # Directors keep to a genre, and a few of each genre make many of its films.
    per_genre = -(-np.bincount(main, minlength=len(genres)) // 4)
    directors = (np.cumsum(per_genre) - per_genre)[main] + (per_genre[main] * rng.random(m) ** 1.7).astype(np.int64)
    importance = np.arange(1, _N_TASTES + 1) ** -0.4
    own = [rng.standard_normal((n, _N_TASTES)) * importance for n in (len(genres), per_genre.sum(), m)]
    styles = weights / np.linalg.norm(weights, axis=1)[:, None] @ own[0] + 0.6 * own[1][directors] + 0.6 * own[2]
    styles /= np.sqrt(np.mean(np.sum(styles**2, axis=1)))
    columns = {
        "title": _titles(rng, main),
        "year": 2023.0 - np.floor(rng.exponential(12, size=m)).clip(max=90),
        "director": _director_names(rng, per_genre.sum())[directors],
        **{genre: (weights[:, k] > 0).astype(np.float64) for k, genre in enumerate(genres)},
    }
    return columns, styles


def _popularity(rng: np.random.Generator, m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how much films are watched, and how good they are, in standard deviations."""
    rank = rng.permutation((np.arange(m) + 0.5) / m)
    quality = _MERIT * (1 - 2 * rank) * np.sqrt(3) + np.sqrt(1 - _MERIT**2) * rng.standard_normal(m)
    return np.exp(-_DECAY * rank) * rank**-_TOP, quality


def _counts(rng: np.random.Generator, n: int, m: int, n_ratings: int) -> NDArray[np.int64]:
    """Return how many films each user rates: a few, and a share of the rest that has a long tail."""
    tail = rng.weibull(0.8, size=n)
    return apportion(tail, n_ratings, max(1, int(_FEWEST * n_ratings / n)), int(np.ceil(_MOST * m)))


def _watched(
    rng: np.random.Generator,
    drawn: NDArray[np.float64],
    films: NDArray[np.float64],
    popularity: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the films of all users, one user after the other: those whose exponential clocks ring first."""
    found = []
    step = max(1, _CELLS // len(films))
    for lo in range(0, len(drawn), step):
        # Not by BLAS, whose rounding may depend on the number of threads.
        logits = np.einsum("uk,ik->ui", drawn[lo : lo + step], films) + np.log(popularity)
        clocks = rng.standard_exponential(logits.shape) * np.exp(-logits)
        order = np.argsort(clocks, axis=1)
        found.append(order[np.arange(len(films)) < counts[lo : lo + step, None]])
    return np.concatenate(found)


def _sessions(
    rng: np.random.Generator, users: NDArray[np.int64], items: NDArray[np.int64], styles: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each rating when it is given, and the mood of the session, which draws to films of its own."""
    n = users[-1] + 1
    n_sessions = np.minimum(rng.geometric(0.35, size=n), _SESSIONS)
    moods = rng.standard_normal((n, _SESSIONS, styles.shape[1]))
    begin = (
        _BEGIN
        + rng.integers(200 * _DAY, size=n)[:, None]
        + np.cumsum(rng.exponential(6 * _DAY, size=(n, _SESSIONS)), axis=1)
    )
    pull = rng.gumbel(size=(len(users), _SESSIONS))
    for k in range(_SESSIONS):  # one after the other, since all moods of all ratings would take much memory
        pull[:, k] += np.einsum("rk,rk->r", moods[users, k], styles[items])
    pull[np.arange(_SESSIONS) >= n_sessions[users, None]] = -np.inf
    session = pull.argmax(axis=1)
    # Within a session ratings come some seconds one after the other, in random order.
    order = np.lexsort((rng.random(len(users)), session, users))
    keys = (users * _SESSIONS + session)[order]
    elapsed = np.cumsum(np.rint(rng.exponential(25, size=len(users))))
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    elapsed -= np.repeat(elapsed[first], np.diff(first, append=len(keys)))
    times = np.empty(len(users), dtype=np.int64)
    times[order] = begin[users, session][order] + elapsed
    return times, moods[users, session]


@cache
def _words() -> dict[str, Any]:
    with (files("cofactor.datasets") / "movies.toml").open("rb") as stream:
        return tomllib.load(stream)


def _candidates(genre: str) -> dict[str, tuple[float, list[str]]]:
    """Return the titles that a genre can have, by pattern, with how often it is used."""
    general, own = _words()["general"], _words()["genres"][genre]
    adjectives, nouns = own["adjectives"].split() + general["adjectives"].split(), own["nouns"].split()
    names, places = general["first_names"].split(), general["places"].split()
    return {
        "adjective": (0.35, [f"The {adjective} {noun}" for adjective in adjectives for noun in nouns]),
        "bare": (0.16, [f"{adjective} {noun}" for adjective in adjectives for noun in nouns]),
        "place": (0.16, [f"{_article(noun)} {noun} in {place}" for noun in nouns for place in places]),
        "owner": (0.13, [f"{name}'s {noun}" for name in names for noun in nouns]),
        "gift": (0.1, [f"{_article(noun)} {noun} for {name}" for noun in nouns for name in names]),
        "pair": (0.1, [f"The {one} and the {other}" for one in nouns for other in nouns if one != other]),
    }


def _article(noun: str) -> str:
    return "An" if noun[0] in "AEIO" or noun == "Umbrella" else "A"


def _titles(rng: np.random.Generator, genres: NDArray[np.int64]) -> NDArray[np.object_]:
    """Invent a title for each film, by its genre; when all of a pattern are used they go on with numbers."""
    found = np.empty(len(genres), dtype=object)
    for number, genre in enumerate(_words()["genres"]):
        films = np.flatnonzero(genres == number)
        patterns = list(_candidates(genre).values())
        counts = rng.multinomial(len(films), [share for share, _ in patterns])
        made: list[str] = []
        for count, (_, texts) in zip(counts.tolist(), patterns, strict=True):
            order = rng.permutation(len(texts)).tolist()
            made += [
                texts[order[k % len(texts)]] + (f" {k // len(texts) + 1}" if k >= len(texts) else "")
                for k in range(count)
            ]
        found[films] = rng.permutation(np.array(made, dtype=object))
    return found


def _director_names(rng: np.random.Generator, n: int) -> NDArray[np.object_]:
    """Invent so many different names."""
    first, last = (_words()["general"][f"{which}_names"].split() for which in ("first", "last"))
    pairs = len(first) * len(last)
    places = rng.permutation(pairs)[np.arange(n) % pairs]
    initials = ["", *(f" {letter}." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")]
    names = [
        f"{first[place // len(last)]}{initials[k // pairs % len(initials)]} {last[place % len(last)]}"
        for k, place in enumerate(places.tolist())
    ]
    return np.array(names, dtype=object)
