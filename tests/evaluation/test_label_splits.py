"""Splits of instances with labels: equal shares of labels, whole groups, order of time."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import KFold, cross_validate
from tests.together import together

from cofactor.datasets import LabelDataset, load_labels
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation import (
    GroupedLabelKFold,
    Search,
    StratifiedLabelHoldout,
    StratifiedLabelKFold,
    TimeSplit,
    compare,
    evaluate_labels,
)
from cofactor.kernels.stratify import stratify
from cofactor.labels import PLST


def table_of(seed, n=60, L=7, share=0.2):
    rng = np.random.default_rng(seed)
    return (rng.random((n, L)) < share * rng.random(L)).astype(int)


def slowly(counts, weights, shares, draws):
    """Iterative stratification as in the paper, label by label; of equal folds, first those with least of the label."""
    n, L = counts.shape
    k = len(shares)
    wanted, room = np.outer(counts.sum(axis=0), shares), weights.sum() * shares
    taken, sizes, folds = np.zeros((L, k)), np.zeros(k), np.full(n, -1)

    def fold_of(wanted, taken, unit):
        best = np.arange(k)
        for claim in (wanted - taken, -taken, room - sizes):
            best = best[claim[best] == claim[best].max()]
        return best[int(draws[unit] * len(best))]

    def deal(unit, fold):
        folds[unit] = fold
        sizes[fold] += weights[unit]
        taken[:, fold] += counts[unit]

    while True:
        left = counts[folds < 0].sum(axis=0)
        if not left.any():
            break
        rarest = min(np.flatnonzero(left), key=lambda label: (left[label], label))
        for unit in np.flatnonzero(counts[:, rarest]):
            if folds[unit] < 0:
                deal(unit, fold_of(wanted[rarest], taken[rarest], unit))
    for unit in np.flatnonzero(folds < 0):
        deal(unit, fold_of(room, sizes, unit))
    return folds


@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 5), st.integers(2, 5), st.booleans())
@settings(max_examples=30)
def test_the_kernel_deals_out_as_the_paper_does(seed, n, L, k, groups):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4 if groups else 2, (n, L)) * (rng.random((n, L)) < 0.5)
    weights = rng.integers(4, 7, n) if groups else np.ones(n, dtype=int)
    uneven = rng.integers(1, 4, k)  # often equal, or one a multiple of another
    shares, draws, folds = uneven / uneven.sum(), rng.random(n), np.empty(n, np.int64)
    rows, columns = sparse.csr_array(counts), sparse.csc_array(counts)
    parts = (rows.indptr, rows.indices, rows.data, columns.indptr, columns.indices)
    stratify(*(part.astype(np.int64) for part in parts), weights.astype(np.int64), shares, draws, folds)
    np.testing.assert_array_equal(folds, slowly(counts, weights, shares, draws))


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([1, 2]), st.data())
@settings(max_examples=40)
def test_every_instance_is_tested_once_and_no_fold_is_empty(seed, n, order, data):
    y, k = table_of(seed, n, 4, 1.0), data.draw(st.integers(2, n))
    parts = list(StratifiedLabelKFold(k, order=order, random_state=seed).split(y, y))
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(n))
    for train, test in parts:
        assert len(test)
        assert sorted([*train, *test]) == list(range(n))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()


def test_a_label_on_as_many_instances_as_there_are_folds_is_in_each() -> None:
    y = np.zeros((40, 3), dtype=int)
    y[:5, 0] = y[5:15, 1] = y[15:40, 2] = 1
    for seed in range(5):
        for _, test in StratifiedLabelKFold(5, random_state=seed).split(y, y):
            assert y[test].sum(axis=0).tolist() == [1, 2, 5]


def test_pairs_that_labels_alone_cannot_spread() -> None:
    """Two labels, of which half of the instances have both: with order 1 both may gather in one fold."""
    y = np.repeat([[1, 1], [1, 0], [0, 1]], 8, axis=0)
    for seed in range(5):
        for _, test in StratifiedLabelKFold(4, order=2, random_state=seed).split(y, y):
            assert sorted(map(tuple, y[test])) == [(0, 1)] * 2 + [(1, 0)] * 2 + [(1, 1)] * 2


def test_the_pairs_are_all_pairs() -> None:
    y = table_of(3, 30, 6, 1.0)
    strata = StratifiedLabelKFold(3, order=2)._strata(sparse.csr_array(y)).toarray()
    pairs = [(i, j) for i, j in itertools.combinations_with_replacement(range(6), 2) if (y[:, i] & y[:, j]).any()]
    np.testing.assert_array_equal(strata, np.column_stack([y[:, i] & y[:, j] for i, j in pairs]))


@together("splitter", [StratifiedLabelKFold(3), StratifiedLabelHoldout(0.3, 2)])
def test_the_form_of_y_does_not_matter(splitter) -> None:
    y = table_of(1)
    unknown = y.astype(float)
    unknown[y == 0] = np.where(np.arange((y == 0).sum()) % 3, 0, np.nan)
    splitter.random_state = 5
    expected = [test.tolist() for _, test in splitter.split(y, y)]
    frames = (pd.DataFrame(y), pl.DataFrame(y, schema=[f"l{k}" for k in range(7)]))
    for form in (y.tolist(), 2 * y - 1, unknown, y > 0, sparse.csc_matrix(y), sparse.coo_array(y), *frames):
        assert [test.tolist() for _, test in splitter.split(np.zeros(60), form)] == expected
    splitter.random_state = 6
    assert [test.tolist() for _, test in splitter.split(y, y)] != expected


def test_a_holdout_has_its_share_of_each_label() -> None:
    y = table_of(2, 400, 5, 1.0)
    for train, test in StratifiedLabelHoldout(0.25, n_splits=3, random_state=0).split(y, y):
        assert len(train) + len(test) == 400
        np.testing.assert_allclose(y[test].sum(axis=0), y.sum(axis=0) / 4, atol=3)


@together(("test_size", "least"), [(0.5, 2), (0.25, 2), (0.2, 3), (0.1, 5)])
def test_from_how_many_instances_on_a_label_is_in_both_parts(test_size: float, least: int) -> None:
    """From half of one in the test part on."""
    y = np.repeat(np.eye(11, 10, dtype=int), [*range(1, 11), 345], axis=0)  # one label is on in one instance, ...
    for seed in range(5):
        [(_, test)] = StratifiedLabelHoldout(test_size, n_splits=1, random_state=seed).split(y, y)
        in_test, everywhere = y[test].sum(axis=0), np.arange(1, 11)
        assert (((in_test > 0) & (in_test < everywhere)) == (everywhere >= least)).all()


def test_of_few_instances_neither_part_is_empty() -> None:
    y = np.array([[1], [1], [0]])
    for share in (0.05, 0.95):
        for train, test in StratifiedLabelHoldout(share, 5, random_state=0).split(y, y):
            assert len(train)
            assert len(test)


@given(st.integers(0, 10**6), st.integers(2, 5))
@settings(max_examples=30)
def test_no_group_is_cut_apart(seed, k):
    rng = np.random.default_rng(seed)
    y, groups = table_of(seed, 50), np.concatenate([np.arange(k), rng.zipf(1.7, 50 - k) % 9])
    parts = list(GroupedLabelKFold(k, random_state=seed).split(y, y, groups))
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(50))
    for train, test in parts:
        assert len(test)
        assert not set(groups[train]) & set(groups[test])
    names = np.array([f"patient {number}" for number in groups], dtype=object)
    bound = GroupedLabelKFold(k, groups=groups, random_state=seed).split(y, y)
    assert [test.tolist() for _, test in bound] == [test.tolist() for _, test in parts]
    assert len(list(GroupedLabelKFold(k, random_state=seed).split(y, y, names))) == k


def test_groups_spread_labels_as_evenly_as_they_can() -> None:
    y = np.repeat([[1, 0], [0, 1], [0, 0]], 20, axis=0)
    groups = np.arange(60) // 4
    for _, test in GroupedLabelKFold(5, random_state=0).split(y, y, groups):
        assert y[test].sum(axis=0).tolist() == [4, 4]
        assert len(test) == 12


def test_time_never_trains_on_what_comes_later() -> None:
    times = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 3))
    parts = list(TimeSplit(4, times=times).split(np.zeros(30)))
    assert len(parts) == TimeSplit(4).get_n_splits() == 4
    for train, test in parts:
        assert times[train].max() < times[test].min()
    assert times[parts[-1][1]].max() == 9
    dates = np.datetime64("2026-01-01") + times
    for same in (dates, dates.astype(str), pd.Series(dates), [str(date) for date in dates], dates.tolist()):
        again = TimeSplit(4, times=same).split(np.zeros(30))
        assert [(a.tolist(), b.tolist()) for a, b in again] == [(a.tolist(), b.tolist()) for a, b in parts]
    [(train, test)] = TimeSplit(1, test_size=0.2).split(np.zeros(10))
    assert (train.tolist(), test.tolist()) == ([0, 1, 2, 3, 4, 5, 6, 7], [8, 9])


Y = table_of(0)


@together(
    ("splitter", "y", "groups", "message"),
    [
        (StratifiedLabelKFold(), None, None, "y is missing: labels are spread over the parts, pass them"),
        (StratifiedLabelKFold(), Y[:, 0], None, r"y has shape \(60,\), expected a table"),
        (StratifiedLabelKFold(), [["a"]] * 60, None, "y must be a table of 0 and 1"),
        (StratifiedLabelKFold(1), Y, None, "n_splits=1: expected a whole number of at least 2"),
        (StratifiedLabelKFold(61), Y, None, "there are 60 instances for 61 parts"),
        (StratifiedLabelKFold(order=3), Y, None, "order=3: expected a whole number"),
        (StratifiedLabelHoldout(1.0), Y, None, "test_size=1.0: expected a part of the rows"),
        (GroupedLabelKFold(), Y, None, "groups are missing, which say what instances belong together"),
        (GroupedLabelKFold(), Y, [1] * 59, "Found input variables with inconsistent"),
        (GroupedLabelKFold(groups=[1] * 59), Y, None, "inconsistent|has shape"),
        (GroupedLabelKFold(2), Y, [1] * 60, "there are 1 groups for 2 parts"),
        (GroupedLabelKFold(2), Y, [np.nan] + [1.0] * 59, "missing for 1 row, the first is 0"),
        (GroupedLabelKFold(2), Y, ["a", None] * 30, "missing for 30 rows, the first is 1"),
        (GroupedLabelKFold(2), Y, np.array(["a", 1] * 30, dtype=object), "not a mixture"),
        (TimeSplit(60), Y, None, "60 rows are too few for 60 splits"),
        (TimeSplit(4, test_size=0.3), Y, None, "too few for 4 splits that test 0.3 of them each"),
        (TimeSplit(3, times=[1] * 30 + [2] * 30), Y, None, "2 different times are too few"),
        (TimeSplit(2, times=[1] * 59), Y, None, r"has shape \(59,\)"),
        (TimeSplit(2, times=np.array(["NaT"] * 60, dtype="M8[s]")), Y, None, "missing for 60 rows"),
    ],
)
def test_refusals(splitter, y, groups, message) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError, ValueError), match=message):
        list(splitter.split(np.zeros(60), y, groups))


def test_too_many_pairs_are_refused() -> None:
    y = sparse.csr_array(np.ones((100, 1000), dtype=np.int8))
    with pytest.raises(InvalidInputError, match="50,050,000 pairs of labels"):
        next(StratifiedLabelKFold(2, order=2).split(np.zeros(100), y))


def test_everything_that_splits_takes_them() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), sparse.csr_array(table_of(0))
    folds = StratifiedLabelKFold(3, random_state=0)
    tested = [test for _, test in folds.split(X, y)]
    assert len(cross_validate(PLST.paper(threshold=0), X, y.toarray(), cv=folds)["test_score"]) == 3
    rows = evaluate_labels(PLST.paper(threshold=0), X, y, folds)
    assert [row["n_test"] for row in rows] == [len(test) for test in tested]
    for validation in (folds, "stratified"):
        assert Search(PLST.paper(), {"alpha": [1, 10]}, validation=validation).fit(X, y).best_params_
    names = tuple(map(str, range(7)))
    data = LabelDataset("tiny", X, y, names[:4], names, ids=np.arange(60) // 4)
    for splits in ("stratified", "stratified-pairs", "grouped", "time", folds):
        done = compare({"plst": PLST.paper(threshold=0)}, data, splits=splits, n_splits=3)
        assert len(done.results) == 3, splits
        assert not done.failed
    assert done.results[0].measures["n_test"] == len(tested[0])
    with pytest.raises(InvalidInputError, match="has no ids that say which instances are of one group"):
        compare({"plst": PLST.paper()}, {"tiny": (X, y)}, splits="grouped")


def worst_shares(data: LabelDataset, splitter) -> tuple[float, float]:
    """How far test folds are from the share of a label on average, and the part of labels that some fold lacks."""
    y = data.Y.toarray()
    counts = np.array([y[test].sum(axis=0) for _, test in splitter.split(y, y)])
    often = y.sum(axis=0) >= len(counts)
    return float(np.abs(counts - y.sum(axis=0) / len(counts))[:, often].mean()), float((counts[:, often] == 0).mean())


@pytest.mark.evidence
@pytest.mark.parametrize("name", ["emotions", "medical", "cal500", "corel5k"])
def test_labels_are_spread_more_evenly_than_by_chance(data_dir, name: str) -> None:
    data = load_labels(name)
    by_chance = worst_shares(data, KFold(10, shuffle=True, random_state=0))
    stratified = worst_shares(data, StratifiedLabelKFold(10, random_state=0))
    assert stratified[0] < (0.9 if name == "cal500" else 0.5) * by_chance[0]
    assert stratified[1] < 0.1 * by_chance[1] + 1e-9
