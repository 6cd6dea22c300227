"""cofactor fills in matrices: star ratings and labels, factorized under losses made for discrete data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from cofactor.warming import Warmth

__all__ = ["__version__", "load", "warm_up"]


def load(path: str | Path) -> Any:
    """Return a model written by its method `save`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    RatingModel, LabelModel or transformer
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

    models: dict[str, type[Any]] = {**ratings.MODELS, **labels.MODELS, **labels.TRANSFORMERS}
    return persistence.load(path, models)


def warm_up(*, n_jobs: int | None = None, callback: Callable[[int, int, str], None] | None = None) -> Warmth:
    """Compile all loops ahead, so that no first fit, prediction or recommendation waits for it.

    They are compiled for this machine and kept on disk. Where that was done before, this returns at once.

    Parameters
    ----------
    n_jobs : int, optional
        Number of processes; -1 for one on each core. By default one.
    callback : callable, optional
        Called as ``callback(done, total, name)`` after each model.

    Returns
    -------
    Warmth
        ``n_models`` it went through (0 if there was nothing to do), and ``seconds``.

    Examples
    --------
    >>> import cofactor
    >>> cofactor.warm_up(n_jobs=-1)  # doctest: +SKIP
    Warmth(n_models=45, seconds=38.2)
    """
    from cofactor import warming

    return warming.warm_up(n_jobs=n_jobs, callback=callback)
