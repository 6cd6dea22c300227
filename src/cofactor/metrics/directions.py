"""Which direction of a measure is better, by its name in the reports."""

from __future__ import annotations

from cofactor.errors import InvalidInputError
from cofactor.metrics.labels import LABEL_METRICS
from cofactor.metrics.probabilities import PROBABILITY_METRICS
from cofactor.metrics.ratings import RATING_METRICS
from cofactor.metrics.topn import LIST_METRICS
from cofactor.text import did_you_mean

_SECONDS = ("seconds", "fit_seconds", "predict_seconds", "fold_in_seconds", "recommend_seconds")
_GREATER = {
    **dict.fromkeys((*RATING_METRICS, *PROBABILITY_METRICS, *_SECONDS), False),
    "auc": True,
    **{name: metric.greater_is_better for name, metric in LABEL_METRICS.items()},
}


def greater_is_better(metric: str) -> bool:
    """Return whether greater values of a measure are better: true of scores, not of errors and times.

    Parameters
    ----------
    metric : str
        Name of a measure in `rating_report`, `probability_report` or `label_report`, of recommended lists, such as
        "ndcg@10", or of a time in seconds, such as "fit_seconds".

    Raises
    ------
    ValueError
        If there is no such measure; the message names those with similar names.

    Examples
    --------
    >>> greater_is_better("micro_f1"), greater_is_better("mae")
    (True, False)
    >>> greater_is_better("coverage@10"), greater_is_better("coverage"), greater_is_better("popularity_lift@10")
    (True, False, False)
    >>> greater_is_better("mirco_f1")
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: 'mirco_f1' is no measure; did you mean micro_f1, macro_f1?
    """
    name, _, k = metric.partition("@")
    if name in LIST_METRICS and k.isdecimal():  # without a length, coverage is one of rankings of labels
        return name != "popularity_lift"
    if metric not in _GREATER:
        raise InvalidInputError(f"{metric!r} is no measure; {did_you_mean(metric, _GREATER, 'see cofactor.metrics')}")
    return _GREATER[metric]
