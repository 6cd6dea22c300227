"""Clusters of labels: sizes and members by brute force, groups that were planted, and labels without similarity."""

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.correlation import disjoint_clusters, normalized_cut_clusters, overlapping_clusters, random_clusters
from cofactor.errors import InvalidInputError

DISJOINT = [disjoint_clusters, normalized_cut_clusters, lambda C, size: random_clusters(len(C), size, 0)]
OF_SIMILARITIES = [disjoint_clusters, overlapping_clusters, normalized_cut_clusters]


def similarities(L: int = 9, seed: int = 0) -> np.ndarray:
    C = np.random.default_rng(seed).random((L, L)).round(1)  # with ties
    return np.triu(C, 1) + np.triu(C, 1).T


def listed(clusters: list[np.ndarray]) -> list[list[int]]:
    return [one.tolist() for one in clusters]


@together("method", DISJOINT)
@together("size", [1, 2, 4, 9, 50])
def test_each_label_is_in_one_cluster(method, size) -> None:  # type: ignore[no-untyped-def]
    found = method(similarities(), size)
    assert np.array_equal(np.sort(np.concatenate(found)), np.arange(9))
    assert max(map(len, found)) <= size
    assert [one[0] for one in found] == sorted(one[0] for one in found)
    assert (len(found) == 1) == (size >= 9)


@together("wait", [True, False])
@together("least", [None, 0.55])
@together("seed", range(3))
def test_single_linkage_by_brute_force(wait: bool, least: float | None, seed: int) -> None:
    """Merge the two clusters with the most similar labels among those that fit, until none is left."""
    C = similarities(seed=seed) + 1e-4 * similarities(seed=seed + 9)  # which breaks ties
    C = C + 1e-9 * np.arange(81).reshape(9, 9) + 1e-9 * np.arange(81).reshape(9, 9).T
    clusters = [[k] for k in range(9)]
    while True:
        links = [
            (max(C[p, q] for p in P for q in Q), a, b)
            for a, P in enumerate(clusters)
            for b, Q in enumerate(clusters[:a])
        ]
        if wait:
            links = [link for link in links if len(clusters[link[1]]) + len(clusters[link[2]]) <= 4]
        if not links:
            break
        value, a, b = max(links)
        if len(clusters[a]) + len(clusters[b]) > 4 or (least is not None and value < least):
            break
        clusters[b] = clusters[b] + clusters.pop(a)
    assert listed(disjoint_clusters(C, 4, wait=wait, least=least)) == sorted(sorted(one) for one in clusters)


@together("least", [None, 0.75])
def test_overlapping_clusters_by_brute_force(least: float | None) -> None:
    C = similarities()
    expected = set()
    for start in range(9):
        inside = [start]
        while len(inside) < 4:
            outside = [k for k in range(9) if k not in inside]
            nearest = [max(C[k, i] for i in inside) for k in outside]
            if least is not None and max(nearest) < least:
                break
            inside.append(outside[int(np.argmax(nearest))])
        expected.add(tuple(sorted(inside)))
    assert listed(overlapping_clusters(C, 4, least=least)) == [list(one) for one in sorted(expected)]


@together("method", OF_SIMILARITIES)
def test_planted_groups_are_found(method) -> None:  # type: ignore[no-untyped-def]
    group = np.random.default_rng(1).permutation(np.repeat(np.arange(3), 4))
    C = 0.1 * similarities(12) + (group[:, None] == group)
    expected = sorted(np.flatnonzero(group == k).tolist() for k in range(3))
    assert listed(method(C, 4)) == expected


@together("method", OF_SIMILARITIES)
def test_labels_without_similarity(method) -> None:  # type: ignore[no-untyped-def]
    assert all(len(one) <= 2 for one in method(np.zeros((5, 5)), 2))
    assert listed(method(np.zeros((1, 1)), 10)) == [[0]]
    assert all(len(one) <= 3 for one in method(-similarities(), 3))  # distances


def test_random_clusters_are_of_nearly_equal_size() -> None:
    assert sorted(map(len, random_clusters(11, 4, 0))) == [3, 4, 4]
    assert listed(random_clusters(11, 4, 0)) == listed(random_clusters(11, 4, 0))
    assert listed(random_clusters(11, 4, 0)) != listed(random_clusters(11, 4, 1))


def test_no_labels_have_no_clusters() -> None:
    with pytest.raises(InvalidInputError, match="n_labels=0"):
        random_clusters(0, 4)


@together("method", OF_SIMILARITIES)
def test_what_is_refused(method) -> None:  # type: ignore[no-untyped-def]
    for size in (0, 2.5, True):
        with pytest.raises(InvalidInputError, match="a whole number of at least 1"):
            method(similarities(), size)
    assert listed(method(sparse.coo_matrix(similarities()), 4)) == listed(method(similarities(), 4))
    for wrong, message in (
        (np.ones((2, 3)), "as many rows as columns"),
        (None, "as many rows as columns"),
        (similarities().astype(str), "numbers, found text"),
        ([[1], [1, 2]], "numbers, and as many"),
    ):
        with pytest.raises(InvalidInputError, match="^C: expected " + message):
            method(wrong, 2)


def test_waiting_is_true_or_false() -> None:
    with pytest.raises(InvalidInputError, match="^wait='no': expected True or False"):
        disjoint_clusters(np.eye(4), 3, wait="no")  # type: ignore[arg-type]


@together("unit", [1e-200, 1.0, 1e90])
def test_labels_that_are_like_no_other_are_cut_off_whatever_the_unit(unit: float) -> None:
    C = np.zeros((6, 6))
    C[np.ix_([1, 4, 5], [1, 4, 5])] = unit
    assert [1, 4, 5] in listed(normalized_cut_clusters(C, 3))
    assert sorted(np.concatenate(normalized_cut_clusters(np.zeros((5, 5)), 2))) == list(range(5))
    nearly = C.copy()
    nearly[0, 1] = nearly[1, 0] = 1e-18 * unit
    assert [1, 4, 5] in listed(normalized_cut_clusters(nearly, 3))
