"""cofactor fills in matrices: star ratings and labels, factorized under losses made for discrete data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cofactor import correlation as correlation
    from cofactor import datasets as datasets
    from cofactor import evaluation as evaluation
    from cofactor import labels as labels
    from cofactor import losses as losses
    from cofactor import metrics as metrics
    from cofactor import plots as plots
    from cofactor import ratings as ratings
    from cofactor import solvers as solvers
    from cofactor.version import __version__ as __version__
    from cofactor.warming import WarmUpResult


__getattr__, __dir__, __all__ = exports(__name__)


def load(path: str | Path, data: memoryview | None = None) -> Any:
    """Return a model, or a pipeline, from its file.

    Parameters
    ----------
    path : str or Path
        The file.
    data : memoryview, optional
        All that is in it, if it was read already: `path` only names it then, and leads to files beside it.

    Returns
    -------
    RatingModel, LabelModel, transformer or Pipeline
        A model which predicts exactly what the saved one did. Only registered classes load; nothing is unpickled.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If the file is cut short, was not written by this package, or holds an unknown class.

    Examples
    --------
    >>> import tempfile, os
    >>> from cofactor.ratings import ALS
    >>> model = ALS(n_factors=1, alpha=1.0, random_state=0).fit([(1, 1), (1, 2), (2, 1)], [1, 2, 2])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.cofactor")
    >>> model.save(path)
    >>> bool((load(path).predict([(2, 2)]) == model.predict([(2, 2)])).all())
    True
    """
    from cofactor import labels, persistence, ratings

    header, arrays = persistence.read_model(path, data)
    models: Registry[Any] = ratings.MODELS | ratings.ranking.MODELS | labels.MODELS | labels.TRANSFORMERS
    if str(header.get("class")) not in models:  # a pipeline, whose steps may be of scikit-learn
        from cofactor.model.pipelines import ADAPTERS_BY_NAME

        models |= ADAPTERS_BY_NAME
    return persistence.model_of(path, header, arrays, models)


def save(model: Any, path: str | Path) -> None:
    """Write a fitted model, or a pipeline which ends in one, to a file; nothing in it is ever executed.

    Parameters
    ----------
    model : RatingModel, LabelModel, transformer or Pipeline
        Steps of a pipeline may be models and transformers of cofactor, and of scikit-learn `StandardScaler`,
        `MinMaxScaler`, `MaxAbsScaler`, `Normalizer`, `CountVectorizer`, `TfidfTransformer` and `TfidfVectorizer`.
    path : str or Path
        The file; written whole or not at all.

    Raises
    ------
    InvalidTypeError
        If a file cannot hold the model, or a step of it, safely; the message says which.
    NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> import tempfile, os
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from cofactor.labels import PLST
    >>> texts = ["cats purr", "dogs bark", "cats sleep", "dogs run"]
    >>> tagger = make_pipeline(TfidfVectorizer(), PLST(1.0, alpha=0.1)).fit(texts, [[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> path = os.path.join(tempfile.mkdtemp(), "tagger.cofactor")
    >>> save(tagger, path)
    >>> load(path).predict(["my cats"])
    array([[1, 0]])
    """
    from sklearn.utils.validation import check_is_fitted

    from cofactor import persistence
    from cofactor.errors import InvalidTypeError
    from cofactor.model.pipelines import ADAPTERS

    if not hasattr(model, "fit"):
        raise InvalidTypeError("expected a fitted model first, then the path", argument="model", found=model)
    if type(model) not in ADAPTERS:
        check_is_fitted(model)
    persistence.save(path, model, ADAPTERS)


def warm_up(*, n_jobs: int | None = None, callback: Callable[[int, int, str], None] | None = None) -> WarmUpResult:
    """Compile all kernels ahead, so that no first fit, prediction or recommendation waits for it.

    They are compiled for this processor and kept on disk, in ``COFACTOR_CACHE`` or the user's cache folder. Where that
    was done before, or the wheel brought them, this returns at once.

    Parameters
    ----------
    n_jobs : int, optional
        Number of processes; -1 for one on each core. By default one.
    callback : callable, optional
        Called as ``callback(done, total, name)`` after each model.

    Returns
    -------
    WarmUpResult
        ``n_models`` it went through (0 if there was nothing to do), and ``seconds``.

    Examples
    --------
    >>> import cofactor
    >>> cofactor.warm_up(n_jobs=-1)  # doctest: +SKIP
    WarmUpResult(n_models=28, seconds=52.1)
    """
    from cofactor import warming

    return warming.warm_up(n_jobs=n_jobs, callback=callback)
