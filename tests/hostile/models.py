"""Small fitted models of all classes, with what they may hold inside; and everything that is asked of a loaded one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import cofactor
from cofactor import labels, ratings
from cofactor.datasets import RatingDataset, load_labels
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import MLCHMF, OMF, PLST, BinaryRelevance, LabelModel, MLkNN
from cofactor.ratings import ALS, BPMF, EASE, HMF, MMMF, Ensemble, GibbsMMMF, OrdinalProbit, RatingModel
from cofactor.samplers import DivergedError

#: Parameters that make a fit as short as possible.
_LEAST = {
    "n_factors": 2, "n_components": 2, "n_groups": 2, "n_implicit": 2, "n_neighbors": 3, "n_members": 2,
    "n_estimators": 2, "max_iter": 3, "n_sweeps": 6, "burn_in": 2, "random_state": 0,
}  # fmt: skip

PAIRS = np.array([(u, i) for u in range(9) for i in range(7) if (u + 2 * i) % 3])
LEVELS = (PAIRS[:, 0] * PAIRS[:, 1] + PAIRS[:, 1]) % 7 % 5 + 1.0

FEATURES = ((3 * np.arange(24)[:, None] + 5 * np.arange(5) + np.arange(24)[:, None] * np.arange(5)) % 7).astype(float)
LABELS = (FEATURES[:, :4] > FEATURES[:, 1:]).astype(int)
TEXTS = [" ".join("abcdefg"[int(k)] * 2 for k in row) for row in FEATURES]

NOTES = pd.DataFrame(
    {
        "body": TEXTS,
        "sky": ["grey", "blue", None] * 8,
        "age": np.where(FEATURES[:, 0] > 5, np.nan, FEATURES[:, 0]),
        "calm": ["no", "yes"] * 12,
        "tags": [";".join("abcd"[k] for k in np.flatnonzero(row)) for row in LABELS],
    }
)


def small(kind: type[Any], **settings: Any) -> Any:
    """Return an unfitted model whose fit is short."""
    params = kind().get_params(deep=False)
    least: dict[str, Any] = {name: value for name, value in _LEAST.items() if name in params}
    if params.get("alpha") == "auto":
        least["alpha"] = 1.0
    return kind(**{**least, **settings})


def fitted() -> Iterator[tuple[str, Any]]:
    """Yield names and fitted models."""
    for name, kind in ratings.MODELS.items():
        y = np.where(LEVELS > 3, 1.0, -1.0) if name == "BinaryMMMF" else LEVELS
        yield name, small(kind).fit(PAIRS, y)
    for name, kind in ratings.ranking.MODELS.items():
        given = {"ratings": small(OrdinalProbit)} if name == "Recommender" else {}
        yield name, small(kind, **given).fit(PAIRS, *([LEVELS] if given else []))
    for solver in ("dual", "low-rank"):
        yield f"EASE, {solver}", EASE(1.0, solver=solver, n_factors=2).fit(PAIRS)
    texts = [(f"user {u}", f"film {i}") for u, i in PAIRS.tolist()]
    mixed = [(u if u % 2 else str(u), i / 2) for u, i in PAIRS.tolist()]
    yield "text ids", small(MMMF).fit(texts, LEVELS)
    yield "mixed ids", small(HMF).fit(mixed, LEVELS)
    yield "MMMF of bins", small(MMMF).fit(RatingDataset("bins", PAIRS, LEVELS**3, None).binned(4, "quantile"))
    yield "Ensemble of HMF", Ensemble(small(HMF), 2, random_state=0).fit(PAIRS, LEVELS)
    yield "GibbsMMMF, implicit", small(GibbsMMMF, implicit="low-rank").fit(PAIRS, LEVELS)
    about = {i: ["odd" if i % 2 else "even", i] for i in range(7)}
    for kind in (ALS, BPMF, MMMF):
        yield f"{kind.__name__}, features", small(kind).fit(PAIRS, LEVELS, user_features=about, item_features=about)
    yield "OrdinalProbit, sparse", small(OrdinalProbit, implicit="sparse", n_chains=2).fit(PAIRS, LEVELS)
    own = PAIRS[:, 0] < 6
    yield (
        "OrdinalProbit, shadow users",
        small(OrdinalProbit).fit(PAIRS[own], LEVELS[own], shadow=(PAIRS[~own], LEVELS[~own]), item_features=about),
    )
    for name, kind in (labels.MODELS | labels.TRANSFORMERS).items():
        yield name, small(kind).fit(FEATURES, LABELS)
    yield "constant labels", small(PLST).fit(FEATURES, np.ones((24, 2)))
    for rule in ("per-label", "top-k"):
        yield f"PLST, {rule}", small(PLST, threshold=rule).fit(FEATURES, np.hstack([LABELS, np.ones((24, 1))]))
    yield "OMF by sgd", small(OMF, solver="sgd").fit(FEATURES, LABELS)
    table = sparse.csr_array(FEATURES)
    yield "MLkNN, sparse", small(MLkNN).fit(table, sparse.csr_array(LABELS))
    yield "MLCHMF, sparse", small(MLCHMF, scale="standard", min_size=2).fit(table, LABELS)
    yield "MLCHMF, standard", small(MLCHMF, scale="standard", min_size=2).fit(FEATURES, LABELS)
    for inner in (
        *(DecisionTreeClassifier(max_depth=3), KNeighborsClassifier(2), GaussianNB(), BernoulliNB()),
        LogisticRegression(),
    ):
        name = f"BinaryRelevance of {type(inner).__name__}"
        yield name, BinaryRelevance.paper(inner, random_state=0).fit(FEATURES, LABELS)
    yield "nearest in sparse", BinaryRelevance.paper(KNeighborsClassifier(2, metric="cosine")).fit(table, LABELS)
    data = load_labels(NOTES, "tags", label_sep=";", text="body")
    yield "OMF of notes", small(OMF).fit(data)
    yield "pipeline of texts", make_pipeline(TfidfVectorizer(), small(MLkNN)).fit(TEXTS, LABELS)
    yield "pipeline", make_pipeline(StandardScaler(), MinMaxScaler(), small(PLST)).fit(FEATURES, LABELS)


def ask(model: Any, folder: Path) -> None:
    """Call everything that a loaded model can do; what the package refuses by its own errors is fine."""
    if isinstance(model, RatingModel):
        questions = _of_ratings(model)
    else:
        questions = _of_interactions(model) if type(model).__name__ in ratings.ranking.MODELS else _of_labels(model)
    for question in (*questions, lambda: cofactor.save(model, folder / "again")):
        with suppress(InvalidInputError, InvalidTypeError, DivergedError):
            question()


def _of_ratings(model: RatingModel) -> list[Callable[[], Any]]:
    users, items = model.users_.ids, model.items_.ids
    pairs = [(u, i) for u in [*users[:4].tolist(), "nobody"] for i in [*items.tolist()[:9], "nothing"]]
    new = [(u, i) for u in ("x", "y") for i in items.tolist()[:3]]
    y = np.resize(model.scale_, len(new))
    given = (PAIRS, LEVELS)

    def go_on() -> Any:
        again = clone(model).set_params(warm_start=True, n_sweeps=2, burn_in=0, thin=1, n_jobs=None, n_chains=1)
        again.__dict__ |= {name: value for name, value in vars(model).items() if name.endswith("_")}
        return again.fit(*given).predict(pairs)

    questions: list[Callable[[], Any]] = [
        lambda: model.predict(pairs),
        lambda: model.decision_function(pairs),
        lambda: model.margins(pairs),
        lambda: model.recommend(users[:3], 3, exclude_seen=False),
        lambda: model.recommend(users[:3], 3),
        model.complete,
        lambda: model.fold_in(new, y).predict([("x", i) for i in items.tolist()[:9]]),
        lambda: copy(model).update([("x", items.tolist()[0]), (users.tolist()[0], "new")], y[:2]).predict(pairs),
    ]
    if hasattr(model, "predict_proba"):
        questions.append(lambda: model.predict_proba(pairs))
    if hasattr(model, "fold_in_items"):
        of_items = [(u, "new") for u in users.tolist()[:3]]
        questions.append(lambda: model.fold_in_items(of_items, y[:3]).predict(of_items))
    if model.rating_scale_ is not None:
        questions.append(lambda: model.rating_scale_.named(model.predict(pairs)))
        questions.append(lambda: model.rating_scale_.levels_of(LEVELS))
    if "warm_start" in model.get_params(deep=False):
        questions.append(go_on)
    return questions


def _of_interactions(model: Any) -> list[Callable[[], Any]]:
    items = model.items_.ids.tolist()
    new = [(u, i) for u in ("x", "y") for i in items[:3]]
    questions: list[Callable[[], Any]] = [
        lambda: model.recommend(n=3),
        lambda: model.recommend(model.users_.ids[:3], 3, exclude_seen=False),
        lambda: model.fold_in(new).recommend(n=3),
        lambda: copy(model).update([("x", items[0]), (model.users_.ids.tolist()[0], "new")]).recommend(n=2),
    ]
    if hasattr(model, "decision_function"):
        questions.append(lambda: model.decision_function([*new, (model.users_.ids.tolist()[0], items[0])]))
    return questions


def _of_labels(model: Any) -> list[Callable[[], Any]]:
    n = getattr(model, "n_features_in_", 5)
    if hasattr(model, "steps") and isinstance(model.steps[0][1], TfidfVectorizer):
        forms: list[Any] = [TEXTS]
    else:
        X = np.resize(FEATURES, (24, n)) if n < 10**6 else FEATURES
        forms = [X, X[:1]]
        if not hasattr(model, "steps"):  # a scaler of scikit-learn that shifts takes dense features only
            forms.append(sparse.csr_array(X))
    questions: list[Callable[[], Any]] = []
    for X in forms:
        for method in ("predict", "decision_function", "predict_proba", "transform"):
            if hasattr(model, method):
                questions.append(lambda X=X, method=method: getattr(model, method)(X))
    if hasattr(model, "schema_"):
        questions.append(lambda: model.predict(NOTES))
        questions.append(lambda: load_labels(NOTES, schema=model.schema_))
    if isinstance(model, LabelModel):
        Y = np.resize(LABELS, (24, len(model.label_names_)))
        questions.append(lambda: model.fit_threshold(forms[0], Y, "per-label"))
        questions.append(lambda: model.score(forms[0], Y))
    if hasattr(model, "partial_fit"):
        questions.append(lambda: model.partial_fit(forms[0], Y))
        questions.append(lambda: model.predict(forms[0]))
    return questions
