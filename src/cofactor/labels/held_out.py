"""Scores of instances that a model did not learn from, and what is learned from them: calibration and decision."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import make_generator
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.kernels.threads import blas_limit
from cofactor.labels.calibration import Calibration, learn_calibrated, learn_with_sets, usable_scores
from cofactor.labels.copies import warn_of_copies
from cofactor.labels.decoding import AUTO, Cut, Decoder, check_decision, check_threshold, learn_threshold
from cofactor.labels.features import column_means
from cofactor.labels.fit_input import FitInput
from cofactor.labels.known import known_shares
from cofactor.labels.scoring import of_all_labels, on_by_scores, with_constant
from cofactor.model.callers import callers_level
from cofactor.model.commit import learned_names
from cofactor.passes import rows_of
from cofactor.text import counted
from cofactor.typing import Features, Labels
from cofactor.weights import relative_weights

if TYPE_CHECKING:
    from cofactor.labels.base import LabelModel

__all__ = ["check_enough", "fit_threshold", "holdout_scores", "learn_decision", "recorded_shares", "sampled"]

_Model = TypeVar("_Model", bound="LabelModel")

#: Number of parts of the instances, of which one is held out, or more of them until there are `ENOUGH` instances.
PARTS = 4
ENOUGH = 80

#: Instances of a stream whose scores are remembered, unless they are more than `_RECENT_SCORES` scores.
RECENT = 1000
_RECENT_SCORES = 1 << 22

#: Most scores, instances times labels, from which calibration and decision are learned: a quarter of a gigabyte.
BUDGET = 1 << 25
_DOUBLE = 1 << 22  #: scores up to which they keep the precision that the model gives them


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


def holdout_scores(model: Any, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return rows, and their scores by copies of a fitted model which learned from other instances.

    Parameters
    ----------
    model : LabelModel
        Fitted to the data. The copies take the settings that it chose, see `LabelModel._settled`.
    data : FitInput
        With the labels that are not constant.

    Returns
    -------
    rows : ndarray of shape (m,)
        A quarter of the instances, drawn by the model's `random_state`, or by 0 if there is none; up to four quarters,
        each by a copy of its own, until they are 80. Beyond `BUDGET` scores a part of them.
    scores : ndarray of shape (m, L)
        ±1e9 for labels which are constant in the instances that a copy learned from.
    """
    generator = make_generator(0 if model.random_state is None else model.random_state)  # the same parts in every fit
    rows, scores = [], []
    for k, test in enumerate(np.array_split(generator.permutation(data.n_instances), min(PARTS, data.n_instances))):
        rows.append(sampled(np.sort(test), data.labels.shape[1], generator))
        scores.append(_scores_of_others(model, data, test, rows[-1], k))
        if sum(map(len, rows)) >= ENOUGH or len(rows[-1]) < len(test):
            break
    return np.concatenate(rows), scores[0] if len(scores) == 1 else np.concatenate(scores)


def _scores_of_others(
    model: Any, data: FitInput, test: NDArray[np.int64], rows: NDArray[np.int64], k: int
) -> NDArray[Any]:
    """Return scores of rows by a copy of a model which learned from all that are not in the k-th part `test`."""
    part = copy.copy(model)
    for name in learned_names(part):
        if name not in ("n_features_in_", "label_names_", "form_"):
            delattr(part, name)
    part.set_params(**model._settled())
    train = np.ones(data.n_instances, dtype=bool)
    train[test] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the model itself has told
        part._fit_varying(data.rows(np.flatnonzero(train), data.monitor.inside(f"held-out part {k + 1}")))
    blocks = map(part._all_scores, part._blocks(rows_of(data.features, rows)))
    shape = len(rows), data.labels.shape[1]
    if shape[0] * shape[1] <= _DOUBLE:
        return np.concatenate(list(blocks))
    table, done = np.empty(shape, np.float32), 0
    for block in blocks:
        table[done : done + len(block)] = block
        done += len(block)
    return table


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


def decide(model: Any, threshold: str, data: FitInput, recorded: NDArray[np.float64] | None = None) -> None:
    """Let a fitted model learn calibration and decision from the data of its fit, by scores that it holds out.

    Parameters
    ----------
    model : LabelModel
    threshold : str
        As in `learn_decision`.
    data : FitInput
        With the labels that are not constant.
    recorded : ndarray of shape (L,), optional
        Of all labels, as in `learn_decision`.
    """
    constant = model.constant_
    if not data.labels.shape[1]:
        model.calibration_ = Calibration(np.ones(len(constant)), np.zeros(len(constant)))
        return
    warn_of_copies(data.features, data.labels)
    with blas_limit(*data.features.shape):
        # An exact leave-one-out is that of a regression that all labels share.
        rows, scores = model._held_out(data) if data.known is None else holdout_scores(model, data)
    known = None if data.known is None else of_all_labels(data.known[rows], constant, True, True)
    scores, labels = of_all_labels(scores, constant), with_constant(data.labels[rows], constant)
    weights = None if data.weights is None else data.weights[rows]
    model.calibration_, model.decision_ = learn_decision(
        threshold, model.decide_for, scores, labels, weights, recorded, known=known
    )
    if len(scores) >= ENOUGH and not data.monitor.stopped:
        _warn_of_one_answer(model, scores)


def _warn_of_one_answer(model: Any, scores: NDArray[Any]) -> None:
    """Warn if a model predicts the same labels for all instances with these scores."""
    on = on_by_scores(model, scores)
    if (on == on[0]).all():
        what = counted(np.count_nonzero(on[0]), "label") if on[0].any() else "no label"
        warnings.warn(
            InputWarning(
                f"{type(model).__name__} predicts the same for all {len(on):,} instances that were held out, {what}: "
                "its settings, or the features, tell no instance from another"
            ),
            stacklevel=callers_level(),
        )


def fit_threshold(
    model: _Model, X: Features, y: Labels, rule: str | float | None = None, *, sample_weight: ArrayLike | None = None
) -> _Model:
    """Learn only how to decide, from instances that the model has not learned from: calibration and threshold.

    Nothing else changes, not even the parameter `threshold`. `fit` itself learns both, on training instances that
    it holds out. This method is for models that learn by `partial_fit`, and for another rule after a fit.

    Parameters
    ----------
    {features}
    {labels}
    rule : {"auto", "global", "per-label", "top-k", "cardinality"} or float, optional
        The rule (see `learn_threshold`), or the cut of the scores itself, with which the calibration stays as it
        was; by default the parameter `threshold`. "auto" decides as the parameter `decide_for` says.
    {sample_weight}

    Returns
    -------
    self

    Raises
    ------
    InvalidInputError
        If the rule, features, labels or weights are not valid, or do not fit the model.

    Notes
    -----
    The scores of all these instances are in memory at the same time. Later calls of `partial_fit` keep the cut;
    learn it again from recent instances when scores have changed.
    """
    check_is_fitted(model)
    if rule is None:
        rule = model.threshold
        check_decision(rule, model.decide_for)
    check_threshold(rule, argument="rule")
    data = model._receive(X, y, sample_weight, reset=False, weights="any")
    if isinstance(rule, str):
        scores = np.concatenate([model._all_scores(block) for block in model._blocks(data.features)])
        model.calibration_, model.decision_ = learn_decision(
            rule, model.decide_for, scores, data.labels, data.weights, known=data.known
        )
    else:
        model.decision_ = Cut(float(rule))
    return model


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


def remember(model: Any, scores: NDArray[Any], labels: sparse.csr_array) -> None:
    """Keep the scores that a stream gave to instances before it learned from them, of the last `RECENT` instances."""
    table, known = scores.astype(np.float32), labels
    if hasattr(model, "recent_scores_"):
        table = np.concatenate([model.recent_scores_, table])
        known = sparse.csr_array(sparse.vstack([model.recent_labels_, known], format="csr"))
    kept = slice(-max(1, min(RECENT, _RECENT_SCORES // table.shape[1])), None)
    model.recent_scores_, model.recent_labels_ = table[kept], sparse.csr_array(known[kept])


def decide_by_recent(model: Any) -> None:
    """Let a stream learn calibration and decision from what it remembers.

    What a fit learned is kept until `ENOUGH` instances are remembered, or half of all that the model learned from: the
    few instances of a first chunk say little, and scores grow while a model learns.
    """
    n = len(model.recent_scores_) if hasattr(model, "recent_scores_") else 0
    if n >= 2 and (model.calibration_ is None or n >= min(ENOUGH, model.n_rows_seen_ / 2)):
        learned = learn_decision(model.threshold, model.decide_for, model.recent_scores_, model.recent_labels_)
        model.calibration_, model.decision_ = learned


def check_enough(n: int, threshold: str) -> None:
    """Refuse to learn from fewer than two instances how to decide."""
    if n < 2:
        raise InvalidInputError(
            "the threshold of a rule is learned on held-out instances",
            argument="threshold",
            found=threshold,
            advice=f"give 2 or more, not {n}",
        )
