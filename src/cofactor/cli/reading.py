"""Ratings, pairs and models as they come from the command line."""

from __future__ import annotations

import itertools
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import OPTIONS, InputError, in_options, is_refusal, renamed
from cofactor.cli.tables import note

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cofactor.datasets import RatingDataset
    from cofactor.labels import LabelModel
    from cofactor.ratings import IdMap, RatingModel, Ratings

__all__ = [
    "TableOptions",
    "check_target",
    "load_model",
    "match_ids",
    "parse_levels",
    "ratings_of",
    "read_new_users_for",
    "read_pairs_for",
    "read_ratings_from",
    "save_model",
]


@dataclass(frozen=True)
class TableOptions:
    """How to read a table of ratings or pairs."""

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    sep: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    levels: str | None = None
    bins: int | None = None

    def keywords(self) -> dict[str, Any]:
        """Return what readers of the library take."""
        return {
            "user": _column(self.user),
            "item": _column(self.item),
            "sep": {"tab": "\t", "\\t": "\t", "space": " "}.get(self.sep or "", self.sep),
            "header": self.header,
            "encoding": self.encoding,
        }


def _column(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdecimal() else text


def parse_levels(text: str | None) -> list[float] | None:
    """Return the levels which a list ``1,2,3`` or a range ``from:to:step`` stands for.

    Examples
    --------
    >>> parse_levels("1,2,5"), parse_levels("0.5:2:0.5"), parse_levels("1:3")
    ([1.0, 2.0, 5.0], [0.5, 1.0, 1.5, 2.0], [1.0, 2.0, 3.0])
    """
    if text is None:
        return None
    wanted = "expected increasing numbers such as 1,2,3,4,5, or a range such as 1:5 or 0.5:5:0.5"
    try:
        if ":" in text:
            low, high, step = (*map(float, text.split(":")), 1.0)[:3]
            count = round((high - low) / step) + 1
            levels = [low + k * step for k in range(count)] if step > 0 and 2 <= count <= 1000 else []
        else:
            levels = [float(part) for part in text.split(",")]
    except ValueError:
        levels = []
    if len(levels) < 2 or any(not a < b for a, b in itertools.pairwise(levels)):
        raise InputError(f"--levels {text}: {wanted}")
    return levels


def read_ratings_from(file: str, options: TableOptions, *, progress: Any = None) -> RatingDataset:
    """Read ratings from a file, from standard input, or from a known data set.

    Parameters
    ----------
    file : str
        Path, ``-``, or name of a data set, in this order.
    options : TableOptions
        How to read a file.
    progress : object, optional
        Progress bar of a download, as `cofactor.datasets.fetch` takes it.

    Returns
    -------
    RatingDataset
        With levels: continuous ratings are refused unless `options.bins` cuts them.
    """
    import numpy as np

    from cofactor import datasets

    known = {status.name for status in datasets.available("ratings")}
    levels = parse_levels(options.levels)
    if file in known and not os.path.exists(file):
        if file != "jester-1":
            datasets.fetch(file, progress=progress)
        data = datasets.load_ratings(file)
        if levels is not None and not np.isin(data.y, levels).all():
            raise InputError(f"--levels {options.levels}: does not hold all ratings of {file}")
    elif file != "-" and not os.path.exists(file):
        others = [status.name for status in datasets.available("labels")]
        if file in others:
            raise InputError(f"{file} holds labels, not ratings: leave out --task ratings and options for ratings")
        names = f"{', '.join(sorted(known))}; of labels {', '.join(others[:4])}, ..."
        raise InputError(f"{file}: no such file, and no known data set ({names})")
    else:
        with _hint_of_labels():
            data = datasets.read_ratings(file, rating=_column(options.rating), scale=levels, **options.keywords())
    return _with_levels(data, options, file)


@contextmanager
def _hint_of_labels() -> Iterator[None]:
    """Where neither users nor items are to be found, the file may be one of features and labels."""
    try:
        yield
    except ValueError as error:
        if not is_refusal(error) or not re.search("holds the user and the item|looks like a matrix", str(error)):
            raise
        text = in_options(str(error), OPTIONS)
        raise InputError(f"{text}; or, if it holds features and labels, which are labels with --labels") from error


def _with_levels(data: RatingDataset, options: TableOptions, file: str) -> RatingDataset:
    from dataclasses import replace

    from cofactor.datasets import bin_ratings

    if not data.n_ratings:
        raise InputError(f"{_name(file)}: holds no ratings, expected lines of user, item and rating")
    if options.bins is not None:
        y, scale = bin_ratings(data.y, options.bins)
        return replace(data, y=y, scale=scale)
    if options.levels is not None:
        import numpy as np

        return replace(data, scale=np.array(parse_levels(options.levels)))
    if data.scale is None:
        raise InputError(
            f"{_name(file)}: the ratings are continuous, more than 101 distinct ones from {data.y.min():g} to "
            f"{data.y.max():g}: cut them into levels with --bins 5"
        )
    if len(data.scale) < 2:
        raise InputError(
            f"{_name(file)}: all ratings are {data.scale[0]:g}, so there is nothing to learn: "
            "check --rating, or give the whole scale with --levels"
        )
    return data


def ratings_of(data: RatingDataset, file: str, duplicates: str) -> Ratings:
    """Return the ratings in the form which models take; errors name the file."""
    from cofactor.ratings import as_ratings

    if duplicates == "error":
        _refuse_duplicates(data, file, "keep one of them, or choose with --duplicates last or mean")
    with about(file):
        return as_ratings(data.X, data.y, scale=data.scale, duplicates=duplicates)  # type: ignore[arg-type]


def _refuse_duplicates(data: RatingDataset, file: str, advice: str) -> None:
    """Name the first rating which repeats a pair, and the one it repeats."""
    import numpy as np

    from cofactor.model.splits import pair_numbers
    from cofactor.ratings.entries import SUSPICIOUS_SHARE

    _, pairs = pair_numbers(data.X)
    _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[number] != np.arange(len(pairs)))
    if len(again):
        k = int(again[0])
        (user, item), places = data.X[k], f"ratings {first[number][k] + 1:,} and {k + 1:,} of the file"
        if len(again) > len(pairs) * SUSPICIOUS_SHARE:
            share = f"{len(again):,} of {len(pairs):,} ratings repeat a pair"
            advice += f"; {share}, so perhaps the columns are wrong: {data.description}"
        raise InputError(f"{_name(file)}: user {user} has rated item {item} more than once ({places}): {advice}")


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def about(file: str, names: Mapping[str, str] | None = None) -> AbstractContextManager[None]:
    """Within the block, what is refused is the content of this file; parameters may have other names than usual."""
    return renamed(f"{_name(file)}: ", **(names or {}))


def read_pairs_for(file: str, model: RatingModel, options: TableOptions) -> NDArray[Any]:
    """Read pairs of user and item in the form of id which the model knows."""
    from cofactor.datasets import read_pairs

    whole = model.users_.ids.dtype.kind == model.items_.ids.dtype.kind == "i"
    X = read_pairs(file, ids="each", **options.keywords())
    return X if whole else _matched(X, model.users_, model.items_)


def read_new_users_for(
    file: str, model: RatingModel, options: TableOptions
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Read ratings of new users; item ids in the form which the model knows."""
    import numpy as np

    from cofactor.datasets import read_ratings

    data = read_ratings(file, rating=_column(options.rating), scale=model.scale_, ids="str", **options.keywords())
    X = _matched(data.X, None, model.items_)
    if not len(X):
        raise InputError(f"{_name(file)}: holds no ratings, expected lines of user, item and rating")
    _refuse_duplicates(data, file, "keep one of them")
    unknown = np.flatnonzero(model.items_.index(X[:, 1]) < 0)
    bad = ", ".join(dict.fromkeys(str(X[k, 1]) for k in unknown[:5]))
    if len(unknown) == len(X):
        raise InputError(f"{_name(file)}: holds only items that were not in training: {bad}")
    if len(unknown):
        note(
            f"cofactor: note: {_name(file)}: ratings of items that were not in training are left out: "
            f"{len(unknown):,} of {len(X):,}, such as those of {bad}"
        )
    return X, data.y


def _matched(X: NDArray[Any], users: IdMap | None, items: IdMap) -> NDArray[Any]:
    import numpy as np

    out = np.empty(X.shape, dtype=object)
    out[:, 0] = match_ids(X[:, 0], users) if users is not None else X[:, 0]
    out[:, 1] = match_ids(X[:, 1], items)
    return out


def match_ids(texts: Any, known: IdMap) -> list[Any]:
    """Return for each text the id of the model that is written so, and the text itself where there is none."""
    ids = {str(value): value for value in known.ids.tolist()}
    return [ids.get(str(text), text) for text in texts]


def load_model(file: str) -> Any:
    """Load a model from a file, or from standard input."""
    import cofactor
    from cofactor.persistence import ModelFileError

    if file != "-":
        return cofactor.load(file)
    with tempfile.TemporaryDirectory(prefix="cofactor-") as folder:
        path = Path(folder, "standard input")
        path.write_bytes(sys.stdin.buffer.read())
        try:
            model = cofactor.load(path)
        except ModelFileError as error:
            raise InputError(str(error).replace(str(path), "standard input")) from error
        return model


def save_model(model: RatingModel | LabelModel, file: str) -> None:
    """Save a model to a file, whole or not at all, or to standard output."""
    if file != "-":
        model.save(file)
        return
    with tempfile.TemporaryDirectory(prefix="cofactor-") as folder:
        path = Path(folder, "model.cofactor")
        model.save(path)
        sys.stdout.buffer.write(path.read_bytes())
        sys.stdout.buffer.flush()


def check_target(file: str | None, *inputs: str | None) -> None:
    """Refuse a file that could not be written, or that is one of the inputs, before the work begins."""
    if file is None or file == "-":
        return
    path = Path(file)
    if path.is_file() and any(name and os.path.exists(name) and path.samefile(name) for name in inputs):
        raise InputError(f"{file}: is read by this command, so nothing can be written there; take another name")
    if path.is_dir():
        raise InputError(f"{file}: is a folder, expected the name of a file to write")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{file}: the folder {path.parent} does not exist; make it first")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise InputError(f"{file}: cannot be written there (permission denied)")
