"""cofactor fills in matrices: star ratings and labels, factorized under losses made for discrete data."""

from pathlib import Path
from typing import Any

__version__ = "0.1.0.dev0"
__all__ = ["__version__", "load"]


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
