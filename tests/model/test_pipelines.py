"""A pipeline of scikit-learn is one file, and a forged one is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

import cofactor
from cofactor.labels import MNMTF, PLST, BinaryRelevance, MLkNN
from cofactor.model.pipelines import ADAPTERS
from cofactor.persistence import ModelFileError, read_model, write_model

X = np.random.default_rng(0).random((40, 5)) * [1, 10, 0.1, 5, 0]
Y = (np.random.default_rng(1).random((40, 4)) + X[:, [0]] > 1.0).astype(int)
TEXTS = [f"{'cats' * (k % 2)} {'Dogs' * (k % 3 > 0)} word{k % 5} über" for k in range(40)]

NUMBERS = [
    StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(), Normalizer("l1"), TfidfTransformer(), TfidfTransformer(use_idf=False),
]  # fmt: skip
WORDS = [
    CountVectorizer(), CountVectorizer(binary=True, dtype=np.float32, vocabulary=["cats", "dogs", "word1"]),
    TfidfVectorizer(), TfidfVectorizer(ngram_range=(1, 2), stop_words=["word1"], sublinear_tf=True),
    TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), use_idf=False, strip_accents="unicode"),
]  # fmt: skip


def dense(table: Any) -> np.ndarray:
    return table.toarray() if sparse.issparse(table) else np.asarray(table)


@pytest.mark.parametrize("step", NUMBERS, ids=repr)
def test_scalers(step: Any, tmp_path: Any) -> None:
    model = make_pipeline(step, PLST.paper(1.0)).fit(X, Y)
    cofactor.save(model, tmp_path / "m")
    loaded = cofactor.load(tmp_path / "m")
    assert type(loaded) is Pipeline
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(dense(loaded[0].transform(X)), dense(model[0].transform(X)))
    assert loaded.n_features_in_ == 5
    cofactor.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert np.array_equal(loaded.fit(X, Y).predict(X), model.predict(X))


@pytest.mark.parametrize("step", WORDS, ids=repr)
def test_words(step: Any, tmp_path: Any) -> None:
    model = make_pipeline(step, MaxAbsScaler(), BinaryRelevance.paper(LinearSVC())).fit(TEXTS, Y)
    cofactor.save(model, tmp_path / "m")
    loaded = cofactor.load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(TEXTS), model.decision_function(TEXTS))
    found, expected = loaded[0].transform([*TEXTS, "new"]), step.transform([*TEXTS, "new"])
    assert found.dtype == expected.dtype
    assert np.array_equal(found.toarray(), expected.toarray())
    assert np.array_equal(loaded[0].get_feature_names_out(), step.get_feature_names_out())
    # Words of a fixed vocabulary come back as words that were learned.
    assert loaded[0].fit(TEXTS).vocabulary_ if step.vocabulary is not None else repr(loaded[0]) == repr(step)


def test_pipelines_in_pipelines_and_transformers_of_cofactor(tmp_path: Any) -> None:
    inner = make_pipeline(MinMaxScaler(clip=True), "passthrough", MNMTF(3, random_state=0, max_iter=500))
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = Pipeline([("reduce", inner), ("nothing", None), ("tag", MLkNN.paper(3))]).fit(frame, Y)
    cofactor.save(model, tmp_path / "m")
    loaded = cofactor.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[list("edcba")])
    for alone in (inner, inner[0], TfidfVectorizer().fit(TEXTS), PLST.paper().fit(X, Y)):
        cofactor.save(alone, tmp_path / "alone")
        assert type(cofactor.load(tmp_path / "alone")) is type(alone)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(FunctionTransformer(), PLST.paper()), "step 'functiontransformer' is a FunctionTransformer"),
        (make_pipeline(TruncatedSVD(2), PLST.paper()), "step 'truncatedsvd' is a TruncatedSVD"),
        (make_pipeline(StandardScaler(), PLST.paper(), memory="cache"), "memory"),
        (make_pipeline(CountVectorizer(tokenizer=str.split, token_pattern=None), PLST.paper()), "tokenizer="),
        (make_pipeline(CountVectorizer(analyzer=str.split), PLST.paper()), "analyzer="),
        (TruncatedSVD(2), "a TruncatedSVD cannot be saved"),
    ],
)
def test_what_a_file_cannot_hold(model: Any, message: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = isinstance(model, Pipeline) and isinstance(model[0], CountVectorizer)
    model.fit(TEXTS if words else X, Y)
    with pytest.raises(TypeError, match=message):
        cofactor.save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "model", [make_pipeline(StandardScaler(), PLST.paper()), PLST.paper(), *(kind for kind in NUMBERS)], ids=repr
)
def test_what_is_not_fitted(model: Any, tmp_path: Any) -> None:

    with pytest.raises(NotFittedError):
        cofactor.save(clone(model), tmp_path / "m")


def test_a_vectorizer_that_reads_files_is_refused(tmp_path: Any) -> None:
    (tmp_path / "text").write_text("some words")
    model = CountVectorizer(input="filename").fit([str(tmp_path / "text")])
    with pytest.raises(TypeError, match="reads files"):
        cofactor.save(model, tmp_path / "m")


def forged(model: Any, tmp_path: Any, change: Any) -> None:
    cofactor.save(model, tmp_path / "m")
    header, arrays = read_model(tmp_path / "m")
    change(header, arrays)
    write_model(tmp_path / "m", header, arrays)
    with pytest.raises(ModelFileError):
        cofactor.load(tmp_path / "m")


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h.update(n_features=4),
        lambda h, a: h.update(n_features=-1),
        lambda h, a: h.update(feature_names=["a"]),
        lambda h, a: h.update(feature_names=["a"] * 5),
        lambda h, a: h.update(n_samples_seen=-3),
        lambda h, a: h.update(n_samples_seen=[1, 2]),
        lambda h, a: h["params"].update(with_mean="yes"),
        lambda h, a: h["params"].update(fit=3),
        lambda h, a: h["params"].update(copy={"class": "PLST", "params": {}}),
        lambda h, a: a.update(mean_=np.ones(4)),
        lambda h, a: a.update(mean_=np.full(5, np.nan)),
        lambda h, a: a.update(mean_=np.ones(5, dtype=np.int64)),
        lambda h, a: a.update(scale_=np.zeros(5)),
        lambda h, a: a.update(scale_=-np.ones(5)),
        lambda h, a: a.pop("mean_") is None or h["params"].update(with_mean=True),
    ],
)
def test_a_forged_scaler(change: Any, tmp_path: Any) -> None:
    forged(StandardScaler().fit(X), tmp_path, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h.update(words=[]),
        lambda h, a: h.update(words=h["words"][:-1]),
        lambda h, a: h.update(words=[h["words"][0]] * len(h["words"])),
        lambda h, a: h.update(words=[3] * len(h["words"])),
        lambda h, a: h.update(fixed="no"),
        lambda h, a: a.update(idf=np.ones(2)),
        lambda h, a: a.update(idf=np.full(len(h["words"]), np.inf)),
        lambda h, a: a.pop("idf"),
        lambda h, a: h["params"].update(input="filename"),
        lambda h, a: h["params"].update(input="file"),
        lambda h, a: h["params"].update(dtype="object"),
        lambda h, a: h["params"].update(token_pattern="("),
        lambda h, a: h["params"].update(ngram_range=[1, "many"]),
        lambda h, a: h["params"].update(analyzer="os.system"),
        lambda h, a: h["params"].update(analyzer={"class": "PLST", "params": {}}),
        lambda h, a: h["params"].update(stop_words=3),
    ],
)
def test_a_forged_vectorizer(change: Any, tmp_path: Any) -> None:
    forged(TfidfVectorizer().fit(TEXTS), tmp_path, change)


@pytest.mark.parametrize(
    "change",
    [
        lambda h, a: h.update(steps=[]),
        lambda h, a: h.update(steps={}),
        lambda h, a: h["steps"].append(h["steps"][0]),
        lambda h, a: h["steps"][0].append(3),
        lambda h, a: h["steps"][0].__setitem__(0, "a__b"),
        lambda h, a: h["steps"][0].__setitem__(1, "print"),
        lambda h, a: h["steps"][0].__setitem__(1, {"array": "step0.mean_"}),
        lambda h, a: h["steps"][0][1].update(model="FunctionTransformer"),
        lambda h, a: h["steps"].reverse(),
        lambda h, a: h.update(verbose="x"),
    ],
)
def test_a_forged_pipeline(change: Any, tmp_path: Any) -> None:
    forged(make_pipeline(StandardScaler(), PLST.paper(1.0)).fit(X, Y), tmp_path, change)


def test_every_adapter_is_tested() -> None:
    assert {type(step) for step in (*NUMBERS, *WORDS)} | {Pipeline} == set(ADAPTERS)


def test_a_path_in_place_of_the_model(tmp_path: Any) -> None:
    with pytest.raises(TypeError, match=r"^model='.*': expected a fitted model first, then the path$"):
        cofactor.save(str(tmp_path / "m.cofactor"), PLST.paper(1.0))  # type: ignore[arg-type]
