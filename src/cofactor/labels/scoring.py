"""What the base class of label models asks of scores and labels, apart from the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.labels.calibration import Calibrated, learn_calibrated
from cofactor.labels.conformal import sets_by_scores
from cofactor.labels.data import as_labels, in_trained_order
from cofactor.labels.decoding import AUTO, FAR, JOINT, Cut, Decoder, Joint, learn_threshold
from cofactor.labels.features import CheckedFeatures
from cofactor.labels.known import as_known_labels, known_in_order
from cofactor.metrics.labels import micro_f1
from cofactor.metrics.tables import of_known
from cofactor.typing import Features, Labels
from cofactor.weights import as_weights

if TYPE_CHECKING:
    from cofactor.labels.base import LabelModel

__all__ = [
    "Said",
    "cut_of_rule",
    "in_form",
    "of_all_labels",
    "offers_probabilities",
    "on_by_scores",
    "said_of",
    "score",
    "with_constant",
]


def in_form(model: Any, X: Features, decide: Callable[[CheckedFeatures], NDArray[np.bool_]]) -> Any:
    """Return what is decided of blocks of instances, in the form of the y that `fit` was given."""
    blocks = [decide(block) for block in model._blocks(model._features(X))]
    index = getattr(X, "index", None) if hasattr(X, "iloc") else None
    if model.form_.is_sparse:
        on = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
        return model.form_.cast(on, model.label_names_)
    return model.form_.cast(np.concatenate(blocks), model.label_names_, index)


def offers_probabilities(model: Any) -> bool:
    """Whether a model has `predict_proba`; if not, an AttributeError says how it gets it."""
    if getattr(model, "calibration_", None) is not None or model._has_probabilities():
        return True
    if not hasattr(model, "decision_") and isinstance(model.threshold, str) and model.threshold != JOINT:
        return True  # a fit will learn a calibration
    name = type(model).__name__
    if model.threshold == AUTO:
        raise AttributeError(f"{name} has no predict_proba yet: give it more instances to learn from")
    raise AttributeError(
        f"{name} has no predict_proba with threshold={model.threshold!r}, but scores: fit it with threshold='auto', or "
        "let the fitted model learn probabilities by fit_threshold(X, y, 'auto') from instances which are new to it"
    )


def of_all_labels(table: NDArray[Any], constant: NDArray[np.int8], off: Any = -FAR, on: Any = FAR) -> NDArray[Any]:
    """Return what is said of the labels that vary, with `on` and `off` in columns of labels always on, or never.

    Examples
    --------
    >>> of_all_labels(np.array([[0.5]]), np.array([0, 1, -1])).tolist()
    [[0.5, 1000000000.0, -1000000000.0]]
    """
    if not constant.any():
        return table
    whole = np.tile(np.where(constant > 0, on, off).astype(table.dtype), (len(table), 1))
    whole[:, constant == 0] = table
    return whole


def with_constant(labels: sparse.csr_array, constant: NDArray[np.int8]) -> sparse.csr_array:
    """Return labels that vary with the constant ones put back among them.

    Examples
    --------
    >>> with_constant(sparse.csr_array([[1.0], [0.0]]), np.array([0, 1, -1])).toarray()
    array([[1., 1., 0.],
           [0., 1., 0.]])
    """
    if not constant.any():
        return labels
    on = sparse.csr_array(np.tile(constant > 0, (labels.shape[0], 1)), dtype=labels.dtype)
    places = np.flatnonzero(constant == 0)
    return sparse.csr_array(on + sparse.csr_array((labels.data, places[labels.indices], labels.indptr), shape=on.shape))


def on_by_scores(model: Any, scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels a fitted model predicts for instances with these scores of all labels."""
    if model.decision_.takes == "probabilities":
        scores = model.calibration_.probabilities(scores)
    return model.decision_.apply(scores)


class Said(NamedTuple):
    """What a model says of some instances, each of shape (n, L); probabilities are None if they were not asked for."""

    scores: NDArray[Any]
    on: NDArray[np.bool_]
    probabilities: NDArray[Any] | None


def said_of(
    model: Any, X: CheckedFeatures, *, probabilities: bool = False, coverage: float | None = None
) -> Iterator[Said]:
    """Yield scores, labels that are on, and probabilities, for blocks of instances; each is computed once.

    They are those of `decision_function`, `predict`, or with a coverage `predict_set`, and `predict_proba`.

    Parameters
    ----------
    model : LabelModel
        Fitted.
    X : ndarray or csr_array of shape (n, D)
        Checked features, scaled as the model scales them.
    probabilities : bool, default=False
        Whether to yield them; only of models that have some.
    coverage : float, optional
        Of sets, see `predict_set`.
    """
    for block in model._blocks(X):
        scores = model._all_scores(block)
        chances = None
        if probabilities:
            calibrated = model.calibration_ is not None
            chances = model.calibration_.probabilities(scores) if calibrated else model._all_probabilities(block)
        if coverage is not None:
            on = sets_by_scores(model, scores, coverage)
        elif isinstance(model.decision_, Joint):  # which does not follow from scores
            on = model._decoded(block)
        elif chances is not None and model.decision_.takes == "probabilities":
            on = model.decision_.apply(chances)
        else:
            on = on_by_scores(model, scores)
        yield Said(scores, on, chances)


def cut_of_rule(rule: str, decide_for: str, scores: NDArray[Any], truth: sparse.csr_array) -> Decoder:
    """Return what a rule learns from held-out scores, or the plain cut: a decoder which takes scores."""
    if rule == AUTO:
        return learn_calibrated(decide_for, scores, truth)
    return Cut(0.0) if rule == "plain" else learn_threshold(rule, scores, truth)


def decided(model: Any, rule: str, cut: Decoder) -> None:
    """Let a fitted model decide by a cut that `cut_of_rule` learned."""
    model.decision_, model.threshold = cut, rule
    if isinstance(cut, Calibrated):
        model.calibration_, model.decision_, model.decide_for = cut.calibration, cut.decoder, cut.decoder.rule


def score(model: LabelModel, X: Features, y: Labels, sample_weight: ArrayLike | None = None) -> float:
    """Return micro-F1 of the predictions: 2 hits / (labels that are on + labels that are predicted).

    Parameters
    ----------
    {features}
    {labels}
        Labels that are not known, NaN, do not count.
    {sample_weight}

    Returns
    -------
    float
        0 to 1; 0 if no label is on and none is predicted. Weights multiply the counts of each instance.
    """
    labels, form, names, known = as_known_labels(y, missing="ignore")
    given = names if form.is_frame else None
    truth = in_trained_order(labels, given, model.label_names_)
    predicted = of_known(as_labels(model.predict(X))[0], known_in_order(known, given, model.label_names_))
    return _weighted_micro_f1(truth, predicted, as_weights(sample_weight, truth.shape[0]))


def _weighted_micro_f1(
    truth: sparse.csr_array, predicted: sparse.csr_array, weights: NDArray[np.float64] | None = None
) -> float:
    """Return micro-F1; weights multiply the counts of each instance."""
    f1 = float(micro_f1(truth, predicted))  # it checks the shapes
    if weights is None:
        return f1
    hits = float(weights @ np.asarray(truth.multiply(predicted).sum(axis=1)))
    total = float(weights @ np.asarray((truth + predicted).sum(axis=1)))
    return 2 * hits / total if total else 0.0
