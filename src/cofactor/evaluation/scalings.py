"""The normalizations of Li's thesis, and the choice among them by cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.data import as_known_labels
from cofactor.labels.features import as_features
from cofactor.labels.training_data import check_lengths
from cofactor.metrics.labels import LabelMetric
from cofactor.model.selection.grid import check_grid
from cofactor.model.selection.search import Search
from cofactor.typing import Features, Labels, RandomState

SCALINGS: Mapping[str, BaseEstimator] = {
    "L2": Normalizer("l2"),
    "L1": Normalizer("l1"),
    "rescaled": MinMaxScaler((-1, 1)),
    "z-score": StandardScaler(),
}
"""Transformers of scikit-learn: rows of length or of sum 1, columns from -1 to 1, columns of mean 0 and deviation 1."""

#: Those that would make sparse features dense, in the form that keeps zeros.
_OF_SPARSE: Mapping[str, BaseEstimator] = {"rescaled": MaxAbsScaler(), "z-score": StandardScaler(with_mean=False)}


def best_scaling(
    model: Any,
    X: Features,
    Y: Labels,
    *,
    scalings: Iterable[str] = tuple(SCALINGS),
    grid: Mapping[str, Sequence[Any]] | None = None,
    metric: str | LabelMetric = "micro_f1",
    validation: Any = 5,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> Pipeline:
    """Choose how to scale features by cross-validation of a model, and fit both to all instances.

    Parameters
    ----------
    model : LabelModel or scikit-learn estimator
        Not changed. Where its own parameter ``scale`` is "auto", it is "none" here.
    X : array, sparse matrix or frame of shape (n, D)
        Features. Of sparse ones no mean is subtracted, and "rescaled" divides by the largest absolute value.
    Y : array, sparse matrix or frame of shape (n, L)
        Labels.
    scalings : iterable of str, default=all
        Names in `SCALINGS`.
    grid : dict of str to list, optional
        Values of parameters of the model to try with each of them.
    metric : str or LabelMetric, default="micro_f1"
        A name in `cofactor.metrics.LABEL_METRICS`.
    validation : int, str, float or splitter, default=5
        Number of folds, or as in `Search`.
    n_jobs : int, optional
        As in `Search`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the folds.

    Returns
    -------
    Pipeline
        Fitted, of the steps "scaling" and "model"; `cofactor.save` takes it.

    Raises
    ------
    InvalidInputError
        If X is no table of finite numbers, Y none of as many rows of labels, or another argument is out of its range.

    Notes
    -----
    This is how Li's thesis scales features (section 6.3). Label models with ``scale="auto"`` need no such thing: they
    choose by leave-one-out errors of ridge regression, or of neighbours, in the fit. For the scores of all choices
    give `Search` a ``Pipeline`` yourself.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from cofactor.labels import KNNVote
    >>> X, Y = make_multilabel_classification(60, random_state=0)
    >>> X[:, 0] *= 1000
    >>> best_scaling(KNNVote(threshold=0), X, Y, scalings=["L1", "z-score"])["scaling"]
    StandardScaler()
    """
    if isinstance(model, type) or not hasattr(model, "get_params"):
        raise InvalidTypeError("expected a model, such as KNNVote()", argument="model", found=model)
    names = _checked_names(scalings)
    check_lengths(as_features(X), as_known_labels(Y, missing="ignore")[0])
    if grid is not None and not isinstance(grid, Mapping):
        raise InvalidTypeError("expected a dict of lists of values", argument="grid", found=grid)
    known = {**SCALINGS, **_OF_SPARSE} if sparse.issparse(X) else SCALINGS
    inner = clone(model)
    if inner.get_params().get("scale") == "auto":
        inner.set_params(scale="none")
    choices: dict[str, Any] = {"scaling": [known[name] for name in names]}
    check_grid(inner, grid or {})
    choices |= {f"model__{name}": values for name, values in (grid or {}).items()}
    pipeline = Pipeline([("scaling", "passthrough"), ("model", inner)])
    search = Search(pipeline, choices, metric=metric, validation=validation, n_jobs=n_jobs, random_state=random_state)
    fitted: Pipeline = search.fit(X, Y).best_estimator_
    return fitted


def _checked_names(scalings: Any) -> list[str]:
    """Return a list of names of `SCALINGS`; refuse others, and a name alone."""
    known = f"some of {', '.join(map(repr, SCALINGS))}"
    if isinstance(scalings, str) or not isinstance(scalings, Iterable):
        raise InvalidTypeError(f"expected a list of {known}", argument="scalings", found=scalings)
    names = list(scalings)
    unknown = [name for name in names if not isinstance(name, str) or name not in SCALINGS]
    if unknown or not names:
        raise InvalidInputError(f"expected {known}", argument="scalings", found=unknown or names)
    return names
