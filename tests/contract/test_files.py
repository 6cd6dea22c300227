"""A loaded model does what the saved one did; a file whose parts do not fit together is refused."""

import copy
import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from tests.together import together

import cofactor
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import RatingModel

from .models import (
    CASES,
    bits,
    data,
    every,
    every_class,
    fitted,
    fresh,
    parts_of,
    probed,
    simple_models,
    with_chosen_alpha,
)


def saved(name: str, folder: Path, **options: Any) -> Path:
    path = folder / "model.cofactor"
    fitted(name).save(path, **options)
    return path


@lru_cache
def content(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays of the file of a case's model; not to be changed."""
    with TemporaryDirectory() as folder:
        return read_model(saved(name, Path(folder)))


def learned_of(model: RatingModel) -> str:
    """Return everything learned that is no array; and which arrays there are."""
    return json.dumps(model._to_state()[0]["learned"], sort_keys=True)


@every
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    X, y = data(name)
    model = fitted(name)
    loaded = cofactor.load(saved(name, tmp_path))
    assert type(loaded) is type(model)
    assert bits(loaded) == bits(model)
    assert learned_of(loaded) == learned_of(model)
    assert repr(loaded) == repr(model)
    pairs = [*X.tolist(), ("nobody", 7), (100, "nothing")]
    for method in ("predict", "decision_function", "margins"):
        assert np.array_equal(getattr(loaded, method)(pairs), getattr(model, method)(pairs))
    for a, b in zip(
        loaded.recommend([100, 105], 5, exclude_seen=False),
        model.recommend([100, 105], 5, exclude_seen=False),
        strict=True,
    ):
        assert np.array_equal(a, b)
    new = X[:, 0] > 120
    assert bits(loaded.fold_in(X[new], y[new], known="replace")) == bits(model.fold_in(X[new], y[new], known="replace"))


#: What a fit sets and a file holds elsewhere than among what was learned, or not at all.
ELSEWHERE = {"users_", "items_", "ratings_", "rating_scale_", "updates_", "stored_users_", "seconds_"}


@every_class
def test_what_a_fit_learns_is_declared(name):
    """An attribute that a class does not declare would be missing from its files."""
    for simple in simple_models(fitted(name)):
        learned = {attribute for attribute in vars(simple) if attribute.endswith("_")}
        assert learned - set(simple._learned) <= ELSEWHERE


@every_class
def test_ratings_are_saved_on_request(name, tmp_path):
    X, y = data(name)
    model = fitted(name)
    path = saved(name, tmp_path)
    loaded = cofactor.load(path)
    size = path.stat().st_size
    assert np.array_equal(loaded.complete(), model.complete())
    assert np.array_equal(loaded.recommend([100])[0], model.recommend([100])[0])
    for key in ("indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr", "scale"):
        assert np.array_equal(getattr(loaded.ratings_, key), getattr(model.ratings_, key))
    assert bits(loaded.fit(X, y)) == bits(model)  # which takes nothing from the ratings that a file holds
    lean = cofactor.load(saved(name, tmp_path, ratings=False))
    assert lean.ratings_ is None
    assert bits(lean) == bits(model)
    assert np.array_equal(lean.predict(X), model.predict(X))
    assert model.ratings_ is not None
    # A model such as GPLVM that predicts from the ratings themselves has these among what it learned.
    keeps_them = any(len(array) == len(X) for key, array in content(name)[1].items() if key.startswith("learned."))
    assert path.stat().st_size < size - (0 if keeps_them else 5 * len(X))
    for call in (lambda: lean.recommend([100]), lean.complete):
        with pytest.raises(ValueError, match="saved without its ratings"):
            call()
    lean.save(path)  # there are none to keep
    assert cofactor.load(path).ratings_ is None


#: What saves a model and rebuilds it; the arrays that a model adds are tested for each, below.
saving = probed("save", "_to_state", "_from_state")


@saving
@pytest.mark.parametrize(
    "rename",
    [
        *(lambda k: f"n° {k}", lambda k: k if k % 3 else str(k), lambda k: k / 2),
        lambda k: k - 2**63 if k % 2 else k + 2**62,
    ],
    ids=["strings", "mixed", "fractions", "far apart"],
)
def test_ids_survive(name, rename, tmp_path):
    X, y = data(name)
    pairs = [(rename(u), rename(i)) for u, i in X.tolist()]
    model = fresh(name).fit(pairs, y)
    model.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert (loaded.users_, loaded.items_) == (model.users_, model.items_)
    assert np.array_equal(loaded.predict(pairs), model.predict(pairs))
    assert loaded.recommend([pairs[0][0]])[0].tolist() == model.recommend([pairs[0][0]])[0].tolist()


@every_class
def test_a_folded_in_model_survives(name, tmp_path):
    X, y = data(name)
    new = X[:, 0] > 120
    folded = fitted(name).fold_in(X[new], y[new], known="replace")
    folded.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert bits(loaded) == bits(folded)
    assert np.array_equal(loaded.complete(), folded.complete())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_class
def test_the_choice_of_alpha_survives(name, tmp_path):
    if not hasattr(simple_models(fitted(name))[0], "validation_"):
        return
    model, _ = with_chosen_alpha(name)
    model.save(tmp_path / "model")
    for a, b in zip(simple_models(cofactor.load(tmp_path / "model")), simple_models(model), strict=True):
        assert a.alpha_ == b.alpha_
        if b.validation_ is not None:
            assert type(a.validation_) is type(b.validation_)
            for key in ("alphas", "errors", "deviations", "best"):
                assert np.array_equal(getattr(a.validation_, key), getattr(b.validation_, key))


@saving
def test_parameters_that_a_file_cannot_hold_are_left_out(name, tmp_path):
    generator, levels = np.random.default_rng(0), np.array(CASES[name].scale)
    model = fresh(name).set_params(callback=lambda _: None, random_state=generator, levels=levels)
    model.fit(*data(name)).save(tmp_path / "model")
    params = cofactor.load(tmp_path / "model").get_params()
    assert (params["callback"], params["random_state"], params["levels"]) == (None, None, levels.tolist())


# ---------------------------------------------------------------- crafted files

Change = Callable[[dict[str, Any], dict[str, np.ndarray]], None]


def put(key: str, where: Any, value: Any) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[key][where] = value

    return change


def replace(key: str, make: Callable[[np.ndarray], np.ndarray]) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        arrays[key] = make(arrays[key])

    return change


def head(**members: Any) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        header.update(members)

    return change


def inside(member: str, **values: Any) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        header[member].update(values)

    return change


def without(key: str) -> Change:
    def change(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        (header if key in header else arrays).pop(key)

    return change


CRAFTED: dict[str, tuple[Change, str]] = {
    "item index too large": (put("ratings.indices", -1, 24), "item indices"),
    "item index negative": (put("ratings.indices", 0, -1), "item indices"),
    "item indices not increasing": (replace("ratings.indices", lambda a: a[::-1].copy()), "item indices"),
    "offset beyond the end": (put("ratings.indptr", -1, 10**6), "offsets"),
    "offset negative": (put("ratings.indptr", 0, -5), "offsets"),
    "offsets not increasing": (put("ratings.indptr", 5, 0), "offsets|item indices"),
    "offsets of fewer users": (replace("ratings.indptr", lambda a: np.delete(a, 3)), "shapes"),
    "level zero": (put("ratings.levels", 0, 0), "levels"),
    "level too large": (put("ratings.levels", 0, 200), "levels"),
    "levels of another type": (replace("ratings.levels", lambda a: a.astype(float)), "types"),
    "fewer levels than entries": (replace("ratings.levels", lambda a: a[1:]), "shapes"),
    "levels missing": (without("ratings.levels"), "ratings.levels"),
    "ids not sorted": (replace("users.ids", lambda a: a[::-1].copy()), "ids of users"),
    "ids repeated": (put("items.ids", 1, 0), "ids of items"),
    "ids of another type": (replace("items.ids", lambda a: a.astype(np.float32)), "ids of items"),
    "ids in a table": (replace("items.ids", lambda a: a[:, None]), "ids of items"),
    "ids missing": (without("users.ids"), "ids"),
    "ids of unknown kind": (inside("ids", users={"kind": "pickle"}), "pickle"),
    "ids which are no header": (inside("ids", users=3), "users is a int, expected dict"),
    "mixed ids, repeated": (inside("ids", users={"kind": "mixed", "ids": ["a"] * 30}), "ids of users"),
    "ids that are none": (inside("ids", users={"kind": "mixed", "ids": [None, *range(29)]}), "ids of users"),
    "unhashable ids": (inside("ids", users={"kind": "mixed", "ids": [[1]] * 30}), "unhashable"),
    "unknown class": (head(**{"class": "Oracle"}), "class 'Oracle', which is not known"),
    "unknown parameter": (inside("params", colour="red"), "colour"),
    "parameter out of range": (inside("params", duplicates="first"), "duplicates='first'"),
    "parameters missing": (without("params"), "params"),
    "parameters in a list": (head(params=[1]), "params is a list, expected dict"),
    "learned values missing": (without("learned"), "learned"),
    "learned values in a list": (head(learned=[]), "learned is a list"),
    "unknown part": (inside("learned", scale_={"model": "Oracle", "arrays": "", "state": {}}), "Oracle"),
    "part in a string": (inside("learned", scale_={"model": "MMMF", "arrays": "", "state": "none"}), "is a str"),
    "scale of NaN": (put("learned.scale_", 0, np.nan), "scale"),
    "scale not increasing": (put("learned.scale_", 1, -100), "scale"),
    "scale missing": (without("learned.scale_"), "scale_"),
}  # fmt: skip

#: Damages which a model finds by the shapes of what it learned.
MISFITS: dict[str, tuple[Change, str]] = {
    "a user less": (replace("users.ids", lambda a: a[1:]), "shape|parts"),
    "an item more": (replace("items.ids", lambda a: np.append(a, 10**6)), "shape|parts"),
    "scale with a level more": (replace("learned.scale_", lambda a: np.append(a, 99)), "shape|parts|scale"),
}


@saving
@together("crafted", CRAFTED)
def test_crafted_files_are_refused(name, crafted, tmp_path):
    refused(name, *CRAFTED[crafted], tmp_path)


@every_class
@together("misfit", MISFITS)
def test_parts_that_do_not_fit_together_are_refused(name, misfit, tmp_path):
    refused(name, *MISFITS[misfit], tmp_path)


def refused(name: str, change: Change, message: str, folder: Path) -> None:
    path = folder / "model.cofactor"
    header, arrays = copy.deepcopy(content(name))
    change(header, arrays)
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match=message) as caught:
        cofactor.load(path)
    assert str(path) in str(caught.value)


@every
@together("how", ["shorter", "integers", "missing"])
def test_every_learned_array_must_fit(name, how, tmp_path):
    header, arrays = content(name)
    learned = [key for key in arrays if re.search(r"(learned|samples)\.(?!scale_)", key)]
    assert learned
    keys = {re.sub(r"\d+", "#", key): key for key in learned}  # of parts that are alike the last one
    first = next(other for other in CASES if type(CASES[other].model) is type(CASES[name].model))
    if name != first:  # the same class checks the same arrays in the same way
        others = {re.sub(r"\d+", "#", key) for key in content(first)[1]}
        keys = {form: key for form, key in keys.items() if form not in others}
    for key in keys.values():
        crafted = dict(arrays)
        if how == "missing":
            del crafted[key]
        else:
            a = arrays[key]
            crafted[key] = a[:-1] if how == "shorter" else np.ones(a.shape, int)
            if not a.size and crafted[key].shape == a.shape:  # nothing can be taken from an empty array
                continue
        write_model(tmp_path / "forged", header, crafted)
        with pytest.raises(ModelFileError, match="model of class"):
            cofactor.load(tmp_path / "forged")


@saving
def test_unknown_members_do_not_become_attributes(name, tmp_path):
    path = saved(name, tmp_path)
    header, arrays = read_model(path)
    header["learned"]["predict"] = "evil"
    header["predict"] = "evil"
    arrays["learned.predict"] = np.zeros(1)
    write_model(path, header, arrays)
    loaded = cofactor.load(path)
    assert callable(loaded.predict)
    assert bits(loaded) == bits(fitted(name))


@every_class
def test_parts_of_the_wrong_kind(name, tmp_path):
    model, key = fitted(name), parts_of(fitted(name))
    if not key:
        return
    path = saved(name, tmp_path)
    header, arrays = read_model(path)
    parts = header["learned"][key]
    for crafted in ([], parts[:1] * (name == "HMF"), [{**parts[0], "model": "ALS"}, *parts[1:]], "none", [3, 4]):
        write_model(path, {**header, "learned": header["learned"] | {key: crafted}}, arrays)
        with pytest.raises(ModelFileError, match=f"model of class {type(model).__name__}"):
            cofactor.load(path)
