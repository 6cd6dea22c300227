"""A fitted label model as JSON values and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_text
from cofactor.errors import InvalidInputError
from cofactor.labels.calibration import Calibration
from cofactor.labels.data import LabelForm
from cofactor.labels.decoding import decoder_of
from cofactor.labels.features import is_sparse
from cofactor.labels.scaling import Scaling
from cofactor.model.state import check_course, from_plain, member, packed, plain, unpacked
from cofactor.recipe import Recipe

__all__ = ["check_answers", "check_learned_shapes", "check_shapes", "label_state", "take_state"]


def label_state(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a file holds of a label model: a header of JSON values, and arrays."""
    arrays: dict[str, NDArray[Any]] = {"constant": model.constant_}
    learned = {
        name: packed(getattr(model, name), f"learned.{name}", arrays)
        for name in model._learned
        if hasattr(model, name)  # nothing is learned if all labels are constant
    }
    header = {
        "params": {k: plain(v) for k, v in model.get_params(deep=False).items() if k != "callback"},
        "n_features": model.n_features_in_,
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "label_names": model.label_names_.tolist(),
        "form": asdict(model.form_),
        "rule": model.decision_.rule,
        "threshold": packed(model.decision_.value, "threshold", arrays),
        "scaling": packed(model.scaling_.to_plain(), "scaling", arrays),
        "calibration": packed(_parts_of(model.calibration_), "calibration", arrays),
        "learned": learned,
    }
    if hasattr(model, "recipe_"):
        header["recipe"] = model.recipe_.as_json()
    return header, arrays


def _parts_of(calibration: Calibration | None) -> dict[str, Any] | None:
    """Return its members by name, arrays as they are."""
    return None if calibration is None else {part.name: getattr(calibration, part.name) for part in fields(calibration)}


def take_state(
    kind: type[Any],
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    estimators: Mapping[str, Any],
    parts: Mapping[str, Any],
) -> Any:
    """Return the model that `label_state` described; what it learned is not checked yet.

    Parameters
    ----------
    kind : type
        The class of the model.
    header, arrays
        What `label_state` returned.
    estimators : mapping of str to class
        Classes of estimators which its parameters may hold, by name.
    parts : mapping of str to class
        Classes of models and learners which may be part of what it learned, by name.
    """
    model = kind(**{k: from_plain(v, estimators) for k, v in member(header, "params", dict).items()})
    model._check_params()
    model.n_features_in_ = member(header, "n_features", int)
    if names := member(header, "feature_names", list):
        model.feature_names_in_ = np.array(names, dtype=object)
    if "recipe" in header:
        model.recipe_ = Recipe.of_json(member(header, "recipe", dict))
    model.form_ = LabelForm(**member(header, "form", dict))
    model.label_names_ = np.array(member(header, "label_names", list), dtype=object)
    model.constant_ = arrays["constant"]
    model.decision_ = decoder_of(member(header, "rule", str), unpacked(header["threshold"], arrays))
    model.scaling_ = Scaling.of_plain(unpacked(header["scaling"], arrays), model.n_features_in_)
    calibration = unpacked(header["calibration"], arrays)
    model.calibration_ = None if calibration is None else Calibration(**calibration)
    for name, value in member(header, "learned", dict).items():
        if name not in kind._learned:
            raise InvalidInputError(f"{kind.__name__} has no {name}")
        setattr(model, name, unpacked(value, arrays, parts))
    for texts in (names, model.label_names_, getattr(model, "instance_ids_", None)):
        check_text(() if texts is None else texts, "names and ids")
    return model


def check_shapes(model: Any) -> None:
    """Refuse a label model read from a file unless all that it holds has the shape that its class declares.

    This comes before anything is computed: neither SciPy's products nor kernels check indices.
    """
    n_labels, D = len(model.label_names_), model.n_features_in_
    if isinstance(D, bool) or not 1 <= D < 1 << 63:
        raise InvalidInputError(f"n_features is {D}, expected a whole number from 1")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and (names.shape != (D,) or len(set(names.tolist())) != D):
        raise InvalidInputError(f"feature_names must be {D} distinct names")
    recipe = getattr(model, "recipe_", None)
    if recipe is not None and (names is None or recipe.feature_names != tuple(names.tolist())):
        raise InvalidInputError("the recipe of columns makes other features than those of the model")
    if model.constant_.shape != (n_labels,) or model.constant_.dtype != np.int8:
        raise InvalidInputError(f"constant has shape {model.constant_.shape}, dtype {model.constant_.dtype}")
    cut = np.asarray(model.decision_.value)
    if cut.shape not in ((), (n_labels,)):
        raise InvalidInputError(f"the threshold has shape {cut.shape} for {n_labels} labels")
    if model.calibration_ is not None:
        model.calibration_.check(n_labels)
    elif model.decision_.takes == "probabilities":
        raise InvalidInputError(f"the rule {model.decision_.rule!r} takes probabilities, but there is no calibration")
    check_course(model)
    n_varying = int(np.count_nonzero(model.constant_ == 0))
    check_learned_shapes(model, {"D": D, "L": n_varying}, nothing_learned=not n_varying)


def check_learned_shapes(model: Any, sizes: dict[str, int], *, nothing_learned: bool = False) -> None:
    """Refuse what a class declares in `_shapes` if a file has something else there.

    Parameters
    ----------
    model : object
        With `_shapes` and `_optional`, see `LabelModel`.
    sizes : dict of str to int
        Lengths that are known, by their letters; others are noted in it.
    nothing_learned : bool, default=False
        Whether there need be nothing at all.
    """
    for name, letters in model._shapes.items():
        value = getattr(model, name, None)
        if value is None and (nothing_learned or name in model._optional):
            continue
        numbers = np.asarray(value.data if is_sparse(value) else value)
        texts = name == "instance_ids_" and numbers.dtype == object  # `unpacked` makes nothing else of object dtype
        shape = value.shape if is_sparse(value) else numbers.shape
        fits = len(shape) == len(letters) and all(
            sizes.setdefault(letter, k) == k for letter, k in zip(letters, shape, strict=True)
        )
        if not fits or not (texts or (numbers.dtype.kind in "iuf" and np.isfinite(numbers).all())):
            expected = ", ".join(str(sizes.get(letter, letter)) for letter in letters)
            raise InvalidInputError(
                f"{name} must be finite numbers of shape ({expected}), found shape {shape}, dtype {numbers.dtype}"
            )


def check_answers(model: Any) -> None:
    """Refuse a label model read from a file unless it can score an instance and say which labels are on."""
    n_labels = len(model.label_names_)
    if model.constant_.all():  # nothing is computed, and no array says that so many features fit in memory
        return
    nothing = np.zeros((1, model.n_features_in_))
    scores, on = model._all_scores(nothing), model._decoded(nothing)
    if scores.shape != (1, n_labels) or not np.isfinite(scores).all():
        raise InvalidInputError(f"it gives an instance scores of shape {scores.shape}, or not finite ones")
    if on.shape != (1, n_labels) or on.dtype != np.bool_:
        raise InvalidInputError(f"it gives an instance labels of shape {on.shape}, dtype {on.dtype}")
