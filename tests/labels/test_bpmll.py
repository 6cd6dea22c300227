"""BP-MLL: its steps against differences of its error, its cuts against trying all of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cofactor.errors import InvalidInputError
from cofactor.kernels.backprop import ranking_epoch
from cofactor.labels import BPMLL
from cofactor.labels.adaptation.boosting import best_cuts_of
from cofactor.labels.adaptation.bpmll import Network


def error_of(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> float:
    """The error of one instance, pair by pair."""
    W, b, V, c = weights
    o = np.tanh(np.tanh(x @ W + b) @ V + c)
    return float(np.mean([np.exp(o[m] - o[k]) for k in np.flatnonzero(y) for m in np.flatnonzero(y == 0)]))


def arrays_of(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
    tables = sparse.csr_array(X), sparse.csr_array(Y)
    return (
        *(part.astype(np.int64) for part in (tables[0].indptr, tables[0].indices)), tables[0].data,
        *(part.astype(np.int64) for part in (tables[1].indptr, tables[1].indices)),
    )  # fmt: skip


def test_a_step_follows_the_negative_gradient() -> None:
    rng = np.random.default_rng(0)
    net = Network.drawn(4, 5, 5, rng)  # one unit alone, and four at a time
    x, y = np.array([0.5, 0.0, -1.0, 2.0]), np.array([1, 0, 1, 0, 0])
    before = [net.W.copy(), net.b.copy(), net.V.copy(), net.c.copy()]
    rate, h = 1e-3, 1e-5
    told = ranking_epoch(np.array([0]), *arrays_of(x[None], y[None]), net.W, net.b, net.V, net.c, rate, 0.0)
    assert told == pytest.approx(error_of(before, x, y))
    for part, (old, new) in enumerate(zip(before, (net.W, net.b, net.V, net.c), strict=True)):
        for place in np.ndindex(old.shape):
            moved = [[a.copy() for a in before] for _ in range(2)]
            moved[0][part][place] += h
            moved[1][part][place] -= h
            slope = (error_of(moved[0], x, y) - error_of(moved[1], x, y)) / (2 * h)
            assert (new[place] - old[place]) / rate == pytest.approx(-slope, abs=1e-9)


def test_decay_takes_its_share_of_all_weights_at_every_step() -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.6), np.array([[1, 0], [0, 1]] * 3)
    Y[4] = 1  # no pairs: skipped
    net, rate, decay = Network.drawn(4, 2, 2, rng), 0.1, 0.95  # W shrinks below a millionth, and is multiplied out
    slow = [net.W.copy(), net.b.copy(), net.V.copy(), net.c.copy()]
    order = np.array([3, 0, 5, 1, 4, 2])
    ranking_epoch(order, *arrays_of(X, Y), net.W, net.b, net.V, net.c, rate, decay)
    for i in order[order != 4]:
        step = [a.copy() for a in slow]
        ranking_epoch(np.array([0]), *arrays_of(X[[i]], Y[[i]]), *step, rate, 0.0)
        slow = [new - decay * old for new, old in zip(step, slow, strict=True)]
    for found, expected in zip((net.W, net.b, net.V, net.c), slow, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_steps_in_single_precision_and_outputs_at_their_bounds() -> None:
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(9, 4)), np.tile([[1, 0, 0], [0, 1, 1]], (5, 1))[:9]
    start = Network.drawn(4, 6, 3, rng)
    start.V *= 300
    assert np.abs(start.outputs(X)).max() == 1
    weights = [[start.of(kind).W, start.of(kind).b, start.of(kind).V, start.of(kind).c] for kind in (np.float32, float)]
    errors = [
        ranking_epoch(np.arange(9), *arrays_of(X.astype(parts[0].dtype), Y), *parts, 0.05, 1e-9) for parts in weights
    ]
    single, double = weights
    assert errors[0] == pytest.approx(errors[1], rel=1e-5)
    assert ranking_epoch(np.array([0]), *arrays_of(X, Y), *double, 1e-9, 0.0) == pytest.approx(
        error_of(double, X[0], Y[0]), rel=1e-12
    )
    for found, expected in zip(single, double, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_cuts_with_the_fewest_wrong_labels() -> None:
    rng = np.random.default_rng(0)
    outputs, on = rng.uniform(-1, 1, (40, 5)), rng.random((40, 5)) < 0.4
    for row, truth, cut in zip(outputs, on, best_cuts_of(outputs, on), strict=True):
        ranked = np.sort(row)
        tried = [ranked[0] - 0.1, *((ranked[1:] + ranked[:-1]) / 2), ranked[-1] + 0.1]
        assert cut == min(tried, key=lambda t, row=row, truth=truth: ((row > t) != truth).sum())


def test_scores_are_outputs_above_the_cut_that_follows_from_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0).astype(int)
    model = BPMLL.paper(6, max_iter=30, random_state=0).fit(X, Y)
    assert model.history_[-1] < model.history_[0]
    net = Network(model.hidden_coef_, model.hidden_intercept_, model.coef_, model.intercept_)
    outputs = net.outputs(X)
    known = np.column_stack([outputs, np.ones(90)])
    cut = known @ np.linalg.lstsq(known, best_cuts_of(outputs, Y > 0), rcond=None)[0]
    np.testing.assert_allclose(model.decision_function(X), outputs - cut[:, None], atol=1e-12)
    assert np.mean(model.predict(X) == Y) > 0.85


def test_a_single_label_is_ranked_with_its_absence() -> None:
    X = np.linspace(-1, 1, 40)[:, None]
    model = BPMLL.paper(3, random_state=0).fit(X, X > 0.3)
    assert model.coef_.shape == (3, 2)
    assert np.mean(model.predict(X) == (X > 0.3)) > 0.9


def test_steps_that_are_too_long() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    with pytest.warns(
        ConvergenceWarning, match="BPMLL learned nothing: the mean error .*; lower learning_rate, now 1e.06"
    ):
        BPMLL.paper(3, learning_rate=1e6, max_iter=5, random_state=0).fit(X, X > 0.3)


def test_weights_that_overflow_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    with pytest.raises(InvalidInputError, match="decay=1000.0: the weights of the network overflowed.*lower both"):
        BPMLL.paper(3, decay=1000, random_state=0).fit(X, X > 0.3)


def test_the_decay_is_chosen_on_instances_that_are_held_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) / 20  # so small that much decay leaves nothing
    Y = (X[:, :2] > 0).astype(int)
    assert BPMLL(4, max_iter=20, scale="none", random_state=0).fit(X, Y).decay_ == 0.01
