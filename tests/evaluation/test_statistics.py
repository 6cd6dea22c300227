"""Tests between methods: published worked examples, scipy and scikit-posthocs as oracles, what makes no sense."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats
from tests.together import together

from cofactor.evaluation import Scores, conclude, friedman, holm, nemenyi, what_applies, wilcoxon_holm

NAN = float("nan")

# Demšar (2006), table 6: AUC of four variants of C4.5 on 14 data sets. The fourth score of "voting" is printed 0.975,
# but ranked below the third.
AUC = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.975, 0.9749],
    [0.957, 0.978, 0.946, 0.970],
]
C45 = Scores(AUC, ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"], greater_is_better=True)

# Thesis table 6.2, micro-F1: GroPLE, PLST, CPLST, CSSP, FAiE, LEML, MLSF, BSVM, all data sets but bookmarks.
MICRO_F1 = [
    [0.967, 0.969, 0.972, 0.951, 0.967, 0.973, 0.978, 0.979],
    [0.821, 0.821, 0.822, 0.806, 0.823, 0.739, 0.822, 0.812],
    [0.375, 0.360, 0.361, 0.361, 0.374, 0.359, 0.290, 0.327],
    [0.242, 0.105, 0.105, 0.101, 0.162, 0.103, 0.154, 0.143],
    [0.463, 0.350, 0.351, 0.336, 0.384, 0.344, 0.405, 0.394],
    [0.455, 0.373, 0.373, 0.372, 0.403, 0.362, 0.413, 0.411],
    [0.460, 0.366, 0.366, 0.353, 0.396, 0.360, 0.415, 0.409],
    [0.417, 0.390, 0.396, 0.371, 0.420, 0.396, 0.424, 0.424],
    [0.256, 0.071, 0.070, 0.063, 0.137, 0.071, 0.050, 0.049],
    [0.231, 0.194, 0.194, 0.191, 0.241, 0.172, 0.208, 0.226],
    [0.581, 0.547, 0.547, 0.539, 0.562, 0.543, 0.524, 0.520],
]
THESIS = Scores(MICRO_F1, ["GroPLE", "PLST", "CPLST", "CSSP", "FAiE", "LEML", "MLSF", "BSVM"], greater_is_better=True)


def random_scores(n, k, seed=0, decimals=16, **kwargs):
    values = np.random.default_rng(seed).normal(size=(n, k)).round(decimals)
    return Scores(values, [f"m{j}" for j in range(k)], greater_is_better=kwargs.get("greater_is_better", True))


# --- scores -------------------------------------------------------------------------------------------------


def test_ranks_turn_with_the_direction_and_share_ties():
    table = [[1.0, 2.0, 2.0], [3.0, 1.0, 2.0]]
    names = ["a", "b", "c"]
    assert Scores(table, names, greater_is_better=True).ranks.tolist() == [[3, 1.5, 1.5], [1, 3, 2]]
    assert Scores(table, names, greater_is_better=False).ranks.tolist() == [[1, 2.5, 2.5], [3, 1, 2]]


def test_rounding_of_sums_breaks_no_tie():
    scores = Scores([[0.1 + 0.2, 0.3], [0.4 - 0.1, 0.2 + 0.1]], ["a", "b"], greater_is_better=True)
    assert scores.ranks.tolist() == [[1.5, 1.5], [1.5, 1.5]]
    scores = Scores([[0.763, 0.762], [0.376, 0.375]], ["a", "b"], greater_is_better=True)
    assert len(set(scores.gains("a", "b"))) == 1


def test_scores_are_a_copy():
    values = np.ones((2, 2))
    scores = Scores(values, ["a", "b"], greater_is_better=True)
    values[0, 0] = 5
    assert scores.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 5


@together(
    ("values", "methods", "data", "message"),
    [
        ([1, 2], ["a", "b"], None, "must be a table"),
        ([[1, 2]], ["a"], None, "methods has 1 names"),
        ([[1, 2]], ["a", "b"], ["x", "y"], "data has 2 names"),
        ([[1, 2]], ["a", "a"], None, "methods must differ, found 'a' twice"),
        ([[1, np.inf]], ["a", "b"], ["x"], "score of b on x is infinite"),
    ],
)
def test_scores_that_are_refused(values, methods, data, message):
    with pytest.raises(ValueError, match=message):
        Scores(values, methods, data, greater_is_better=True)


def test_unknown_method_names_the_known_ones():
    with pytest.raises(ValueError, match=r"no method 'C5', only C4\.5, "):
        C45.only("C5")


# --- Friedman and Nemenyi -----------------------------------------------------------------------------------


def test_friedman_of_demsars_example():
    outcome = friedman(C45, correct_ties=False)
    assert np.round(outcome.average_ranks, 3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert round(outcome.chi_squared, 2) == 9.28
    assert round(outcome.f, 2) == 3.69
    assert outcome.degrees == (3, 39)
    assert round(outcome.critical_value, 2) == 2.85
    assert outcome.differ


def test_friedman_of_the_thesis():
    outcome = friedman(THESIS, correct_ties=False)
    assert round(outcome.f, 3) == 7.470  # table 6.3
    assert round(outcome.critical_value, 3) == 2.143


@together("decimals", [0, 1, 16])
@together("greater_is_better", [True, False])
def test_friedman_is_scipys(decimals, greater_is_better):
    scores = random_scores(9, 5, decimals=decimals, greater_is_better=greater_is_better)
    expected = stats.friedmanchisquare(*scores.values.T)
    outcome = friedman(scores)
    assert outcome.chi_squared == pytest.approx(expected.statistic, rel=1e-12)
    assert outcome.chi_squared_p == pytest.approx(expected.pvalue, rel=1e-12)


def test_iman_davenport_is_the_analysis_of_variance_of_ranks():
    """F_F is the F of a two-way analysis of variance of the ranks, also with ties."""
    scores = random_scores(8, 4, decimals=0)
    n, k = scores.ranks.shape
    ranks = scores.ranks
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / (k - 1)
    within = ((ranks - ranks.mean(axis=0)) ** 2).sum() / ((n - 1) * (k - 1))
    assert friedman(scores).f == pytest.approx(between / within, rel=1e-12)


def every_outcome(rows):
    """Return all orders of the ranks on each data set, tied ones each once, and the unevenness of their averages."""
    orders = [sorted(set(permutations(stats.rankdata(row).tolist()))) for row in rows]
    every = np.array(list(product(*orders)))
    return every, ((2 * every.sum(axis=1) - 2 * every[0].sum(axis=0).mean()) ** 2).sum(axis=1)


def lower_is_better(ranks):
    return Scores(ranks, [f"m{j}" for j in range(len(ranks[0]))], greater_is_better=False)


@together(
    "rows",
    [
        [[1, 2, 3]] * 3,
        [[1, 2, 3]] * 5,
        [[1, 2, 3, 4]] * 3,
        [[1, 2, 3, 4, 5]] * 2,
        [[1, 1, 2]] * 3,
        [[1, 1, 2, 2]] * 3,
        [[1, 2, 3], [1, 1, 2], [1, 2, 2], [1, 1, 1], [1, 2, 3]],
        [[1, 1, 2, 3], [1, 2, 3, 4], [1, 1, 1, 2]],
        [[1, 1, 1, 2, 3], [1, 2, 2, 3, 3], [1, 1, 2, 2, 2]],
    ],
)
def test_friedmans_p_counts_all_orders_and_holds_the_level(rows):
    """Against enumeration: p is the part of all orders that are as uneven, so few of them are found to differ."""
    every, unevenness = every_outcome(rows)
    found = {}
    for ranks, value in zip(every, unevenness, strict=True):
        if value not in found:
            found[value] = friedman(lower_is_better(ranks))
            assert found[value].exact
            assert found[value].p == pytest.approx(np.mean(unevenness >= value), rel=1e-12)
    for alpha in (0.2, 0.1, 0.05, 0.01):
        differing = np.array([found[value].p <= alpha for value in unevenness])
        assert differing.mean() <= alpha
    assert [outcome.differ for outcome in found.values()] == [outcome.p <= 0.05 for outcome in found.values()]


def test_friedman_does_not_trust_f_on_few_data_sets():
    """F has 0.049 and finds a difference here, as in 7 of 36 orders."""
    outcome = friedman(lower_is_better([[1, 2, 3], [1, 2, 3], [1, 3, 2]]))
    assert (round(outcome.chi_squared, 3), round(outcome.f, 3)) == (4.667, 7.000)
    assert round(outcome.f_p, 3) == 0.049
    assert outcome.f > outcome.critical_value
    assert outcome.p == 7 / 36
    assert not outcome.differ
    assert "exact p = 0.19: no difference between the methods is shown" in str(outcome)


def test_p_does_not_depend_on_the_correction_for_ties_nor_on_the_order_of_anything():
    ranks = np.array([[1, 1, 2, 3], [1, 2, 3, 4], [2, 1, 1, 3], [1, 1, 2, 2]])
    p = friedman(lower_is_better(ranks)).p
    assert friedman(lower_is_better(ranks), correct_ties=False).p == p
    assert friedman(lower_is_better(ranks[::-1, [2, 0, 3, 1]])).p == p


@together(("row", "n_data"), [(range(7), 3), (range(6), 6), (range(10), 2), (range(8), 9), ([0, 0, 0, *range(9)], 4)])
def test_friedmans_p_is_nearly_that_of_all_orders_where_they_are_too_many(row, n_data):
    """Against random orders: within 0.005 of what these have."""
    rng = np.random.default_rng(0)
    ranks = np.broadcast_to(stats.rankdata(row), (100_000, len(row)))
    orders = np.stack([rng.permuted(ranks, axis=1) for _ in range(n_data)])
    unevenness = (orders.sum(axis=0) ** 2).sum(axis=1)
    order = np.argsort(unevenness)
    for part in (0.9, 0.95, 0.99):
        some = order[int(part * len(order))]
        outcome = friedman(lower_is_better(orders[:, some]))
        assert not outcome.exact
        assert outcome.p == pytest.approx(np.mean(unevenness >= unevenness[some]), abs=0.005)
        assert "approximate p" in str(outcome)


def test_friedman_of_many_data_sets_is_that_of_f():
    scores = random_scores(60, 6)
    outcome = friedman(Scores(scores.values + np.arange(6) / 9, scores.methods, greater_is_better=True))
    assert 0.001 < outcome.p < 0.2
    assert outcome.p == pytest.approx(outcome.f_p, rel=0.05)


def test_many_methods_of_which_most_are_tied():
    """One method is the best everywhere: 30 orders on each data set. Their sums do not fit into one integer."""
    best = np.ones((3, 30)) - np.eye(30)[[7, 7, 7]]
    assert friedman(lower_is_better(best)).p == pytest.approx(30.0**-2)
    twice = np.ones((3, 30)) - np.eye(30)[[7, 7, 8]]
    assert friedman(lower_is_better(twice)).p == pytest.approx((1 + 3 * 29) / 900)  # all three alike, or any two


@together("correct_ties", [True, False])
@together(
    ("row", "n_data", "n_orders"),
    [([1, 2, 3], 4, 6), ([1, 1, 2], 3, 3), ([1, 1, 2, 2], 2, 6), (range(12), 2, 479001600), (range(9), 3, 362880)],
)
def test_data_sets_that_agree(row, n_data, n_orders, correct_ties):
    """Whatever the order of the first, the others have the same by chance, one of so many."""
    outcome = friedman(lower_is_better([row] * n_data), correct_ties=correct_ties)
    assert outcome.p == pytest.approx(n_orders ** (1.0 - n_data))
    assert outcome.differ == (outcome.p <= 0.05)
    if correct_ties:
        assert outcome.f == np.inf


def test_methods_that_agree():
    equal = friedman(Scores(np.ones((4, 3)), ["a", "b", "c"], greater_is_better=True))
    assert (equal.chi_squared, equal.f, equal.p, equal.differ) == (0, 0, 1, False)
    one = friedman(Scores([*np.ones((3, 3)), [1, 2, 3]], ["a", "b", "c"], greater_is_better=True))
    assert (one.p, one.differ) == (1, False)  # one data set alone: any order is as uneven


@together("n_methods", [3, 4, 5, 9])
def test_friedman_is_done_where_some_outcome_is_significant(n_methods):
    for n_data in (2, 3, 4, 5):
        agreeing = lower_is_better([range(n_methods)] * n_data)
        least = friedman(agreeing, 0.9).p
        for alpha in (0.2, 0.05, 0.01, 0.001):
            if what_applies(n_data, n_methods, alpha)["friedman"]:
                with pytest.raises(ValueError, match="data sets are too few"):
                    friedman(agreeing, alpha)
                assert least > alpha
            else:
                assert least <= alpha


@together(
    # Printed: 3.031 and 3.166; and for seven methods 2.949 and 2.601, where the quantile is 2.9483 and CD 2.6002.
    ("n_data", "n_methods", "q", "difference"),
    [(11, 8, 3.031, 3.166), (12, 7, 2.948, 2.600), (14, 4, 2.569, 1.254)],
)
def test_critical_difference_of_the_thesis_and_of_demsar(n_data, n_methods, q, difference):
    outcome = nemenyi(random_scores(n_data, n_methods))
    assert round(outcome.q, 3) == q
    assert round(outcome.critical_difference, 3) == difference


def test_nemenyi_of_demsars_example():
    """At 0.10 C4.5 is worse than C4.5+m and C4.5+m+cf, and nothing else differs."""
    outcome = nemenyi(C45, alpha=0.10)
    assert round(outcome.critical_difference, 2) == 1.12
    assert outcome.methods == ("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")
    assert outcome.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


@together(
    ("n_data", "n_methods", "words"),
    [(2, 4, "cannot differ by so much"), (3, 3, "the level holds only roughly"), (14, 4, "")],
)
def test_nemenyi_says_what_few_data_sets_do(n_data, n_methods, words):
    said = str(nemenyi(lower_is_better([range(n_methods)] * n_data)))
    assert words in said
    assert ("cannot differ" in said, "only roughly" in said) == ("cannot" in words, "roughly" in words)


def test_groups_are_told_where_friedman_shows_a_difference():
    few = conclude(lower_is_better([[1, 2, 3], [1, 2, 3], [1, 3, 2]]))
    assert few.nemenyi is None
    assert "As no difference is shown, Nemenyi's test does not follow" in str(few)
    assert conclude(lower_is_better([[1, 2, 3]] * 3)).nemenyi is not None


def test_nemenyi_p_values_are_scikit_posthocs():
    import scikit_posthocs

    outcome = nemenyi(C45)
    expected = scikit_posthocs.posthoc_nemenyi_friedman(-np.array(AUC))
    columns = [C45.methods.index(name) for name in outcome.methods]
    np.testing.assert_allclose(outcome.p_values, expected.to_numpy()[np.ix_(columns, columns)], rtol=1e-9, atol=1e-12)


@together("seed", range(5))
def test_groups_are_the_largest_sets_without_difference(seed):
    rng = np.random.default_rng(seed)
    scores = Scores(rng.normal(size=(12, 6)) + np.arange(6) * 0.7, list("abcdef"), greater_is_better=False)
    outcome = nemenyi(scores)
    p = np.array(outcome.p_values)
    cliques = {
        frozenset(outcome.methods[start:end])
        for start in range(6)
        for end in range(start + 2, 7)
        if (p[start:end, start:end] > 0.05).all()
    }
    largest = {clique for clique in cliques if not any(clique < other for other in cliques)}
    assert {frozenset(group) for group in outcome.groups} == largest


# --- Wilcoxon and Holm --------------------------------------------------------------------------------------


def signs(n):
    return np.array(np.meshgrid(*[[0, 1]] * n)).reshape(n, -1)


def test_wilcoxon_of_demsars_example():
    """Table 2: C4.5 against C4.5+m, sums of ranks 93 and 12, of which the two zeros have 1.5 each."""
    (pair,) = wilcoxon_holm(C45.only("C4.5", "C4.5+m")).pairs
    assert pair.statistic == 12
    assert pair.wins == (2, 10)
    assert pair.better == "C4.5+m"
    sums = np.array([3.5, 7, 9, 12, 5, 3.5, 6, 14, 11, 13, 8, 10]) @ signs(12)
    assert pair.p == pytest.approx(2 * np.mean(sums <= 10.5), rel=1e-12)


@together("n", [8, 40])
def test_wilcoxon_is_scipys_exact_one(n):
    scores = random_scores(n, 2, seed=3)
    (pair,) = wilcoxon_holm(scores).pairs
    expected = stats.wilcoxon(scores.gains("m0", "m1"), method="exact")
    assert pair.statistic == expected.statistic
    assert pair.p == pytest.approx(expected.pvalue, rel=1e-12)


def test_wilcoxon_is_exact_with_ties_and_zeros():
    gains = np.array([3, -1, 1, 0, 2, 2, -2, 3, 3])
    (pair,) = wilcoxon_holm(Scores(np.stack([gains, 0 * gains], 1), ["a", "b"], greater_is_better=True)).pairs
    ranks = stats.rankdata(np.abs(gains))
    sums = ranks[gains != 0] @ signs(8)
    assert pair.p == pytest.approx(2 * np.mean(sums <= ranks[gains < 0].sum()), rel=1e-12)


def test_pairs_are_corrected_together():
    outcome = wilcoxon_holm(THESIS)
    assert len(outcome.pairs) == 28
    p = [pair.p for pair in outcome.pairs]
    assert p == sorted(p)
    assert [pair.p_holm for pair in outcome.pairs] == holm(p).tolist()
    assert 0 < len(outcome.differing) < sum(pair.p <= 0.05 for pair in outcome.pairs)


def test_holm_is_statsmodels():
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).uniform(size=20) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=1e-12)


def test_equal_methods_do_not_differ():
    (pair,) = wilcoxon_holm(Scores(np.ones((7, 2)), ["a", "b"], greater_is_better=True)).pairs
    assert (pair.p, pair.better, pair.wins, pair.statistic) == (1, "", (0, 0), 14)


# --- what makes sense ---------------------------------------------------------------------------------------


def test_data_sets_with_gaps_are_left_out_and_named():
    table = [*AUC, [0.9, NAN, 0.9, 0.9]]
    scores = Scores(table, C45.methods, [*C45.data, "failed"], greater_is_better=True)
    for test in (friedman, nemenyi, wilcoxon_holm):
        outcome = test(scores)
        assert outcome.n_data == 14
        assert outcome.left_out == ("failed",)
        assert "Left out, as a method has no score there: failed" in str(outcome)
    assert friedman(scores).f == friedman(C45).f
    with pytest.raises(ValueError, match="no data set has a score of every method"):
        friedman(Scores([[1, NAN], [NAN, 1]], ["a", "b"], greater_is_better=True))


@together(
    ("test", "n_data", "n_methods", "message"),
    [
        (friedman, 10, 2, "compares three methods or more, found 2$"),
        (nemenyi, 1, 4, "with one data set nothing can be said about others; for two methods take correlated_t"),
        (friedman, 2, 3, "2 data sets are too few, .* probability 0.17, above alpha = 0.05; at least 3"),
        (wilcoxon_holm, 5, 2, "5 data sets are too few, .* at least 6 are needed"),
        (wilcoxon_holm, 6, 3, "6 data sets .* probability 0.031, above alpha = 0.05 shared by 3 pairs; at least 7"),
        (wilcoxon_holm, 9, 1, "only one method"),
    ],
)
def test_what_makes_no_sense_is_refused(test, n_data, n_methods, message):
    with pytest.raises(ValueError, match=f"{test.__name__}: .*{message}"):
        test(random_scores(n_data, n_methods))


def test_what_applies():
    def fitting(n_data, n_methods):
        return [test for test, reason in what_applies(n_data, n_methods).items() if not reason]

    assert fitting(12, 5) == ["friedman", "nemenyi", "wilcoxon_holm"]
    assert fitting(12, 2) == ["wilcoxon_holm", "signed_rank", "correlated_t"]
    assert fitting(1, 2) == ["correlated_t"]
    assert fitting(1, 5) == []
    assert fitting(12, 1) == []
    assert fitting(12, 200) == ["friedman", "nemenyi"]  # whose orders are more than a float can hold


@together("alpha", [0, 1, NAN])
def test_alpha_is_a_probability(alpha):
    with pytest.raises(ValueError, match="alpha must lie between 0 and 1"):
        friedman(C45, alpha)
