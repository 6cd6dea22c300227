"""Estimators of scikit-learn that stand around a model, as plain numbers: pipelines, scalers, and counts of words.

Each has an adapter which writes its parameters and what it learned, and which checks both when a file is read, since a
file may be forged. Nothing is unpickled, and a parameter which is a function is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_text
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.model.state import member, packed, unpacked
from cofactor.persistence import Adapter, Arrays

#: Parameters of vectorizers that are types of numbers.
_DTYPES = ("float32", "float64", "int32", "int64")


class _Transformer:
    """The adapter of a transformer whose learned attributes are arrays with one number for each feature.

    Parameters
    ----------
    kind : type
        The class.
    learned : mapping of str to str
        Attributes that are arrays; what they may be: "any" number, or a number "above 0".
    optional : tuple of str
        Those which may be None.
    """

    def __init__(self, kind: type[Any], learned: Mapping[str, str], optional: tuple[str, ...] = ()) -> None:
        self.kind, self.learned, self.optional = kind, learned, optional

    def to_state(self, value: Any) -> tuple[dict[str, Any], Arrays]:
        """Return parameters and learned arrays."""
        if not hasattr(value, "n_features_in_"):
            raise NotFittedError(f"this {self.kind.__name__} is not fitted yet: fit it before it is saved")
        found = {name: getattr(value, name, None) for name in self.learned}
        arrays = {name: np.asarray(array) for name, array in found.items() if array is not None}
        header = {
            "params": _plain_params(value),
            "n_features": int(value.n_features_in_),
            "feature_names": [str(name) for name in getattr(value, "feature_names_in_", [])],
            "none": [name for name in self.optional if hasattr(value, name) and getattr(value, name) is None],
        }
        seen = getattr(value, "n_samples_seen_", None)
        if seen is not None:
            header["n_samples_seen"] = packed(seen, "n_samples_seen", arrays)
        return header, arrays

    def _from_state(self, header: dict[str, Any], arrays: Arrays, models: Mapping[str, Any]) -> Any:
        """Return the transformer, having checked that it can transform an instance."""
        value = _with_params(self.kind, header)
        D = member(header, "n_features", int)
        if D < 1:
            raise InvalidInputError(f"a {self.kind.__name__} of {D} features")
        value.n_features_in_ = D
        none = member(header, "none", list)
        for name, low in self.learned.items():
            if name in arrays or name not in self.optional:
                _check_numbers(name, arrays[name], (D,), positive=low == "above 0")
                setattr(value, name, arrays[name])
            elif name in none:
                setattr(value, name, None)
        if "n_samples_seen" in header:
            value.n_samples_seen_ = _count(unpacked(header["n_samples_seen"], arrays), D)
        _check_output(value, sparse.csr_array((1, D)) if _takes_sparse(value) else np.zeros((1, D)), D)
        if names := member(header, "feature_names", list):
            value.feature_names_in_ = _distinct(names, D)
        return value


class _Words:
    """The adapter of a vectorizer, which counts words, and perhaps weighs them."""

    def __init__(self, kind: type[Any]) -> None:
        self.kind = kind

    def to_state(self, value: Any) -> tuple[dict[str, Any], Arrays]:
        """Return parameters, words by their column, and their weights."""
        check_is_fitted(value, "vocabulary_")
        words = sorted(value.vocabulary_, key=value.vocabulary_.__getitem__)
        check_text(words, "the words of the vectorizer")
        header = {
            "params": _plain_params(value),
            "words": [str(word) for word in words],
            "fixed": bool(value.fixed_vocabulary_),
        }
        weighted = isinstance(value, TfidfVectorizer) and value.use_idf
        return header, {"idf": np.asarray(value.idf_)} if weighted else {}

    def _from_state(self, header: dict[str, Any], arrays: Arrays, models: Mapping[str, Any]) -> Any:
        """Return the vectorizer, having checked that it can transform a text."""
        value = _with_params(self.kind, header)
        words = member(header, "words", list)
        names = _distinct(words, len(words))
        if not len(names):
            raise InvalidInputError("a vectorizer without words")
        value.vocabulary_ = {word: k for k, word in enumerate(names.tolist())}
        value.fixed_vocabulary_ = member(header, "fixed", bool)
        if isinstance(value, TfidfVectorizer):
            value._tfidf = TfidfTransformer(
                norm=value.norm, use_idf=value.use_idf, smooth_idf=value.smooth_idf, sublinear_tf=value.sublinear_tf
            )
            value._tfidf.n_features_in_ = len(words)
            if value.use_idf:
                _check_numbers("idf", arrays["idf"], (len(words),))
                value._tfidf.idf_ = arrays["idf"]
        _check_output(value, [words[0]], len(words))
        return value


class _Pipeline:
    """The adapter of a pipeline, whose steps have states of their own."""

    def to_state(self, value: Any) -> tuple[dict[str, Any], Arrays]:
        """Return names and states of the steps."""
        check_is_fitted(value)
        if value.memory is not None or getattr(value, "transform_input", None) is not None:
            raise InvalidTypeError("a Pipeline with memory or transform_input cannot be saved: set them to None")
        arrays: Arrays = {}
        steps = []
        for k, (name, step) in enumerate(value.steps):
            if not (step is None or step == "passthrough" or hasattr(step, "_to_state") or type(step) in ADAPTERS):
                known = ", ".join(sorted(ADAPTERS_BY_NAME))
                raise InvalidTypeError(
                    f"step {name!r} is a {type(step).__name__}, which a file cannot hold safely: models of cofactor "
                    f"can stand in one, and of scikit-learn {known}"
                )
            steps.append([str(name), packed(step, f"step{k}", arrays, ADAPTERS)])
        return {"steps": steps, "verbose": bool(value.verbose)}, arrays

    def _from_state(self, header: dict[str, Any], arrays: Arrays, models: Mapping[str, Any]) -> Any:
        """Return the pipeline of the steps."""
        steps = []
        for entry in member(header, "steps", list):
            if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
                raise InvalidInputError("a step of a pipeline must have a name and a state")
            step = unpacked(entry[1], arrays, models)
            if not (step is None or step == "passthrough" or hasattr(step, "fit")):
                raise InvalidInputError(f"step {entry[0]!r} of a pipeline is no estimator")
            steps.append((entry[0], step))
        if not steps:
            raise InvalidInputError("a pipeline without steps")
        value = Pipeline(steps, verbose=member(header, "verbose", bool))
        value._validate_steps()
        return value


def _plain_params(value: Any) -> dict[str, Any]:
    """Return parameters as JSON holds them; refuse functions, objects, and reading files."""
    params = {}
    for name, given in value.get_params(deep=False).items():
        if name == "dtype":
            given = np.dtype(given).name
        if name == "input" and given != "content":
            raise InvalidTypeError(f"a {type(value).__name__} with input={given!r} cannot be saved: it reads files")
        if name == "vocabulary" and given is not None:
            given = None  # `vocabulary_` holds it
        if isinstance(given, frozenset | set):
            given = sorted(given)
        if not _is_plain(given):
            raise InvalidTypeError(
                f"a {type(value).__name__} with {name}={given!r} cannot be saved: a file holds numbers and texts only"
            )
        params[name] = list(given) if isinstance(given, tuple) else given
    return params


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, bool | int | float | str)


def _with_params(kind: type[Any], header: dict[str, Any]) -> Any:
    """Return an estimator with the parameters of a state, which scikit-learn must find valid."""
    params = dict(member(header, "params", dict))
    if not all(_is_plain(value) for value in params.values()):
        raise InvalidInputError(f"parameters of a {kind.__name__} must be numbers and texts")
    for name in ("feature_range", "ngram_range"):
        if name in params:
            params[name] = tuple(params[name])
    if "dtype" in params:
        if params["dtype"] not in _DTYPES:
            raise InvalidInputError(f"dtype={params['dtype']!r}: expected one of {', '.join(_DTYPES)}")
        params["dtype"] = np.dtype(params["dtype"]).type
    if params.get("input", "content") != "content":
        raise InvalidInputError(f"input={params['input']!r}: a model from a file reads no files")
    value = kind(**params)
    value._validate_params()
    return value


def _check_numbers(name: str, array: Any, shape: tuple[int, ...], *, positive: bool = False) -> None:
    """Refuse what is no array of finite numbers of a shape."""
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype not in (np.float32, np.float64):
        raise InvalidInputError(f"{name} must be numbers of shape {shape}")
    if not np.isfinite(array).all() or (positive and not (array > 0).all()):
        raise InvalidInputError(f"{name} must be finite{' and above 0' if positive else ''}")


def _count(value: Any, D: int) -> Any:
    """Return a number of instances, or one for each feature, if it is one."""
    counts = np.asarray(value)
    if counts.shape not in ((), (D,)) or counts.dtype.kind not in "if" or not (counts >= 0).all():
        raise InvalidInputError(f"n_samples_seen={value!r}: expected numbers which are not negative")
    return value


def _distinct(names: list[Any], n: int) -> NDArray[Any]:
    """Return n names, if they are distinct texts."""
    if len(names) != n or not all(isinstance(name, str) for name in names) or len(set(names)) != n:
        raise InvalidInputError(f"expected {n} distinct names")
    check_text(names, "names")
    return np.array(names, dtype=object)


def _takes_sparse(value: Any) -> bool:
    return isinstance(value, TfidfTransformer)


def _check_output(value: Any, given: Any, width: int) -> None:
    """Refuse a transformer which cannot transform."""
    try:
        found: Any = value.transform(given)
    except (AttributeError, IndexError, ValueError, TypeError, re.error) as error:
        raise InvalidInputError(f"a {type(value).__name__} cannot transform: {error}") from error
    numbers = np.asarray(found if isinstance(found, np.ndarray) else found.toarray())
    if found.shape != (1, width) or not np.isfinite(numbers).all():
        raise InvalidInputError(f"a {type(value).__name__} gives shape {found.shape}, or numbers which are not finite")


#: Adapters by the exact class which they are for.
ADAPTERS: dict[type[Any], Adapter] = {
    Pipeline: _Pipeline(),
    StandardScaler: _Transformer(
        StandardScaler, {"mean_": "any", "var_": "any", "scale_": "above 0"}, ("mean_", "var_", "scale_")
    ),
    MinMaxScaler: _Transformer(
        MinMaxScaler,
        {"min_": "any", "scale_": "above 0", "data_min_": "any", "data_max_": "any", "data_range_": "any"},
    ),
    MaxAbsScaler: _Transformer(MaxAbsScaler, {"max_abs_": "any", "scale_": "above 0"}),
    Normalizer: _Transformer(Normalizer, {}),
    TfidfTransformer: _Transformer(TfidfTransformer, {"idf_": "any"}, ("idf_",)),
    CountVectorizer: _Words(CountVectorizer),
    TfidfVectorizer: _Words(TfidfVectorizer),
}

#: The same by name, as a registry of `cofactor.persistence.load` wants them.
ADAPTERS_BY_NAME: dict[str, Adapter] = {kind.__name__: adapter for kind, adapter in ADAPTERS.items()}
