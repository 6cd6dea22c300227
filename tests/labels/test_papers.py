"""Models with the settings of their papers beside plain programs of the papers' equations, from features to scores.

Most models have such a test among their others. Here are those whose other tests look at one step at a time.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, softmax
from sklearn.cluster import KMeans
from sklearn.linear_model import Lasso, Ridge, orthogonal_mp
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC
from tests.contract_labels.models import planted

from cofactor.labels import (
    BPMLL,
    LIFT,
    LLSF,
    MLCHMF,
    MME,
    SSJDR,
    BinaryRelevance,
    ChainCRFEnsemble,
    CompressedSensing,
    FeatureLabelCCA,
    GroPLE,
    KNNVote,
    LabelClustering,
    LabelModel,
    LabelPCA,
    LabelRidge,
    MetaLabels,
    MLkNN,
)

X, Y = planted(40, 4, seed=2)
NEW = planted(15, 4, seed=3)[0]
N, L = Y.shape
EXACT: dict[str, Any] = {"tol": 1e-13, "max_iter": 5000}

#: Near the minimum, in primal form: what the package's own solvers of this problem come near to.
MACHINE = LinearSVC(dual=False, tol=1e-10, max_iter=100_000)


#: What Kumar's sections 5.6 and 6.3, Li's chapters 5 and 7, and the paper on online factorization print of settings.
PRINTED: dict[type[LabelModel], dict[str, Any]] = {
    BPMLL: {"n_hidden": 0.2, "max_iter": 100},
    ChainCRFEnsemble: {"n_estimators": 1001, "threshold": "joint"},
    CompressedSensing: {"n_components": 50},
    FeatureLabelCCA: {"n_components": 50, "alpha": 0.0, "label_penalty": 0.0},
    GroPLE: {"n_components": 100, "n_groups": 10, "alpha_u": 0.001, "alpha_v": 1.0},
    KNNVote: {"scale": "rows"},
    LabelPCA: {"n_components": 50, "alpha": 0.0},
    LIFT: {"ratio": 0.1},
    LLSF: {"alpha": 0.1, "beta": 0.1, "correlation": "original", "fit_intercept": False},
    MLCHMF: {"n_components": 0.5, "n_neighbors": 5, "max_depth": 5, "min_size": 5},
    MLkNN: {"n_neighbors": 10},
    SSJDR: {"n_components": 100, "gamma": 1.0},
}


@pytest.mark.parametrize("kind", PRINTED)
def test_printed_settings(kind: type[LabelModel]) -> None:
    found = kind.paper().get_params()
    assert {name: found[name] for name in PRINTED[kind]} == PRINTED[kind]


def test_label_ridge_chooses_all_by_leaving_one_out() -> None:
    """Penalties of both parts, the width of the kernel, and how much of it is mixed with the linear part."""

    def held_out(K: np.ndarray, alpha: float) -> np.ndarray:
        H = 1 / N + K @ np.linalg.inv(K + alpha * np.eye(N))
        return Y - (Y - H @ Y) / (1 - np.diag(H))[:, None]

    def fitted(products: Callable[[np.ndarray], np.ndarray]) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the least squared error, the predictions that go with it, and those of new instances."""
        J = np.eye(N) - 1 / N
        K = J @ products(X) @ J
        errors = {}
        for alpha in np.trace(K) / N * 10.0 ** np.linspace(-3, 3, 19):
            errors[alpha] = np.sum((Y - held_out(K, alpha)) ** 2)
        alpha = min(errors, key=errors.__getitem__)
        coef = np.linalg.solve(K + alpha * np.eye(N), J @ Y)
        new = Y.mean(axis=0) + (products(NEW) - products(X).mean(axis=0)) @ coef
        return errors[alpha], held_out(K, alpha), new

    middle = np.median(cdist(X, X, "sqeuclidean")[np.triu_indices(N, 1)])
    kernels = [lambda table, g=g: np.exp(-g / middle * cdist(table, X, "sqeuclidean")) for g in 2.0 ** np.arange(-3, 3)]
    _, linear, first = fitted(lambda table: table @ X.T)
    _, bent, second = min(map(fitted, kernels), key=lambda found: found[0])
    share = np.clip(np.sum((Y - linear) * (bent - linear)) / np.sum((bent - linear) ** 2), 0, 1)
    model = LabelRidge.paper(n_components=1.0).fit(X, Y)
    assert model.kernel_share_ == pytest.approx(share) != 0
    np.testing.assert_allclose(model.decision_function(NEW), (1 - share) * first + share * second - 0.5, atol=1e-10)


def test_measurements_of_labels_are_regressed_and_decoded() -> None:
    """Rows and columns of a Hadamard matrix; as many labels as are most accurate in codes of the others' fits."""
    some = Y * np.random.default_rng(1).integers(2, size=Y.shape)  # of more, measurements would fit two labels alike
    model = CompressedSensing.paper(5, random_state=0).fit(X, some)
    rng = np.random.default_rng(0)
    A = hadamard(8)[np.ix_(rng.permutation(8)[:5], rng.permutation(8)[:L])] / np.sqrt(5)
    np.testing.assert_allclose(model.decoder_, A)

    def decoded(codes: np.ndarray, k: int) -> np.ndarray:
        return orthogonal_mp(A, codes.T, n_nonzero_coefs=k).T

    others = [np.arange(N) != i for i in range(N)]
    codes = np.vstack([Ridge().fit(X[rest], some[rest] @ A.T).predict(X[~rest]) for rest in others])
    size, accuracy = some.sum(axis=1).mean(), {}
    for k in (round(size), round(1.5 * size)):
        on = decoded(codes, k) > 0.5
        union = np.maximum(some, on).sum(axis=1)
        accuracy[k] = np.mean(np.where(union > 0, (some * on).sum(axis=1) / np.maximum(union, 1), 1))
    best = max(accuracy, key=accuracy.__getitem__)
    assert model.n_nonzero_ == best
    expected = decoded(Ridge().fit(X, some @ A.T).predict(NEW), best)
    np.testing.assert_allclose(model.decision_function(NEW), expected - 0.5, atol=1e-9)


Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


def low_rank(
    loss: Loss, X: np.ndarray, n_labels: int, alpha: float, intercept: bool = True
) -> tuple[np.ndarray, np.ndarray, float]:
    """Minimise the loss of X U V + c plus α/2 (‖U‖² + ‖V‖²), as many factors as labels; return U V, c, the minimum."""
    sizes = np.cumsum([X.shape[1] * n_labels, n_labels**2])

    def parts(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        U, V, c = np.split(w, sizes)
        return U.reshape(-1, n_labels), V.reshape(n_labels, n_labels), c * intercept

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        U, V, c = parts(w)
        value, slopes = loss(X @ U @ V + c)
        gradient = [X.T @ slopes @ V.T + alpha * U, (X @ U).T @ slopes + alpha * V, slopes.sum(axis=0) * intercept]
        penalty = alpha / 2 * np.sum(w[: sizes[1]] ** 2)
        return value + penalty, np.concatenate([part.ravel() for part in gradient])

    start = np.random.default_rng(0).normal(size=sizes[1] + n_labels)
    options = {"maxiter": 5000, "maxfun": 5000, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-6}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    U, V, c = parts(found.x)
    return U @ V, c, found.fun


def smooth_hinge(labels: np.ndarray, costs: np.ndarray | float = 1.0) -> Loss:
    """Return Σ c h(z f) of scores f, with h as in (5.20), and its slopes."""
    z = np.where(labels > 0, 1, -1)

    def loss(scores: np.ndarray) -> tuple[float, np.ndarray]:
        m = z * scores
        h = np.where(m <= 0, 0.5 - m, np.where(m < 1, (1 - m) ** 2 / 2, 0))
        return float(np.sum(costs * h)), costs * z * np.clip(m - 1, -1, 0)

    return loss


@pytest.mark.parametrize("cost", ["unit", "root"])
def test_max_margin_embedding_has_the_least_losses(cost: str) -> None:
    n_on = Y.sum(axis=0)
    costs = np.where(Y > 0, np.sqrt((N - n_on) / n_on), 1) if cost == "root" else 1.0
    W, c, least = low_rank(smooth_hinge(Y, costs), X, L, 1.0)
    model = MME.paper(cost=cost, **EXACT).fit(X, Y)
    assert model.objective_ == pytest.approx(least, rel=1e-9)
    np.testing.assert_allclose(model.decision_function(NEW), NEW @ W + c, atol=1e-4)


def test_max_margin_embedding_of_label_sets() -> None:
    """Pair by pair, with the smooth maximum in place of the largest violation."""
    sets = np.unique(Y, axis=0)
    distance = np.sum(Y[:, None] != sets[None], axis=2)

    def loss(scores: np.ndarray) -> tuple[float, np.ndarray]:
        violations = 4 * (distance + scores @ sets.T - np.sum(scores * Y, axis=1)[:, None])
        slopes = softmax(violations, axis=1) @ sets - Y
        return float(logsumexp(violations, axis=1).sum() / 4), slopes

    W, c, least = low_rank(loss, X, L, 1.0)
    model = MME.paper(form="pairs", **EXACT).fit(X, Y)
    assert model.objective_ == pytest.approx(least, rel=1e-9)
    of_sets = (NEW @ W + c) @ sets.T
    np.testing.assert_array_equal(model.predict(NEW), sets[of_sets.argmax(axis=1)])
    margins = [of_sets[:, on].max(axis=1) - of_sets[:, ~on].max(axis=1) for on in sets.T > 0]
    np.testing.assert_allclose(model.decision_function(NEW), np.transpose(margins), atol=1e-4)


def test_a_hierarchy_of_embeddings() -> None:
    """Algorithm 5 of the thesis, corrected: two clusters far apart, each of two in which features mean opposites."""
    rng, sizes = np.random.default_rng(2), [14, 10, 13, 11]
    far, near = np.repeat([0, 0, 8, 8], sizes), np.repeat([0, 4, 0, 4], sizes)
    X = rng.uniform(-1, 1, (48, 4)) + np.column_stack([far, near, 0 * far, 0 * far])
    turned = np.where(near > 0, -1, 1)[:, None]
    Y = np.hstack([turned * X[:, 2:], X[:, 2:3] + X[:, 3:]]) > 0
    wide = np.column_stack([X, np.ones(48)])
    maps, owned = [], []

    def grow(rows: np.ndarray, depth: int) -> None:
        if len(rows) < 5:
            return
        maps.append(low_rank(smooth_hinge(Y[rows]), wide[rows], 3, 1.0, intercept=False)[0])
        right = ((wide[rows] @ maps[-1] > 0) == Y[rows]).all(axis=1)
        owned.extend((i, len(maps) - 1) for i in rows[right])
        if depth < 2:
            split(rows[~right], depth)

    def split(rows: np.ndarray, depth: int) -> None:
        if len(rows) >= 5:
            cluster = KMeans(2, n_init=3, random_state=0).fit_predict(X[rows])
            for k in range(2):
                grow(rows[cluster == k], depth + 1)

    split(np.arange(48), 0)
    kept, owners = np.array(owned).T
    new = np.vstack([X + 0.2 * rng.normal(size=X.shape) for _ in range(3)])
    votes = []
    for x in new:
        nearest = np.argsort(np.sum((X[kept] - x) ** 2, axis=1))[:5]
        votes.append(np.mean([np.where(np.append(x, 1) @ maps[e] > 0, 1, -1) for e in owners[nearest]], axis=0))
    model = MLCHMF.paper(1.0, alpha=1.0, max_depth=2, dtype="float64", tol=1e-9).fit(X, Y)
    assert len(model.embeddings_) == len(set(owners)) == 5
    assert sorted(kept) == sorted(model.instances_)
    np.testing.assert_allclose(model.decision_function(new), votes, atol=1e-12)


def test_backpropagation_goes_from_instance_to_instance() -> None:
    """Weights, order and steps as they are drawn; then the cut of each instance, regressed on the outputs."""
    rng = np.random.default_rng(0)
    H, rate, share = 3, 0.05, 0.2 / N
    W, b = rng.uniform(-(4**-0.5), 4**-0.5, (4, H)), rng.uniform(-(4**-0.5), 4**-0.5, H)
    V, c = rng.uniform(-(H**-0.5), H**-0.5, (H, L)), rng.uniform(-(H**-0.5), H**-0.5, L)
    for _ in range(3):
        for i in rng.permutation(N):
            on = Y[i] > 0
            if not 0 < on.sum() < L:
                continue
            h = np.tanh(X[i] @ W + b)
            o = np.tanh(h @ V + c)
            pull = np.where(on, np.exp(-o) * np.exp(o[~on]).sum(), -np.exp(o) * np.exp(-o[on]).sum())
            d = pull / (on.sum() * (~on).sum()) * (1 - o**2)
            e = (V @ d) * (1 - h**2)
            W, b = (1 - share) * W + rate * np.outer(X[i], e), (1 - share) * b + rate * e
            V, c = (1 - share) * V + rate * np.outer(h, d), (1 - share) * c + rate * d

    def outputs(X: np.ndarray) -> np.ndarray:
        return np.tanh(np.tanh(X @ W + b) @ V + c)

    cuts = []
    for o, y in zip(outputs(X), Y > 0, strict=True):
        ranked = np.sort(o)
        tried = [ranked[0] - 0.1, *((ranked[1:] + ranked[:-1]) / 2), ranked[-1] + 0.1]
        cuts.append(min(tried, key=lambda t, o=o, y=y: np.sum((o > t) != y)))
    known, asked = (np.column_stack([outputs(table), np.ones(len(table))]) for table in (X, NEW))
    cut = asked @ np.linalg.lstsq(known, cuts, rcond=None)[0]
    model = BPMLL.paper(H, max_iter=3, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, V, atol=2e-6)
    np.testing.assert_allclose(model.hidden_coef_, W, atol=2e-6)
    np.testing.assert_allclose(model.decision_function(NEW), outputs(NEW) - cut[:, None], atol=5e-6)


def hinge_machine(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return scores of new instances by the dual of ½(‖w‖² + b²) plus the sum of the hinge losses."""
    z, (seen, asked) = 2.0 * y - 1, (np.column_stack([table, np.ones(len(table))]) for table in (X, new))
    Q = np.outer(z, z) * (seen @ seen.T)
    options = {"maxiter": 50_000, "maxfun": 50_000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(
        lambda a: (a @ Q @ a / 2 - a.sum(), Q @ a - 1),
        np.full(len(z), 0.5), jac=True, method="L-BFGS-B", bounds=[(0, 1)] * len(z), options=options,
    )  # fmt: skip
    return asked @ (seen.T @ (z * found.x))


def test_binary_relevance_fits_a_machine_to_each_label() -> None:
    """Of C = 1 and the hinge loss, as LIBSVM's, but that the intercept is penalized too."""
    model = BinaryRelevance.paper(random_state=0).fit(X, Y)
    scores = model.decision_function(NEW)
    np.testing.assert_allclose(scores, np.column_stack([hinge_machine(X, y, NEW) for y in Y.T]), atol=2e-3)
    libsvm = np.column_stack([SVC(kernel="linear").fit(X, y).decision_function(NEW) for y in Y.T])
    assert np.mean((scores > 0) == (libsvm > 0)) > 0.9


def test_coefficients_of_unlike_labels_are_kept_unlike() -> None:
    """Accelerated proximal gradients of the released code, from its start; the features leave no null space here."""
    lengths = np.linalg.norm(Y, axis=0)
    R, gram = 1 - Y.T @ Y / np.outer(lengths, lengths), X.T @ X
    assert np.linalg.eigvalsh(R)[0] < 0 < np.linalg.eigvalsh(gram)[0] + 0.1 * np.linalg.eigvalsh(R)[0]
    lipschitz = np.sqrt(2 * (np.linalg.norm(gram, 2) ** 2 + np.linalg.norm(0.1 * R, 2) ** 2))
    W = last = np.linalg.solve(gram + 0.01 * np.eye(len(gram)), X.T @ Y)
    b, before = 1.0, 1.0
    for _ in range(5000):
        V = W + (before - 1) / b * (W - last)
        step = V - (gram @ V - X.T @ Y + 0.1 * V @ R) / lipschitz
        last, W = W, np.sign(step) * np.maximum(np.abs(step) - 0.1 / lipschitz, 0)
        before, b = b, (1 + np.sqrt(4 * b**2 + 1)) / 2
    model = LLSF.paper().fit(X, Y)
    np.testing.assert_allclose(model.decision_function(NEW), NEW @ W - 0.5, atol=5e-3)


def test_label_specific_features_are_distances_from_clusters() -> None:
    """Clusters that every k-means finds; machines as LIBSVM's, but that the intercept is penalized too."""
    rng = np.random.default_rng(0)
    blob = np.repeat(np.arange(4), [10, 9, 8, 11])
    X, new = (5 * np.eye(4)[blob] + spread * rng.normal(size=(38, 4)) for spread in (0.8, 1.5))
    Y = np.column_stack([np.isin(blob, [0, other]) for other in (1, 2, 3)]).astype(int)
    model = LIFT.paper(random_state=0).fit(X, Y)
    for label, y in enumerate(Y.T):
        clusters = [KMeans(2, n_init=3, random_state=0).fit(X[y == kind]).cluster_centers_ for kind in (1, 0)]
        seen, asked = (cdist(table, np.vstack(clusters)) for table in (X, new))
        assert model.n_centres_[label] == 4  # of 17 to 19 instances of the rarer kind a tenth, rounded up, and twice
        expected = hinge_machine(seen - seen.mean(axis=0), y, asked - seen.mean(axis=0))
        np.testing.assert_allclose(model.decision_function(new)[:, label], expected, atol=2e-3)
        assert np.mean(SVC(kernel="linear").fit(seen, y).predict(asked) == model.predict(new)[:, label]) > 0.95


def test_meta_labels_have_features_and_a_chain_each() -> None:
    """Groups of labels by spectral clustering, their features by the lasso, true labels before a label in training."""
    model = MetaLabels.paper(group_size=3, gamma=2.0, random_state=0).fit(X, Y)
    means = np.array([X[y > 0].mean(axis=0) for y in Y.T])
    both, either = Y.T @ Y, N - (1 - Y).T @ (1 - Y)
    affinity = 0.8 * both / either + 0.2 * np.exp(-cdist(means, means))
    np.fill_diagonal(affinity, 0)
    root = 1 / np.sqrt(affinity.sum(axis=1))
    vectors = np.linalg.eigh(affinity * root[:, None] * root)[1][:, -2:]
    cluster = KMeans(2, n_init=3, random_state=0).fit_predict(normalize(vectors))
    group = (cluster != cluster[0]).astype(int)
    assert np.array_equal(model.groups_, group)
    expected = np.empty((len(NEW), L))
    for g in range(2):
        labels = np.flatnonzero(group == g)
        number = np.unique(Y[:, labels] @ 2 ** np.arange(len(labels)), return_inverse=True)[1]  # the last counts most
        kept = Lasso(2.0 / N, fit_intercept=False, tol=1e-10).fit(X, number / number.max()).coef_ != 0
        assert np.array_equal(model.features_.toarray()[g] > 0, kept)
        known, asked = X[:, kept], NEW[:, kept]
        for label in (j for j in model.order_ if j in labels):
            machine = MACHINE.fit(known, Y[:, label])
            expected[:, label] = machine.decision_function(asked)
            known = np.column_stack([known, Y[:, label]])
            asked = np.column_stack([asked, expected[:, label] > 0])
    np.testing.assert_allclose(model.decision_function(NEW), expected, atol=1e-6)


def powerset_says(labels: list[int]) -> np.ndarray:
    """Return the label sets of new instances, of labels whose sets are classes."""
    sets, classes = np.unique(Y[:, labels], axis=0, return_inverse=True)
    return sets[MACHINE.fit(X, classes.ravel()).predict(NEW)]


@pytest.mark.parametrize("clustering", ["disjoint", "overlapping"])
def test_clusters_of_labels_have_a_powerset_each(clustering: str) -> None:
    """Section 5.4 of Li's thesis: pairs by falling χ², or a cluster grown from each label; half of the votes count."""
    similar = np.zeros((L, L))
    for i, j in combinations(range(L), 2):
        table = np.array([[np.sum((Y[:, i] == a) & (Y[:, j] == b)) for b in (0, 1)] for a in (0, 1)])
        margins = np.outer(table.sum(axis=1), table.sum(axis=0)) / N
        similar[i, j] = similar[j, i] = np.sum((table - margins) ** 2 / margins)
    clusters: set[frozenset[int]] = {frozenset([j]) for j in range(L)}
    if clustering == "disjoint":
        for i, j in sorted(combinations(range(L), 2), key=lambda pair: -similar[pair]):
            two = {one for one in clusters if {i, j} & one}
            if len(two) == 2 and sum(map(len, two)) <= 3:
                clusters = clusters - two | {frozenset.union(*two)}
    else:
        grown = []
        for j in range(L):
            members = [j]
            while len(members) < 3:
                rest = [k for k in range(L) if k not in members]
                members.append(max(rest, key=lambda k, members=members: max(similar[k, members])))
            grown.append(frozenset(members))
        clusters = set(grown)
    votes, count = np.zeros((len(NEW), L)), np.zeros(L)
    for one in clusters:
        votes[:, sorted(one)] += powerset_says(sorted(one))
        count[list(one)] += 1
    model = LabelClustering.paper(clustering=clustering, max_size=3).fit(X, Y)
    assert {frozenset(np.flatnonzero(row).tolist()) for row in model.clusters_.toarray()} == clusters
    assert (count.max() > 1) == (clustering == "overlapping")
    np.testing.assert_array_equal(model.predict(NEW), 2 * votes >= count)


def test_votes_of_neighbours_on_rows_of_length_1() -> None:
    theirs = KNeighborsClassifier(5).fit(normalize(X), Y)
    assert np.array_equal(KNNVote.paper(5).fit(X, Y).predict(NEW), theirs.predict(normalize(NEW)))
