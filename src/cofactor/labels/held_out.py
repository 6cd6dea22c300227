"""What is learned from scores of instances that a model did not learn from: calibration and decision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.labels.calibration import Calibration, learn_calibrated, learn_with_sets, usable_scores
from cofactor.labels.data import known_shares
from cofactor.labels.decoding import AUTO, Decoder, learn_threshold
from cofactor.labels.features import column_means
from cofactor.labels.fit_input import FitInput
from cofactor.model.convergence import callers_level
from cofactor.text import counted
from cofactor.weights import relative_weights

__all__ = ["ENOUGH", "PARTS", "check_enough", "learn_decision", "recorded_shares", "sampled", "warn_of_one_answer"]

#: Number of parts of the instances, of which one is held out, or more of them until there are `ENOUGH` instances.
PARTS = 4
ENOUGH = 80

#: Most scores, instances times labels, from which calibration and decision are learned: a quarter of a gigabyte.
BUDGET = 1 << 25


def sampled(
    rows: NDArray[np.int64], n_labels: int, generator: np.random.Generator, budget: int | None = None
) -> NDArray[np.int64]:
    """Return rows, or a random part of them whose scores stay within the budget.

    Examples
    --------
    >>> sampled(np.arange(10), 4, np.random.default_rng(0), budget=12)
    array([5, 6, 9])
    """
    most = max(1, (BUDGET if budget is None else budget) // max(n_labels, 1))
    return rows if len(rows) <= most else np.sort(generator.choice(rows, most, replace=False))


def learn_decision(
    threshold: str,
    decide_for: str,
    scores: NDArray[Any],
    labels: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    recorded: NDArray[np.float64] | None = None,
    *,
    known: NDArray[np.bool_] | None = None,
) -> tuple[Calibration, Decoder]:
    """Learn calibration and decision from scores of instances that the model did not learn from.

    Parameters
    ----------
    threshold : str
        "auto", or a rule of `learn_threshold`.
    decide_for : str
        See `learn_decoder`; it counts with "auto" alone.
    scores : ndarray of shape (n, L)
        Those of ±1e9 do not count.
    labels : csr_array of shape (n, L)
    weights : ndarray of shape (n,), optional
        Weights of the instances, of which only the ratios count.
    recorded : ndarray of shape (L,), optional
        Share of the labels that are on which is recorded; only with "auto".
    known : ndarray of shape (n, L), bool, optional
        Which labels are known; scores of the others do not count.
    """
    weights = relative_weights(weights)
    if threshold == AUTO:
        learned = learn_calibrated(decide_for, scores, labels, weights, recorded, known=known)
        return learned.calibration, learned.decoder
    calibration, _ = learn_with_sets(scores, labels, weights, recorded, known)
    return calibration, learn_threshold(threshold, usable_scores(scores, known), labels, weights)


def warn_of_one_answer(on: NDArray[np.bool_], model: str) -> None:
    """Warn if a model predicts the same labels for all held-out instances."""
    if (on == on[0]).all():
        what = counted(np.count_nonzero(on[0]), "label") if on[0].any() else "no label"
        warnings.warn(
            InputWarning(
                f"{model} predicts the same for all {len(on):,} instances that were held out, {what}: "
                "its settings, or the features, tell no instance from another"
            ),
            stacklevel=callers_level(),
        )


def recorded_shares(recorded: Any, data: FitInput, names: NDArray[Any], threshold: Any) -> NDArray[np.float64] | None:
    """Return the share of each label that is recorded, or refuse it; None if all are.

    A label that is recorded for a share s of the instances is on for s / c of them, so c is at least s.

    Examples
    --------
    >>> data = FitInput(np.eye(3), sparse.csr_array([[1, 0], [0, 0], [0, 1]]))
    >>> recorded_shares(0.5, data, np.array(["a", "b"]), "auto")
    array([0.5, 0.5])
    """
    if recorded is None:
        return None
    n_labels = len(names)
    try:
        shares = np.asarray(recorded, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("recorded must be a number, or one for each label", argument="recorded") from error
    if shares.shape not in ((), (n_labels,)) or not ((shares > 0) & (shares <= 1)).all():
        raise InvalidInputError(
            f"expected a share above 0 and at most 1, or {n_labels} of them, one for each label",
            argument="recorded",
            found=recorded,
        )
    if threshold != AUTO:
        raise InvalidInputError(
            (
                Argument("recorded"),
                " says how probabilities follow from scores, and other thresholds cut the scores themselves",
            ),
            argument="recorded",
            advice=("leave it out, or take ", Argument("threshold", AUTO)),
        )
    shares = np.broadcast_to(shares, n_labels).copy()
    on = column_means(data.labels, data.weights)
    if data.known is not None:
        on = known_shares(data.labels, data.known, data.weights)
    impossible = np.flatnonzero(shares < on * (1 - 1e-12))
    if len(impossible):
        worst = impossible[np.argmax(on[impossible] / shares[impossible])]
        raise InvalidInputError(
            f"label {names[worst]!r} would be on for {on[worst] / shares[worst]:.3g} times as many instances as there "
            f"are, since it is recorded for {on[worst]:.3g} of them",
            argument="recorded",
            found=recorded if np.ndim(recorded) == 0 else float(shares[worst]),
            advice=f"expected a share of at least {on[worst]:.3g} there",
        )
    return shares


def check_enough(n: int, threshold: str) -> None:
    """Refuse to learn from fewer than two instances how to decide."""
    if n < 2:
        raise InvalidInputError(
            "the threshold of a rule is learned on held-out instances",
            argument="threshold",
            found=threshold,
            advice=f"give 2 or more, not {n}",
        )
