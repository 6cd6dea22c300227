"""The parts of the contract that apply to reductions of the features."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from tests.together import together

import cofactor
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import CCA, MDDM, MLDA, MLSI, MNMTF, TRANSFORMERS, FeatureNMF, MLkNN
from cofactor.persistence import ModelFileError

from .models import data

CASES = {
    "MNMTF": MNMTF(3, max_iter=1000, random_state=0),
    "MDDM": MDDM(3, scale="none"),
    "MDDM of a kernel": MDDM(3, form="features", kernel="rbf", scale="none"),
    "MLSI": MLSI(3, scale="none"),
    "MLDA": MLDA(3),
    "CCA": CCA(3, scale="none"),
    "FeatureNMF": FeatureNMF(3, tol=1e-8, max_iter=2000, random_state=0),
}
every = pytest.mark.parametrize("name", CASES)


def test_every_transformer_is_under_contract():
    assert {type(case).__name__: type(case) for case in CASES.values()} == TRANSFORMERS


@every
def test_same_seed_same_bits_in_every_form(name):
    X, Y = data()
    expected = clone(CASES[name]).fit(X, Y).transform(X)
    assert np.array_equal(clone(CASES[name]).fit(X, Y).transform(X), expected)
    assert np.allclose(clone(CASES[name]).fit_transform(X, Y), expected)
    assert np.array_equal(clone(CASES[name]).fit(X, 2 * Y - 1).transform(X), expected)
    for form in (sparse.csr_array, sparse.csc_matrix):
        assert np.allclose(clone(CASES[name]).fit(form(X), form(Y)).transform(form(X)), expected, rtol=1e-4, atol=1e-5)


@every
def test_a_loaded_transformer_is_the_saved_one(name, tmp_path):
    X, Y = data()
    transformer = clone(CASES[name])
    with pytest.raises(NotFittedError):
        transformer.transform(X)
    transformer.fit(X, Y).save(tmp_path / "file")
    loaded = cofactor.load(tmp_path / "file")
    assert type(loaded) is type(transformer)
    assert repr(loaded) == repr(transformer)
    assert np.array_equal(loaded.transform(X), transformer.transform(X))
    whole = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError):
        cofactor.load(tmp_path / "file")


@every
def test_before_a_model_in_a_pipeline(name):
    X, Y = data()
    assert make_pipeline(clone(CASES[name]), MLkNN.paper(5)).fit(X, Y).score(X, Y) > 0.5


BAD_PARAMETERS = {
    "n_components": (0, 1.5, "all"),
    "alpha": (-1,),
    "beta": (-1,),
    "gamma": (-1,),
    "mu": (1.5,),
    "form": ("best",),
    "scale": ("big",),
    "rule": ("other",),
    "training_codes": ("own",),
    "start_scale": (0,),
    "max_iter": (0,),
    "callback": (3,),
    "verbose": ("loud",),
}


@together(
    ("name", "key", "value"),
    [
        (name, key, value)
        for name in CASES
        for key, values in BAD_PARAMETERS.items()
        for value in values
        if key in CASES[name].get_params()
    ],
)
def test_bad_parameters(name, key, value):
    with pytest.raises((InvalidInputError, InvalidTypeError), match=f"{key}={value!r}"):
        clone(CASES[name]).set_params(**{key: value}).fit(*data())


@every
def test_bad_input(name):
    X, Y = data()
    tags = get_tags(CASES[name])
    if tags.input_tags.positive_only:
        fitted = clone(CASES[name]).fit(X, Y)
        for features in (X - 0.5, sparse.csr_array(X - 0.5)):
            for call in (lambda X: clone(CASES[name]).fit(X, Y), fitted.transform):
                with pytest.raises(ValueError, match=r"X holds -0\.\d+, but (.|\n)*MinMaxScaler"):
                    call(features)
    if tags.target_tags.required:
        with pytest.raises(ValueError, match=r"y holds 0\.5"):
            clone(CASES[name]).fit(X, Y / 2)
        with pytest.raises(ValueError, match="rows|samples"):
            clone(CASES[name]).fit(X, Y[:-1])
    fitted = clone(CASES[name]).fit(X, Y)
    bad = X.copy()
    bad[2, 3] = np.nan
    for features in (bad, sparse.csr_array(bad)):
        for call in (lambda X: clone(CASES[name]).fit(X, Y), fitted.transform):
            with pytest.raises(InvalidInputError, match=r"X holds NaN \(row 2, column 3\)"):
                call(features)
