"""Labels of which some are not known: nothing is learned from them, and nothing is measured on them."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from tests.together import together

from cofactor import load
from cofactor.datasets import load_labels
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.evaluation import Search, StratifiedLabelKFold, compare, evaluate_labels
from cofactor.labels import (
    CPLST,
    CSSP,
    LEML,
    OMF,
    PLST,
    BinaryRelevance,
    FAiE,
    FeatureSpace,
    GroPLE,
    LabelRidge,
    MLkNN,
    filling,
)
from cofactor.labels import MODELS as REGISTRY
from cofactor.labels.data import as_known_labels
from cofactor.labels.filling import fill_labels, known_penalty, known_ridge
from cofactor.losses import Logistic, Squared
from cofactor.metrics.labels import hamming_loss, label_report, micro_f1
from cofactor.penalties import L2
from cofactor.problems import LowRankProblem

MODELS = {
    "LabelRidge": LabelRidge(),
    "LabelRidge, linear": LabelRidge(2.0, kernel="linear", n_components=1.0),
    "PLST": PLST.paper(1.0),
    "PLST, half": PLST.paper(0.5),
    "CPLST": CPLST.paper(0.6),
    "CSSP": CSSP.paper(0.6, random_state=0),
    "FAiE": FAiE.paper(0.6),
    "LEML": LEML.paper(1.0, max_iter=60),
    "LEML, logistic": LEML.paper(1.0, loss="logistic", max_iter=60),
    "GroPLE": GroPLE.paper(6, 2, random_state=0),
    "BR": BinaryRelevance.paper(random_state=0),
    "BR, ridge": BinaryRelevance.paper(Ridge()),
    "BR, neighbours": BinaryRelevance.paper(KNeighborsClassifier()),
}
for _model in MODELS.values():
    _model.set_params(threshold=0)


def problem(seed=0, n=90, D=6, L=5, share=0.6):
    """Features, labels, which of these are known, and labels with NaN for the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    Y = (X @ rng.normal(size=(D, L)) + 0.5 * rng.normal(size=(n, L)) > 0.5).astype(float)
    known = rng.random((n, L)) < share
    known[:, 0] = True  # a label of which all are known
    return X, Y, known, np.where(known, Y, np.nan)


def by_label(X, Y, known, alpha, weights, fit_intercept):
    """Ridge regression of each label on the instances for which it is known."""
    coef, intercept = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    for k, rows in enumerate(known.T):
        A = np.hstack([X[rows], np.ones((rows.sum(), 1))]) if fit_intercept else X[rows]
        penalty = alpha * np.eye(A.shape[1])
        penalty[X.shape[1] :] = 0
        found = np.linalg.solve((A.T * weights[rows]) @ A + penalty, (A.T * weights[rows]) @ Y[rows, k])
        coef[:, k], intercept[k] = found[: X.shape[1]], found[-1] if fit_intercept else 0
    return coef, intercept


@pytest.mark.parametrize("shape", [(50, 7), (18, 30)])
@pytest.mark.parametrize("form", ["dense", "sparse", "too large"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridge_of_known_labels_is_that_of_each_label(monkeypatch, shape, form, weighted, fit_intercept) -> None:
    monkeypatch.setattr(FeatureSpace, "largest", 5 if form == "too large" else 5000)
    monkeypatch.setattr(filling, "_BLOCK", 2 * max(shape) if weighted else 1 << 23)  # two labels at a time, or all
    X, Y, known, _ = problem(1, *shape)
    X = np.where(np.abs(X) > 0.6, X, 0) if form != "dense" else X
    weights = np.random.default_rng(2).random(len(X)) + 0.5
    space = FeatureSpace(
        X if form == "dense" else sparse.csr_array(X),
        fit_intercept=fit_intercept,
        sample_weight=weights if weighted else None,
    )
    expected = by_label(X, Y, known, 2.0, weights if weighted else np.ones(len(X)), fit_intercept)
    labels = sparse.csr_array(Y * known)
    for found in (known_ridge(space, labels, known, 2.0), space.ridge(fill_labels(space, labels, known, 2.0), 2.0)):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("loss", [Squared(), Logistic()])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_unknown_labels_do_not_count(loss, weighted) -> None:
    X, Y, known, _ = problem(2, 20, 4, 3)
    weights = np.arange(1.0, 21.0) if weighted else None
    low_rank = LowRankProblem(
        X, Y, loss, 2, {"U": L2(0.3), "V": L2(0.3)}, fit_intercept=True, weights=weights, known=known, dtype=np.float64,
        scores_per_block=15,
    )  # fmt: skip
    x = np.random.default_rng(0).normal(size=low_rank.size)
    gradient = np.empty_like(x)
    arrays = low_rank.arrays(x)
    scores = X @ arrays["U"] @ arrays["V"] + arrays["c"]
    losses = (Y - scores) ** 2 if isinstance(loss, Squared) else np.logaddexp(0, -(2 * Y - 1) * scores)
    losses = losses * known * (1 if weights is None else weights[:, None])
    penalty = 0.15 * (np.sum(arrays["U"] ** 2) + np.sum(arrays["V"] ** 2))
    assert low_rank.value_gradient(x, gradient) == pytest.approx(losses.sum() + penalty)

    def value(x):
        return low_rank.value_gradient(x, np.empty_like(x))

    def slope(x):
        low_rank.value_gradient(x, gradient)
        return gradient.copy()

    assert check_grad(value, slope, x) < 1e-4 * np.linalg.norm(slope(x))
    if not weighted:
        all_known = LowRankProblem(X, Y, loss, 2, {"U": L2(0.3)}, known=np.ones_like(known), dtype=np.float64)
        plain = LowRankProblem(X, Y, loss, 2, {"U": L2(0.3)}, dtype=np.float64)
        start = plain.start()
        np.testing.assert_allclose(all_known.start(), start)
        values = [one.value_gradient(start, np.empty_like(start)) for one in (all_known, plain)]
        assert values[0] == pytest.approx(values[1])


@pytest.mark.parametrize("name", MODELS)
def test_what_is_not_known_does_not_count(name) -> None:
    X, Y, known, unknown = problem(3)
    new = np.random.default_rng(1).normal(size=(30, X.shape[1]))
    model = MODELS[name]
    expected = clone(model).set_params(missing="ignore").fit(X, unknown).decision_function(new)
    for other in (Y, np.where(known, Y, 1 - Y), np.where(known, Y, 7.0)):  # whatever stands there
        np.testing.assert_allclose(clone(model).fit(X, other, mask=known).decision_function(new), expected)
    table = sparse.csr_array(np.where(known, Y, 0))
    found = clone(model).fit(X, table, mask=sparse.csr_array(known))
    np.testing.assert_allclose(found.decision_function(new), expected)
    empty = np.vstack([unknown, np.full((4, Y.shape[1]), np.nan)])  # instances of which nothing is known
    again = clone(model).set_params(missing="ignore").fit(np.vstack([X, new[:4]]), empty)
    np.testing.assert_allclose(again.decision_function(new), expected, atol=1e-9)
    plain = clone(model).fit(X, Y).decision_function(new)
    np.testing.assert_allclose(clone(model).fit(X, Y, mask=np.ones_like(known)).decision_function(new), plain)


def test_each_label_has_its_own_instances() -> None:
    X, Y, known, unknown = problem(4)
    model = BinaryRelevance.paper(LogisticRegression(), missing="ignore", threshold=0).fit(X, unknown)
    for k, rows in enumerate(known.T):
        alone = LogisticRegression().fit(X[rows], Y[rows, k])
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-6)
    ridge = BinaryRelevance.paper(Ridge(2.0), missing="ignore", threshold=0).fit(X, unknown)
    coef, _ = by_label(X, Y, known, 2.0, np.ones(len(X)), True)
    np.testing.assert_allclose(ridge.coef_, coef, atol=1e-6)
    for code in (
        PLST.paper(1.0, 2.0),
        CSSP.paper(1.0, 2.0, coding="0/1", random_state=0),
    ):  # with all components they are ridge regression
        found = code.set_params(missing="ignore", threshold=0).fit(X, unknown)
        np.testing.assert_allclose(found.decision_function(X), ridge.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("alpha", [2.0, "auto"])
def test_label_ridge_learns_each_label_from_its_own_instances(monkeypatch, alpha) -> None:
    X, Y, known, unknown = problem(4)
    X = np.where(np.abs(X) > 0.6, X, 0)
    model = LabelRidge(alpha, scale="none", missing="ignore", threshold=0)
    found = clone(model).fit(X, unknown)
    coef, intercept = by_label(X, Y, known, found.alpha_, np.ones(len(X)), True)
    np.testing.assert_allclose(found.decision_function(X), X @ coef + intercept - 0.5, atol=1e-6)
    monkeypatch.setattr(FeatureSpace, "largest", 5)
    large_one = clone(model).fit(sparse.csr_array(X), unknown)
    coef, intercept = by_label(X, Y, known, large_one.alpha_, np.ones(len(X)), True)
    np.testing.assert_allclose(large_one.decision_function(X), X @ coef + intercept - 0.5, atol=1e-3)


def test_the_penalty_is_that_of_the_least_error_on_hidden_labels() -> None:
    """Labels of pure noise want a much larger penalty, wherever the search starts."""
    X, Y, known, _ = problem(4, 200)
    space = FeatureSpace(X)
    noise = np.random.default_rng(0).permutation(Y)
    chosen = [known_penalty(space, sparse.csr_array(table * known), known, start)
              for table in (Y, noise) for start in (1.0, 1000.0)]  # fmt: skip
    assert max(chosen[:2]) < 0.1 * min(chosen[2:])


def test_labels_with_one_known_value_are_constant() -> None:
    X, _, _, unknown = problem(5)
    unknown[unknown[:, 1] == 0, 1] = np.nan
    unknown[unknown[:, 2] == 1, 2] = np.nan
    with pytest.warns(InputWarning, match="label 1 is known only where it is on, so nothing says") as found:
        model = PLST.paper(1.0, missing="ignore", threshold=0).fit(X, unknown)
    assert len(found) == 1
    assert model.constant_.tolist() == [0, 1, -1, 0, 0]
    assert model.predict(X)[:, 1:3].tolist() == [[1, 0]] * len(X)


def test_a_threshold_of_labels_known_only_where_they_are_on() -> None:
    X, Y, _, _ = problem(5)
    model = PLST(missing="ignore").fit(X, 2 * Y - 1)
    one_sided = np.where(Y == 1, 1, np.nan)  # ones and what is not known may belong to either coding
    with pytest.warns(InputWarning, match=r"label 0 \(and 4 more\) is known only where it is on"):
        model.fit_threshold(X, one_sided)


def test_decisions_are_learned_from_known_labels() -> None:
    X, Y, known, unknown = problem(6, 300)
    for rule in ("global", "per-label"):
        model = PLST.paper(1.0, missing="ignore", threshold=rule, random_state=0).fit(X, unknown)
        other = PLST.paper(1.0, threshold=rule, random_state=0).fit(X, np.where(known, Y, 1 - Y), mask=known)
        np.testing.assert_array_equal(model.threshold_, other.threshold_)
        assert model.score(X, Y) > 0.8


@given(st.integers(0, 10**6))
@settings(max_examples=6)
def test_every_form_of_unknown_labels_is_read_alike(seed) -> None:
    _, Y, known, unknown = problem(seed, 12, 3, 4)
    Y[0], known[0] = 0, True
    Y[1, 0], known[1, 0] = 1, True
    unknown = np.where(known, Y, np.nan)
    names = ["a", "b", "c", "d"]
    objects = np.where(known, Y.astype(int).astype(object), None)
    signs = np.where(known, 2 * Y - 1, np.nan)
    frame = pd.DataFrame(unknown, columns=names)
    stored = sparse.coo_array(np.where(known, Y, 0))
    rows, columns = np.nonzero(~known)
    with_nan = sparse.coo_array(
        (np.append(stored.data, np.full(len(rows), np.nan)),
         (np.append(stored.row, rows), np.append(stored.col, columns))), shape=Y.shape,
    )  # fmt: skip
    forms = [
        (unknown, None), (signs, None), (objects, None), (unknown.tolist(), None), (frame, None),
        (frame.astype("Int64"), None), (frame.astype("boolean"), None), (pd.DataFrame(objects, columns=names), None),
        (pl.DataFrame(objects.tolist(), schema=names, orient="row"), None),
        (pl.DataFrame(unknown, schema=names), None), (with_nan, None), (with_nan.tocsr(), None),
        (Y, known), (2 * Y - 1, known), (sparse.csr_array(2 * Y - 1), known), (Y > 0, known.astype(int)),
        (frame.fillna(1), pd.DataFrame(known, columns=names)), (sparse.csc_array(Y), sparse.csr_array(known)),
        (sparse.lil_matrix(Y), pl.DataFrame(known)), (unknown, np.ones_like(known)),
    ]  # fmt: skip
    for y, mask in forms:
        labels, form, _, found = as_known_labels(y, None, mask, missing="ignore")
        np.testing.assert_array_equal(labels.toarray(), Y * known, err_msg=repr((y, form)))
        if known.all():
            assert found is None
        else:
            np.testing.assert_array_equal(found, known)


def test_predictions_have_the_form_of_y() -> None:
    X, _, _, unknown = problem(7)
    frame = pd.DataFrame(np.where(np.isnan(unknown), np.nan, 2 * unknown - 1), columns=list("abcde"))
    found = PLST.paper(missing="ignore", threshold=0).fit(X, frame).predict(X)
    assert list(found.columns) == list("abcde")
    assert set(np.unique(found)) == {-1.0, 1.0}
    assert PLST.paper(missing="ignore").fit(X, pl.DataFrame(unknown, schema=list("abcde"))).predict(X).columns == list(
        "abcde"
    )


def test_nothing_is_measured_on_unknown_labels() -> None:
    X, Y, known, unknown = problem(8)
    model = PLST.paper(threshold=0).fit(X, Y)
    predicted = model.predict(X)
    hits = ((Y == 1) & (predicted == 1) & known).sum()
    expected = 2 * hits / (((Y == 1) & known).sum() + ((predicted == 1) & known).sum())
    assert model.score(X, unknown) == pytest.approx(expected)
    assert micro_f1(unknown, predicted) == pytest.approx(expected)
    assert hamming_loss(unknown, predicted) == pytest.approx((predicted != Y)[known].mean())
    report = label_report(np.vstack([unknown, np.full((1, 5), np.nan)]), *(
        np.vstack([table, table[:1]]) for table in (predicted, model.decision_function(X))
    ))  # fmt: skip
    f1 = [micro_f1(Y[rows][:, [k]], predicted[rows][:, [k]]) for k, rows in enumerate(known.T)]
    assert report["macro_f1"] == pytest.approx(np.mean(f1))
    assert "ranking_loss" not in report
    assert report["micro_f1"] == pytest.approx(expected)
    some = known.any(axis=1)
    rows = [label_report(Y[[i]][:, known[i]], predicted[[i]][:, known[i]], model.decision_function(X[[i]])[:, known[i]])
            for i in np.flatnonzero(some)]  # fmt: skip
    for name in ("accuracy", "example_f1", "subset_accuracy", "one_error", "coverage"):
        assert report[name] == pytest.approx(np.mean([row[name] for row in rows])), name
    frame = pd.DataFrame(unknown, columns=[4, 3, 2, 1, 0])
    named = PLST.paper(threshold=0).fit(X, pd.DataFrame(Y, columns=[4, 3, 2, 1, 0]))
    assert named.score(X, frame[[0, 1, 2, 3, 4]]) == pytest.approx(expected)


X, Y, KNOWN, UNKNOWN = problem(9)


@together(
    ("model", "y", "mask", "message"),
    [
        (PLST.paper(), UNKNOWN, None, "y holds nan .* missing='ignore' learns from the labels that are known"),
        (PLST.paper(missing="drop"), Y, None, "missing='drop': expected one of 'error', 'ignore'"),
        (MLkNN(), UNKNOWN, None, "but MLkNN needs all labels; take .* BinaryRelevance"),
        (OMF(2), Y, KNOWN, "y holds nan, or the mask leaves it out .*OMF needs all labels"),
        (LEML.paper(solver="als", missing="ignore"), UNKNOWN, None, "it needs all labels; take 'lbfgs' or 'auto'"),
        (PLST.paper(), Y, KNOWN[:, :4], r"has shape \(90, 4\), expected \(90, 5\)"),
        (PLST.paper(), Y, KNOWN.astype(int) * 2, "must hold True and False, or 1 and 0"),
        (PLST.paper(), Y, np.where(KNOWN, 1, np.nan), "must hold True and False, or 1 and 0"),
        (PLST.paper(), Y, np.ones((90, 5)) * (np.arange(5) > 0), "label 0 is known for no instance; leave it out"),
        (PLST.paper(missing="ignore"), np.full((90, 5), np.nan), None, r"label 0 \(and 4 more\) is known for no inst"),
        (PLST.paper(missing="ignore"), np.where(KNOWN, Y, np.nan) * 2, None, "y holds 2.0"),
        (PLST.paper(missing="ignore"), np.where(KNOWN, Y - (np.arange(5) == 1), np.nan), None, "holds -1 and 0"),
        (PLST.paper(missing="ignore"), np.where(KNOWN, Y, np.inf), None, "y holds inf"),
    ],
)  # fmt: skip
def test_refusals(model, y, mask, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, y, mask=mask)


def test_the_advice_names_all_models_that_take_unknown_labels() -> None:
    with pytest.raises(InvalidInputError) as refused:
        MLkNN().fit(X, UNKNOWN)
    named = set(re.findall(r"\w+", str(refused.value).partition("take ")[2])) & set(REGISTRY)
    assert named == {name for name, model in REGISTRY.items() if "missing" in model().get_params()}


def test_what_lies_under_a_masked_array_does_not_count_as_known() -> None:
    X, _, _, unknown = problem(9)
    hidden = np.ma.masked_array(unknown, np.eye(*unknown.shape, dtype=bool))
    for labels, mask in ((hidden, None), (np.nan_to_num(unknown), hidden == 1)):
        with pytest.raises(InvalidInputError, match="a masked array without a value in row 0, column 0"):
            PLST.paper(missing="ignore").fit(X, labels, mask=mask)


def test_a_mask_with_other_columns_is_refused() -> None:
    y, mask = pd.DataFrame(Y, columns=list("abcde")), pd.DataFrame(KNOWN, columns=list("edcba"))
    with pytest.raises(InvalidInputError, match="has other columns than y, or another order"):
        PLST.paper().fit(X, y, mask=mask)


def test_weights_and_unknown_labels_go_together(tmp_path) -> None:
    weights = np.arange(len(X)) % 3
    twice = np.repeat(np.arange(len(X)), weights)
    for model in (
        PLST.paper(1.0, threshold=0),
        BinaryRelevance(Ridge(), threshold=0),
        LEML.paper(1.0, max_iter=400),
    ):
        weighted = clone(model).fit(X, Y, weights, mask=KNOWN)
        repeated = clone(model).fit(X[twice], Y[twice], mask=KNOWN[twice])
        close = 0.02 if isinstance(model, LEML) else 1e-6
        np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=close)
    model = PLST.paper(missing="ignore", threshold=0).fit(X, UNKNOWN)
    model.save(tmp_path / "model.cofactor")
    again = load(tmp_path / "model.cofactor")
    assert again.missing == "ignore"
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_recorded_shares_give_probabilities_of_what_is_true() -> None:
    """Of the labels that are on, two fifths are recorded, at random."""
    X, Y, *_ = problem(10, 1500)
    seen = Y * (np.random.default_rng(1).random(Y.shape) < 0.4)
    for aim in ("micro", "macro", "example", "hamming", "subset"):
        model = PLST.paper(1.0, threshold="auto", decide_for=aim, random_state=0)
        true, naive = clone(model).fit(X, Y), clone(model).fit(X, seen)
        told = clone(model).fit(X, seen, recorded=0.4)
        gain = {"micro": -0.01, "macro": 0.05}.get(aim, 0.1)  # the best cuts for F1 move with what is recorded
        assert told.score(X, Y) > max(naive.score(X, Y) + gain, true.score(X, Y) - 0.1), aim
    chances = [one.predict_proba(X).mean(axis=0) - Y.mean(axis=0) for one in (naive, told)]
    assert np.abs(chances[1]).max() < 0.4 * np.abs(chances[0]).max()
    each = PLST(1.0, scale="none", threshold="auto", random_state=0).fit(X, seen, recorded=np.full(5, 0.4))
    one = PLST(1.0, scale="none", threshold="auto", random_state=0).fit(X, seen, recorded=0.4)
    np.testing.assert_array_equal(each.predict(X), one.predict(X))


def test_recorded_shares_are_kept_in_the_file(tmp_path) -> None:
    model = PLST(threshold="auto", random_state=0).fit(X, Y, recorded=[0.5, 0.6, 0.7, 0.8, 1.0])
    plain = PLST(threshold="auto", random_state=0).fit(X, Y)
    expected = np.minimum(plain.predict_proba(X) / [0.5, 0.6, 0.7, 0.8, 1.0], 1 - 1e-6)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    model.save(tmp_path / "model.cofactor")
    np.testing.assert_array_equal(load(tmp_path / "model.cofactor").predict_proba(X), model.predict_proba(X))
    model.decision_.calibration.recorded[0] = 2.0
    model.save(tmp_path / "forged.cofactor")
    with pytest.raises(InvalidInputError, match="shares of recorded labels must be above 0 and at most 1"):
        load(tmp_path / "forged.cofactor")


@pytest.mark.parametrize(
    ("recorded", "threshold", "message"),
    [
        (0.0, "auto", r"recorded=0\.0: expected a share above 0 and at most 1, or 5 of them"),
        ([0.5, 0.5], "auto", "5 of them, one for each label"),
        ("half", "auto", "recorded must be a number, or one for each label"),
        (np.nan, "auto", "expected a share above 0"),
        (0.5, 0, "recorded says how probabilities follow from scores.*take threshold='auto'"),
        (0.5, "global", "take threshold='auto'"),
        (1e-9, "auto", r"recorded=1e-09: label \d would be on for [\d.e+]+ times as many .* at least 0\.\d+ there"),
        ([1, 1, 0.01, 1, 1], "auto", r"recorded=0\.01: label 2 would be on for"),
    ],
)
def test_refusals_of_recorded_shares(recorded, threshold, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        PLST(threshold=threshold).fit(X, Y, recorded=recorded)


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("name", "model", "measured"),
    [  # where all are known .655, .684, .671; where the others are taken as off .579, .224, .377
        ("yeast", PLST(1.0, 50.0), 0.633),
        ("emotions", GroPLE(scale="standard"), 0.615),
        ("emotions", BinaryRelevance(scale="standard"), 0.636),
    ],
)
@pytest.mark.usefixtures("data_dir")
def test_known_labels_teach_more_than_labels_taken_as_off(name, model, measured) -> None:
    """Seven of ten labels are hidden at random; micro-F1 on all labels of other instances."""
    data = load_labels(name)
    labels = data.Y.toarray()
    train, test = next(StratifiedLabelKFold(3, random_state=0).split(labels, labels))
    known = np.random.default_rng(1).random((len(train), data.n_labels)) < 0.3
    known[:, ~known.any(axis=0)] = True
    model.set_params(threshold="auto", random_state=0)
    score_of_known, score_as_off = (
        clone(model).fit(data.X[train], y, mask=mask).score(data.X[test], labels[test])
        for y, mask in ((labels[train], known), (labels[train] * known, None))
    )
    assert score_of_known == pytest.approx(measured, abs=0.015)
    assert score_of_known > score_as_off + 0.03


def test_what_is_not_known_of_an_instance_is_no_context() -> None:
    """A new instance has scores of all labels, so a sum over the known ones would be too small for it."""
    random = np.random.default_rng(0)
    one = np.eye(6)[random.integers(0, 6, 300)]
    features = one + 0.8 * random.normal(size=one.shape)
    assert PLST(random_state=0).fit(features, one).decision_.calibration.context is not None
    mask = random.random(one.shape) < 0.9
    assert PLST(random_state=0, missing="ignore").fit(features, one, mask=mask).decision_.calibration.context is None


@pytest.mark.parametrize("kind", [BinaryRelevance, LabelRidge, GroPLE])
def test_a_label_may_be_unknown_in_all_but_two_instances(kind) -> None:
    """Copies that learn from a part of the instances may know nothing of it."""
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(120, 6)), (random.random((120, 4)) < 0.4).astype(float)
    labels[:118, 2] = np.nan
    labels[118:, 2] = 0, 1
    model = kind(missing="ignore", random_state=0).fit(features, labels)
    assert model.predict(features).shape == labels.shape


def test_everything_that_measures_or_chooses_skips_unknown_labels() -> None:
    model = PLST(1.0, missing="ignore", threshold="auto", random_state=0)
    rows = evaluate_labels(model, X, UNKNOWN, StratifiedLabelKFold(3, random_state=0))
    assert min(row["micro_f1"] for row in rows) > 0.6
    done = compare({"plst": model}, {"tiny": (X, UNKNOWN)}, splits="stratified")
    assert not done.failed
    for rules in (None, ("plain", "global")):
        found = Search(model, {"alpha": [1, 1e5]}, thresholds=rules, random_state=0).fit(X, UNKNOWN)
        assert found.best_params_ == {"alpha": 1}
        whatever = [choice.value for choice in found.results_]
        assert max(whatever) > 0.7
