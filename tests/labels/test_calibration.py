"""Probabilities from scores, and decisions from probabilities."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logit

from cofactor.kernels.calibration import KNEE, apply_context, context_sums, log_partition
from cofactor.labels import PLST, LabelRidge, decisions
from cofactor.labels.calibration import (
    CONSTANT_SCORE,
    Calibration,
    Standardization,
    _move,
    _sums,
    _targets,
    context_rows,
    learn_calibration,
)
from cofactor.labels.decisions import (
    AIMS,
    TARGET_METRICS,
    BestSets,
    Decision,
    LikelySets,
    ProbabilityThreshold,
    expected_rule,
    learn_rule,
    rule_of,
)
from cofactor.metrics.labels import example_f1, label_report, macro_f1, micro_f1
from cofactor.model.docs import PARAMETERS
from cofactor.service.options import OPTIONS


def drawn(n: int, n_labels: int, seed: int = 0, dtype: type = np.float64):
    """Return scores, labels drawn with known slopes and offsets, and these."""
    rng = np.random.default_rng(seed)
    slope, offset = rng.uniform(4, 6, n_labels), rng.uniform(-3, 0, n_labels)
    scores = rng.normal(size=(n, n_labels)).astype(dtype)
    labels = sparse.csr_array(rng.random((n, n_labels)) < expit(slope * scores + offset), dtype=np.float32)
    return scores, labels, slope, offset


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_and_offsets_come_back(dtype):
    scores, labels, slope, offset = drawn(4000, 5, dtype=dtype)
    found = learn_calibration(scores, labels)
    assert found.context is None  # labels do not depend on each other
    np.testing.assert_allclose(found.slope, slope, rtol=0.12)
    np.testing.assert_allclose(found.offset, offset, atol=0.2)
    p = found.probabilities(scores)
    assert p.dtype == dtype
    assert abs(p.mean() - labels.nnz / labels.shape[0] / 5) < 0.002


def test_a_rare_label_borrows_from_the_others():
    scores, labels, _, _ = drawn(3000, 8)
    few = labels.toarray()
    few[60:, 0] = 0
    scores[60:, 0] = -CONSTANT_SCORE  # not known
    found = learn_calibration(scores, sparse.csr_array(few))
    alone = learn_calibration(scores[:60, :1], sparse.csr_array(few[:60, :1]))
    common = found.slope[1:].mean()
    assert abs(found.slope[0] - common) < abs(alone.slope[0] - common) + 0.5
    nothing = scores.copy()
    nothing[:, 0] = CONSTANT_SCORE
    assert learn_calibration(nothing, labels).slope[0] == pytest.approx(common, rel=0.1)


def test_an_instance_of_weight_2_counts_as_two():
    scores, labels, _, _ = drawn(200, 3)
    weights = np.random.default_rng(1).integers(1, 4, 200)
    again = np.repeat(np.arange(200), weights)
    a = learn_calibration(scores, labels, weights.astype(float), context=False)
    b = learn_calibration(scores[again], labels[again], context=False)
    # The deviation by which scores are divided counts instances, and so does the prior on that scale.
    np.testing.assert_allclose(a.probabilities(scores), b.probabilities(scores), atol=2e-3)
    for aim in TARGET_METRICS:
        logits = a.logits(scores)
        one = learn_rule(aim, logits, labels, weights.astype(float))
        two = learn_rule(aim, logits[again], labels[again])
        np.testing.assert_allclose(one.value, two.value, atol=1e-9)


def test_where_one_label_is_on_the_context_says_so():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1500)
    labels = np.eye(4)[truth]
    scores = labels + rng.normal(size=labels.shape)
    found = learn_calibration(scores, sparse.csr_array(labels))
    assert found.context is not None
    plain = Calibration(found.slope, found.offset)

    def loss(learned):
        p = learned.probabilities(scores)
        return -np.mean(labels * np.log(p) + (1 - labels) * np.log1p(-p))

    assert loss(found) < 0.95 * loss(plain)
    strays = [np.abs(one.probabilities(scores).sum(axis=1) - 1).mean() for one in (found, plain)]
    assert strays[0] < strays[1]


@pytest.mark.parametrize("n_labels", [1, 5])
def test_where_annotators_forget_labels_probabilities_level_off(n_labels):
    rng = np.random.default_rng(0)
    scores = 2 * rng.normal(size=(4000, n_labels)) - 1
    chances = 0.6 * expit(scores)
    labels = sparse.csr_array(rng.random(scores.shape) < chances)
    found = learn_calibration(scores, labels, context=n_labels > 1)
    logistic = replace(found, context=None)
    errors = [np.sqrt(np.mean((one.probabilities(scores) - chances) ** 2)) for one in (found, logistic)]
    assert errors[0] < 0.02 < 0.04 < errors[1]
    grid = np.tile(np.linspace(-99, 99, 999)[:, None], n_labels)
    assert (np.diff(replace(found, context=found.context * [1, 1, 0, 0, 1]).logits(grid), axis=0) > 0).all()


def test_files_of_versions_that_learned_no_bend_say_the_same():
    state = {"slope": np.ones(3), "offset": np.zeros(3), "context": np.array([0.9, -0.3, 0.2, 0.1])}
    z = np.random.default_rng(0).normal(size=(5, 3))
    context = context_rows(z)
    other = np.where(np.arange(3) == context[:, [2]], context[:, [1]], context[:, [0]])
    expected = 0.9 * z - 0.3 * other + 0.2 * context[:, [3]] + 0.1
    np.testing.assert_allclose(Calibration.from_state(state).logits(z), expected)


def test_it_makes_no_difference_where_scores_begin():
    scores, labels, _, _ = drawn(400, 5)
    rare = sparse.csr_array(labels.multiply(np.random.default_rng(1).random(labels.shape) < 0.02))
    for moved in (7 * scores - 3e3, 1e-3 * scores + 2):
        for on in (labels, rare):
            expected = learn_calibration(scores, on).probabilities(scores)
            np.testing.assert_allclose(learn_calibration(moved, on).probabilities(moved), expected, atol=1e-6)
    p = learn_calibration(scores - 20, rare).probabilities(scores - 20)
    assert p.mean() == pytest.approx(rare.nnz / scores.size, rel=0.1)


def test_newtons_method_does_not_jump_to_and_fro_over_the_top():
    scores, on, w = np.full((100, 1), 10.0), sparse.csr_array(np.arange(100.0)[:, None] % 2), np.ones(100)
    scale = Standardization(0.0, 1.0)
    targets, T = _targets(scores, on, w, scale), np.diag([100.0, 1e-4])
    first = np.array([[1.0], [-4.0]])
    for guarded in (False, True):
        theta, move = first, None
        for _ in range(20):
            sums = _sums(scores, w, scale, theta)
            move = _move(sums, targets, theta - first, T, move if guarded else None)
            theta = theta + move.step
        assert (np.abs(move.step).max() < 1e-6) == guarded
    assert 10 * theta[0, 0] + theta[1, 0] == pytest.approx(0, abs=1e-3)  # half are on


def test_a_context_by_chance_is_not_kept():
    kept = []
    for seed in range(20):
        scores, labels, _, _ = drawn(60, 4, seed)
        kept.append(learn_calibration(scores, labels).context is not None)
    assert np.mean(kept) < 0.25
    rng = np.random.default_rng(0)
    truth = np.eye(4)[rng.integers(0, 4, 60)]  # of four labels always one
    assert learn_calibration(truth + rng.normal(size=truth.shape), sparse.csr_array(truth)).context is not None


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_instances_give_finite_numbers(n):
    for labels in (np.ones((n, 3)), np.zeros((n, 3)), np.eye(5)[:n, :3]):
        for scores in (
            np.zeros((n, 3)),
            labels - 0.5,
            np.full((n, 3), CONSTANT_SCORE),
            np.full((n, 3), -CONSTANT_SCORE),
        ):
            found = Decision.learn("auto", "micro", scores, sparse.csr_array(labels))
            found.calibration.check(3)
            assert ((p := found.proba(scores)) >= 0).all()
            assert (p <= 1).all()
            assert found.predict(scores).shape == (n, 3)


def test_labels_that_never_vary_keep_their_value():
    scores, labels, _, _ = drawn(300, 3)
    scores[:, 0], scores[:, 1] = CONSTANT_SCORE, -CONSTANT_SCORE
    for aim in TARGET_METRICS:
        found = Decision.learn("auto", aim, scores, labels)
        on = found.predict(scores)
        assert on[:, 0].all()
        assert not on[:, 1].any()
        p = found.proba(scores)
        assert (p[:, 0] == 1).all()
        assert (p[:, 1] == 0).all()


def test_each_aim_is_best_at_its_measure():
    rng = np.random.default_rng(3)
    rate = np.array([0.4, 0.2, 0.05, 0.02, 0.3])
    logits = logit(rate) + 1.5 * rng.normal(size=(6000, 5))
    labels = sparse.csr_array(rng.random(logits.shape) < expit(logits), dtype=np.float32)
    new = logits[3000:], labels[3000:]
    reports = {}
    for aim in TARGET_METRICS:
        on = learn_rule(aim, logits[:3000], labels[:3000]).apply(expit(new[0]))
        reports[aim] = label_report(new[1], on)
    measures = {"micro": "micro_f1", "macro": "macro_f1", "example": "example_f1", "subset": "subset_accuracy"}
    assert {*measures, "hamming"} == set(TARGET_METRICS), "a new aim needs its measure here"
    for aim, name in measures.items():
        assert max(report[name] for report in reports.values()) < reports[aim][name] + 0.01, aim
    assert reports["hamming"]["hamming"] == min(report["hamming"] for report in reports.values())


def test_best_sets_have_the_largest_expected_f1():
    p = np.random.default_rng(0).random((40, 6)) ** 3

    def worth(row, chosen):
        return 2 * row[list(chosen)].sum() / (len(chosen) + row.sum())

    on, sets = BestSets().apply(p), [s for k in range(1, 7) for s in itertools.combinations(range(6), k)]
    for row, found in zip(p, on, strict=True):
        assert worth(row, tuple(np.flatnonzero(found))) == pytest.approx(max(worth(row, s) for s in sets))
    none = np.prod(1 - p, axis=1) > 0.3
    assert 0 < none.sum() < 40
    assert np.array_equal(BestSets(0.3).apply(p), on & ~none[:, None])


@pytest.mark.parametrize("weighted", [False, True])
def test_empty_sets_begin_where_example_f1_is_largest(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    rate = rng.dirichlet([0.3] * 9, 900)  # labels exclude each other, and the last one stands for none
    place = (rng.random((900, 1)) > rate.cumsum(axis=1)).sum(axis=1)
    labels = sparse.csr_array(np.eye(9)[place][:, :8])
    p = np.clip(rate[:, :8], 1e-9, 1 - 1e-9)
    chances, empty = np.prod(1 - p, axis=1), place == 8
    assert chances.mean() > 1.2 * empty.mean()  # as if labels were independent, too many would have none
    weights = rng.integers(1, 4, 900).astype(float) if weighted else None
    monkeypatch.setattr(decisions, "_PER_BLOCK", 1000)
    decoder = learn_rule("example", logit(p), labels, weights)

    def f1(cut):
        rows = np.arange(900) if weights is None else np.repeat(np.arange(900), weights.astype(int))
        return example_f1(labels[rows], BestSets(cut).apply(p[rows]))

    assert f1(decoder.value) >= max(f1(cut) for cut in chances[::5]) - 1e-12
    assert f1(decoder.value) > f1(1.0) + 0.02
    some = np.flatnonzero(~empty)
    assert learn_rule("example", logit(p[some]), labels[some]).value == 1.0


def test_macro_cuts_are_half_of_the_largest_expected_f1():
    rng = np.random.default_rng(1)
    logits = rng.normal(-1, 1.5, size=(200, 4))
    cuts = learn_rule("macro", logits, sparse.csr_array(np.eye(200, 4))).value
    for p, cut in zip(expit(logits).T, cuts, strict=True):
        ranked = np.sort(p)[::-1]
        f1 = 2 * np.cumsum(ranked) / (np.arange(1, 201) + p.sum())
        assert cut == pytest.approx(f1.max() / 2)


def test_sums_for_the_context_are_those_of_all_labels():
    rng = np.random.default_rng(0)
    logits, w, beta = 3 * rng.normal(size=(20, 4)), rng.random(20), np.array([0.9, 0.4, -0.3, 0.2, 0.1])
    logits[3, 1], logits[5, 2:] = CONSTANT_SCORE, -CONSTANT_SCORE
    rows = context_rows(logits)
    by_row, hessian, partition, applied = np.zeros((20, 5)), np.zeros((5, 5)), np.empty(20), logits.copy()
    context_sums(logits, rows, w, beta, CONSTANT_SCORE, True, by_row, hessian)
    log_partition(logits, rows, beta, CONSTANT_SCORE, partition)
    apply_context(applied, rows, beta, CONSTANT_SCORE)
    for i, k in itertools.product(range(20), range(4)):
        z = logits[i, k]
        if abs(z) < CONSTANT_SCORE:
            other = rows[i, 1] if k == rows[i, 2] else rows[i, 0]
            h = np.logaddexp(0, z - KNEE)
            x = np.array([z - h, h, other, rows[i, 3], 1.0])
            p = expit(beta @ x)
            by_row[i] -= w[i] * p * x
            hessian -= w[i] * p * (1 - p) * np.outer(x, x)
            partition[i] -= np.logaddexp(0, beta @ x)
            applied[i, k] += z - beta @ x
    assert max(np.abs(one).max() for one in (by_row, hessian, partition, applied - logits)) < 1e-11


def test_a_start_from_a_part_ends_where_one_from_nothing_does(monkeypatch):
    scores, labels, _, _ = drawn(2000, 4)
    whole = learn_calibration(scores, labels)
    monkeypatch.setattr("cofactor.labels.calibration.COARSE", 1000)
    parts = learn_calibration(scores, labels)
    np.testing.assert_allclose(parts.slope, whole.slope, rtol=1e-6)
    np.testing.assert_allclose(parts.offset, whole.offset, rtol=1e-6)


def test_a_label_of_one_instance_has_the_cut_of_others():
    rng = np.random.default_rng(0)
    truth = rng.random((300, 6)) < 0.1
    truth[:, 5] = np.arange(300) == 7
    logits = np.where(truth, 3.0, -6.0) + rng.normal(size=truth.shape)
    logits[7, 5] = -6.0  # where it is left out, nothing says that it is on
    cuts = learn_rule("macro", logits, sparse.csr_array(truth)).value
    assert np.ptp(cuts[:5]) < 0.05
    assert cuts[5] == pytest.approx(cuts[:5].mean(), abs=0.1)
    alone = learn_rule("macro", logits[:, 4:], sparse.csr_array(truth[:, 4:])).value  # too few to learn from
    assert alone[1] < 0.05
    constant = np.column_stack([logits, np.full(300, -CONSTANT_SCORE), np.full(300, CONSTANT_SCORE)])
    on = np.column_stack([truth, np.zeros(300), np.ones(300)])
    np.testing.assert_allclose(learn_rule("macro", constant, sparse.csr_array(on)).value[5], cuts[5], atol=0.05)


def test_one_cut_is_the_best_of_all_and_near_it_beyond_the_exact_search(monkeypatch):
    scores, labels, _, _ = drawn(300, 4)
    logits = learn_calibration(scores, labels).logits(scores)
    cut = learn_rule("micro", logits, labels).value
    hits = np.cumsum(labels.toarray().ravel()[np.argsort(-logits, axis=None)])  # above each of all cuts
    best = np.max(2 * hits / (1 + np.arange(len(hits)) + hits[-1]))
    assert micro_f1(labels, expit(logits) > cut) == pytest.approx(best)
    monkeypatch.setattr(decisions, "_EXACT", 0)
    monkeypatch.setattr(decisions, "_PER_BLOCK", 100)
    for weights in (None, np.ones(300)):
        assert micro_f1(labels, expit(logits) > learn_rule("micro", logits, labels, weights).value) > best - 0.003
    macro = learn_rule("macro", logits, labels).value
    monkeypatch.undo()
    np.testing.assert_allclose(macro, learn_rule("macro", logits, labels).value)
    assert macro_f1(labels, expit(logits) > macro) > 0.5


@pytest.mark.parametrize("aim", TARGET_METRICS)
def test_whoever_must_know_an_aim_does(aim):
    """One that is new needs a rule by labels and one without, a file that is read, texts and an option of the shell."""
    scores, labels, _, _ = drawn(300, 3)
    for rule in (learn_rule(aim, scores, labels), expected_rule(aim, scores)):
        assert rule.name == aim
        assert type(rule_of(rule.name, rule.value)) is type(rule)
        assert Decision(rule).words
    assert aim in OPTIONS["decide_for"].choices
    assert AIMS[aim].measure in OPTIONS["decide_for"].help
    assert f'"{aim}"' in PARAMETERS["decide_for"].splitlines()[0]
    assert AIMS[aim].measure in " ".join(PARAMETERS["decide_for"].split())


def test_a_rule_for_an_unknown_aim_is_refused():
    scores, labels, _, _ = drawn(30, 3)
    for learn in (lambda: learn_rule("f1", scores, labels), lambda: expected_rule("f1", scores)):
        with pytest.raises(ValueError, match="decide_for='f1': no rule is best at it"):
            learn()


def test_rules_come_back_from_a_file_and_nothing_else_does():
    for rule in (
        ProbabilityThreshold(0.3),
        ProbabilityThreshold(np.array([0.1, 0.2]), "macro"),
        BestSets(0.4),
        LikelySets(1),
    ):
        again = rule_of(rule.name, rule.value)
        assert type(again) is type(rule)
    wrong = [("micro", 1.0), ("micro", -0.1), ("macro", 0.3), ("example", 2), ("subset", 0.5), ("hamming", np.nan)]
    for name, value in wrong:
        with pytest.raises(ValueError, match="cannot have the value"):
            rule_of(name, value)
    for calibration, message in [
        (Calibration(np.zeros(2), np.zeros(2)), "above 0"),
        (Calibration(np.ones(2), np.array([0, np.inf])), "not finite"),
        (Calibration(np.ones(3), np.zeros(2)), "shape"),
        (Calibration(np.ones(2), np.zeros(2), np.ones(3)), "shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            calibration.check(2)


def test_only_the_ratios_of_weights_decide() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 3))
    labels = sparse.csr_array((scores + rng.normal(size=(200, 3)) > 0).astype(np.float32))
    plain = Decision.learn("auto", "micro", scores, labels).calibration
    for weight in (1e-8, 1 / 200, 1e8):
        found = Decision.learn("auto", "micro", scores, labels, np.full(200, weight)).calibration
        np.testing.assert_allclose(found.slope, plain.slope, rtol=1e-9)
        np.testing.assert_allclose(found.offset, plain.offset, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shares", [[0.1, 0.4, 0.7], [0.4, 0.4, 0.4]])
def test_labels_that_features_do_not_tell_have_the_share_as_their_probability(shares) -> None:
    """Leave-one-out shares are lower where a label is on: the slope would be below 0, without end."""
    labels = (np.random.default_rng(0).random((60, 3)) < shares).astype(np.float32)
    scores = (labels.sum(axis=0) - labels) / 59 - 0.5
    found = learn_calibration(scores, sparse.csr_array(labels)).probabilities(scores)
    np.testing.assert_allclose(found, np.broadcast_to(labels.mean(axis=0), (60, 3)), atol=0.03)
    for model in (LabelRidge(), PLST()):  # constant features: nothing is left by their scale
        chances = model.set_params(random_state=0).fit(np.ones((60, 4)), labels).predict_proba(np.ones((1, 4)))
        np.testing.assert_allclose(chances, labels.mean(axis=0)[None], atol=0.03)


@pytest.mark.parametrize(("mean", "deviation"), [(-0.48, 0.03), (40.0, 1.0)])
def test_scores_far_from_0_are_calibrated_too(mean, deviation) -> None:
    """Newton's steps for what labels have in common went to and fro where the mean is many deviations from 0."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(800, 4))
    chances = expit(2 * scores - 4)
    labels = sparse.csr_array((rng.random((800, 4)) < chances).astype(np.float32))
    found = learn_calibration(mean + deviation * scores, labels, context=False).probabilities(mean + deviation * scores)
    assert np.abs(found - chances).mean() < 0.02
