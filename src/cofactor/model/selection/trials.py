"""The loop of every choice: candidates are tried on the same parts of the training data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from cofactor.checks import check_jobs
from cofactor.interrupts import propagate_interrupt

Part = TypeVar("Part")
Candidate = TypeVar("Candidate")
Outcome = TypeVar("Outcome")
Conclusion = TypeVar("Conclusion")


def try_all(
    attempt: Callable[[Part, Candidate], Outcome],
    parts: Sequence[Part],
    candidates: Iterable[Candidate],
    conclude: Callable[[Candidate, list[Outcome]], Conclusion],
    n_jobs: int | None = None,
) -> list[Conclusion]:
    """Try candidates on every part, several at a time.

    Parameters
    ----------
    attempt : callable
        ``attempt(part, candidate)`` fits to the training rows of a part, and returns what came out on the rows held out
        of it. An error says in a note which candidate was tried.
    parts : sequence
        The parts, whatever the attempt takes.
    candidates : iterable
        What to try.
    conclude : callable
        ``conclude(candidate, outcomes)`` returns what is kept of a candidate; outcomes may be large.
    n_jobs : int, optional
        Number of candidates at a time, in threads, as joblib understands it.

    Returns
    -------
    list
        The conclusion of each candidate, in their order.

    Examples
    --------
    >>> try_all(lambda part, shift: part + shift, [10, 20], [1, 2], lambda shift, found: (shift, max(found)))
    [(1, 21), (2, 22)]
    """
    check_jobs("n_jobs", n_jobs)

    def tried(candidate: Candidate) -> Conclusion:
        try:
            return conclude(candidate, [attempt(part, candidate) for part in parts])
        except Exception as error:
            error.add_note(f"while trying {candidate}")
            raise

    with propagate_interrupt():
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(tried)(candidate) for candidate in candidates))


def out_of_fold_scores(
    score: Callable[[int, NDArray[np.bool_], NDArray[np.int64]], NDArray[Any]],
    n: int,
    n_scores: int,
    n_folds: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Return scores of all instances by models which did not see them.

    Parameters
    ----------
    score : callable
        ``score(k, train, test)`` fits to the rows where the mask `train` is true, and returns the scores of the rows
        `test`, shape (len(test), n_scores), in fold k.
    n, n_scores : int
        Number of instances, and of scores for each.
    n_folds : int
        Number of folds; with fewer instances one for each.
    generator : Generator
        Source of the order of the rows.

    Examples
    --------
    >>> values = np.arange(6.0)
    >>> def mean_of_others(k, train, test):
    ...     return np.full((len(test), 1), values[train].mean())
    >>> out_of_fold_scores(mean_of_others, 6, 1, 6, np.random.default_rng(0)).ravel().tolist()
    [3.0, 2.8, 2.6, 2.4, 2.2, 2.0]
    """
    scores = np.empty((n, n_scores))
    for k, test in enumerate(np.array_split(generator.permutation(n), min(n_folds, n))):
        train = np.ones(n, dtype=bool)
        train[test] = False
        scores[test] = score(k, train, test)
    return scores
