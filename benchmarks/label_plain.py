"""Plain programs of label methods, written from their definitions, for comparison with the library.

Each takes features, labels, new features, settings and a generator, and yields scores of the new instances for each of
the settings: a label is on above 0. `predicted` chooses settings, and a cut if asked, on a quarter of the instances.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy import sparse
from sklearn.linear_model import orthogonal_mp_gram
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from cofactor.labels import RAkEL
from cofactor.metrics import accuracy

Settings = tuple[Any, ...]
Scores = Iterator[np.ndarray]
EPS = 1e-12
PENALTIES = [10.0**k for k in range(-4, 5)]


class Plain(NamedTuple):
    """A program and the settings it chooses from."""

    scores: Callable[..., Scores]
    settings: Sequence[Settings] = ((),)


def dense(table: Any) -> np.ndarray:
    return np.asarray(table.toarray() if sparse.issparse(table) else table, dtype=np.float64)


def best_cut(truth: Any, scores: np.ndarray) -> tuple[float, float]:
    """Return the quantile of finite scores which is the cut of the best accuracy, the lowest of several, after that."""
    cuts = np.unique(np.quantile(scores[np.abs(scores) < 1e6], np.linspace(0, 1, 201)))
    Y, above = dense(truth) > 0, np.searchsorted(cuts, scores)  # how many cuts a score is above
    bins = np.arange(len(scores))[:, None] * (len(cuts) + 1) + above

    def counts(which: np.ndarray) -> np.ndarray:
        """Return how many of these labels have scores above each cut."""
        table = np.bincount(bins[which], minlength=len(scores) * (len(cuts) + 1)).reshape(len(scores), -1)
        return table[:, :0:-1].cumsum(axis=1)[:, ::-1]

    both, either = counts(Y), counts(~Y) + Y.sum(axis=1, keepdims=True)
    found = np.where(either > 0, both / np.maximum(either, 1), 1.0).mean(axis=0)
    best = int(np.argmax(found))
    return float(found[best]), float(cuts[best])


def predicted(plain: Plain, X: Any, Y: Any, new: Any, seed: int, *, cut: bool) -> np.ndarray:
    """Return labels by the settings, and the cut if asked, with the best accuracy on a quarter of the instances."""
    Y, best, at = dense(Y), -1.0, (plain.settings[0], 0.0)
    if cut or len(plain.settings) > 1:
        train, rest = train_test_split(np.arange(len(Y)), test_size=0.25, random_state=seed)
        found = plain.scores(X[train], Y[train], X[rest], plain.settings, np.random.default_rng(seed))
        for settings, scores in zip(plain.settings, found, strict=True):
            gained, value = best_cut(Y[rest], scores) if cut else (accuracy(Y[rest], scores > 0), 0.0)
            if gained > best:
                best, at = gained, (settings, value)
    return next(iter(plain.scores(X, Y, new, [at[0]], np.random.default_rng(seed)))) > at[1]


class Regression:
    """Ridge regressions on centred features, by one singular value decomposition."""

    def __init__(self, X: Any, new: Any) -> None:
        X, new = dense(X), dense(new)
        self.U, self.s, self.Vt = scipy.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        kept = self.s > 1e-9 * self.s[0]
        self.U, self.s, self.Vt = self.U[:, kept], self.s[kept], self.Vt[kept]
        self.new = (new - X.mean(axis=0)) @ self.Vt.T

    def predict(self, targets: np.ndarray, alpha: float) -> np.ndarray:
        mean = targets.mean(axis=0)
        return (self.new * (self.s / (self.s**2 + alpha))) @ (self.U.T @ (targets - mean)) + mean

    def half_hat(self, alpha: float) -> np.ndarray:
        """Return B with BBᵀ = H."""
        return self.U * (self.s / np.sqrt(self.s**2 + alpha))


def ridge(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    regression = Regression(X, new)
    for (alpha,) in settings:
        yield regression.predict(Y, alpha) - 0.5


def cplst(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    regression, centred = Regression(X, new), Y - Y.mean(axis=0)
    for share, alpha in settings:
        d = round(share * Y.shape[1])
        _, _, Vt = np.linalg.svd(regression.half_hat(alpha).T @ centred, full_matrices=False)
        yield regression.predict(centred @ Vt[:d].T, alpha) @ Vt[:d] + Y.mean(axis=0) - 0.5


def cssp(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """CSSP of the codes 0/1, or -1/1: labels by their leverage, without replacement."""
    regression, drawn = Regression(X, new), {}
    for coding, share, alpha in settings:
        T = 2 * Y - 1 if coding == "signs" else Y
        d = round(share * Y.shape[1])
        if (coding, d) not in drawn:
            p = np.sum(np.linalg.svd(T, full_matrices=False)[2][:d] ** 2, axis=0) / d
            drawn[coding, d] = rng.choice(len(p), min(d, int(np.sum(p > 1e-12))), replace=False, p=p / p.sum())
        C = T[:, drawn[coding, d]]
        yield regression.predict(C, alpha) @ np.linalg.pinv(C) @ T - (0.0 if coding == "signs" else 0.5)


def faie(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    regression = Regression(X, new)
    for share, alpha, beta in settings:
        table = np.hstack([Y, np.sqrt(beta) * regression.half_hat(alpha)])
        U = np.linalg.svd(table, full_matrices=False)[0][:, : round(share * Y.shape[1])]
        yield regression.predict(U, alpha) @ (U.T @ Y) - 0.5


def llsf(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """LLSF with an intercept and the positive part of R, 200 accelerated steps from ridge regression."""
    X, new = dense(X), dense(new)
    x, y, sizes = X.mean(axis=0), Y.mean(axis=0), np.linalg.norm(Y, axis=0)
    cosine = (Y.T @ Y) / np.maximum(np.outer(sizes, sizes), EPS)
    values, vectors = np.linalg.eigh(1 - cosine)
    R = (vectors * np.maximum(values, 0)) @ vectors.T
    gram, cross = (X - x).T @ (X - x), (X - x).T @ (Y - y)
    for alpha, beta in settings:
        steep = np.sqrt(2 * (np.linalg.norm(gram, 2) ** 2 + np.linalg.norm(alpha * R, 2) ** 2))
        W = before = np.linalg.solve(gram + 0.01 * np.eye(len(gram)), cross)
        t = last = 1.0
        for _ in range(200):
            V = W + (last - 1) / t * (W - before)
            V -= (gram @ V - cross + alpha * V @ R) / steep
            before, W = W, np.sign(V) * np.maximum(np.abs(V) - beta / steep, 0)
            last, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        yield (new - x) @ W + y - 0.5


def compressed(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """Compressed sensing by as many rows of a Hadamard matrix as labels, drawn at random, and matching pursuit."""
    regression, L = Regression(X, new), Y.shape[1]
    H = scipy.linalg.hadamard(1 << (L - 1).bit_length())
    A = H[np.ix_(rng.permutation(len(H))[:L], rng.permutation(len(H))[:L])] / np.sqrt(L)
    for alpha, factor in settings:
        codes = regression.predict(Y @ A.T, alpha)
        k = min(L, max(1, round(factor * Y.sum() / len(Y))))
        yield orthogonal_mp_gram(A.T @ A, A.T @ codes.T, n_nonzero_coefs=k).reshape(L, -1).T - 0.5


def mnmf(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """MNMF by 200 multiplicative updates from a random start, and as many for new instances."""
    for d, beta in settings:
        table = sparse.csr_array(sparse.hstack([(1 - beta) * sparse.csr_array(X), beta * sparse.csr_array(Y)]))
        turned, D = table.T.tocsr(), X.shape[1]
        H, B = rng.random((table.shape[0], d)) + 1e-3, rng.random((d, table.shape[1])) + 1e-3
        for _ in range(200):
            H *= (table @ B.T) / (H @ (B @ B.T) + EPS)
            B *= (turned @ H).T / ((H.T @ H) @ B + EPS)
        P, Q = B[:, :D] / (1 - beta), B[:, D:] / beta
        h, cross, gram = rng.random((new.shape[0], d)) + 1e-3, np.asarray(new @ P.T), P @ P.T
        for _ in range(200):
            h *= cross / (h @ gram + EPS)
        yield h @ Q - 0.5


def instance_cuts(F: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the cut of each instance with the fewest wrong labels, the lowest of several."""
    found = np.empty(len(F))
    for i, (f, y) in enumerate(zip(F, Y, strict=True)):
        s = np.sort(f)
        tried = np.concatenate([[s[0] - 0.1], (s[1:] + s[:-1]) / 2, [s[-1] + 0.1]])
        found[i] = tried[np.argmin([np.sum((f > cut) != (y > 0)) for cut in tried])]
    return found


def bpmll(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """BP-MLL as released: 100 epochs, 20 hidden units for 100 features, rate .05, decay .2."""
    X, new, N, L = dense(X), dense(new), len(Y), Y.shape[1]
    D = X.shape[1]
    hidden = max(1, round(0.2 * D))
    for _ in settings:
        W, b = rng.uniform(-1, 1, (D, hidden)) / np.sqrt(D), rng.uniform(-1, 1, hidden) / np.sqrt(D)
        V, c = rng.uniform(-1, 1, (hidden, L)) / np.sqrt(hidden), rng.uniform(-1, 1, L) / np.sqrt(hidden)
        for _epoch in range(100):
            for i in rng.permutation(N):
                on = Y[i] > 0
                if on.all() or not on.any():
                    continue
                inner = np.tanh(X[i] @ W + b)
                out = np.tanh(inner @ V + c)
                low, high = np.exp(-out[on]), np.exp(out[~on])
                slope = np.empty(L)
                slope[on], slope[~on] = -low * high.sum(), high * low.sum()
                slope *= (1 - out**2) / (on.sum() * (~on).sum())
                back = (V @ slope) * (1 - inner**2)
                for weights, step in ((V, np.outer(inner, slope)), (c, slope), (W, np.outer(X[i], back)), (b, back)):
                    weights *= 1 - 0.2 / N
                    weights -= 0.05 * step
        F, G = (np.tanh(np.tanh(Z @ W + b) @ V + c) for Z in (X, new))
        fitted = np.linalg.lstsq(np.column_stack([F, np.ones(N)]), instance_cuts(F, Y), rcond=None)[0]
        yield G - (np.column_stack([G, np.ones(len(G))]) @ fitted)[:, None]


def adaboost_mr(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """AdaBoost.MR of dense features, as many rounds as the settings say, which ascend."""
    X, new = dense(X), dense(new)
    order = np.argsort(X, axis=0, kind="stable")
    sorted_X = np.take_along_axis(X, order, axis=0)
    distinct = np.diff(sorted_X, axis=0) > 0
    both = Y.sum(axis=1) * (1 - Y).sum(axis=1)
    k = np.where(both > 0, 1 / np.maximum(both, 1), 0)[:, None]
    F, G, done = np.zeros(Y.shape), np.zeros((len(new), Y.shape[1])), 0
    for (rounds,) in settings:
        for _ in range(rounds - done):
            up, down = np.exp(F) * (1 - Y), np.exp(-F) * Y
            mass = k * (down * up.sum(axis=1, keepdims=True) - up * down.sum(axis=1, keepdims=True))
            mass /= np.sum(k[:, 0] * up.sum(axis=1) * down.sum(axis=1))
            below = np.cumsum(mass[order], axis=0)[:-1]
            gains = np.abs(below).sum(axis=2) + np.abs(mass.sum(axis=0) - below).sum(axis=2)
            i, j = np.unravel_index(np.argmax(np.where(distinct, gains, -1)), distinct.shape)
            cut, r = (sorted_X[i, j] + sorted_X[i + 1, j]) / 2, gains[i, j] / 2
            signs = np.sign(np.stack([below[i, j], mass.sum(axis=0) - below[i, j]]))
            alpha = 0.5 * np.log((1 + r) / max(1 - r, 1e-4))
            F += alpha * signs[(X[:, j] > cut).astype(int)]
            G += alpha * signs[(new[:, j] > cut).astype(int)]
        done = rounds
        yield G.copy()


def machine(rng: np.random.Generator) -> LinearSVC:
    return LinearSVC(loss="hinge", dual=True, max_iter=10_000, random_state=int(rng.integers(1 << 30)))


def chain(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """A classifier chain of hinges in random order, on the true labels in training."""
    for _ in settings:
        X_now, new_now, found = sparse.csr_matrix(X), sparse.csr_matrix(new), np.empty((new.shape[0], Y.shape[1]))
        for label in rng.permutation(Y.shape[1]):
            y = Y[:, label]
            varies = 0 < y.sum() < len(y)
            found[:, label] = machine(rng).fit(X_now, y).decision_function(new_now) if varies else y[0] - 0.5
            X_now = sparse.csr_matrix(sparse.hstack([X_now, y[:, None]]))
            new_now = sparse.csr_matrix(sparse.hstack([new_now, (found[:, label] > 0)[:, None].astype(float)]))
        yield found


def rakel_d(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """Label powersets of hinges, of disjoint sets of three labels."""
    X, new = sparse.csr_matrix(X), sparse.csr_matrix(new)
    for _ in settings:
        order, found = rng.permutation(Y.shape[1]), np.empty((new.shape[0], Y.shape[1]))
        for labels in np.split(order, range(3, len(order), 3)):
            sets, of = np.unique(Y[:, labels], axis=0, return_inverse=True)
            of = of.ravel()
            chosen = machine(rng).fit(X, of).predict(new) if len(sets) > 1 else np.zeros(new.shape[0], dtype=int)
            found[:, labels] = sets[chosen] - 0.5
        yield found


def majority(X: Any, Y: np.ndarray, new: Any, settings: Sequence[Settings], rng: np.random.Generator) -> Scores:
    """The sets and votes of `RAkEL`, of which more than half are asked."""
    for _ in settings:
        model = RAkEL.paper(threshold=0, random_state=int(rng.integers(1 << 30))).fit(X, Y.astype(int))
        sizes = np.ones(Y.shape[1])
        sizes[model.constant_ == 0] = np.asarray(model.labelsets_.sum(axis=0)).ravel()
        yield model.decision_function(new) * sizes - 0.5


CODES = list(product([0.2, 0.4, 0.6, 0.8], PENALTIES[2:]))
PLAINS = {
    "ridge": Plain(ridge, [(alpha,) for alpha in PENALTIES]),
    "CPLST": Plain(cplst, CODES),
    "CSSP": Plain(cssp, [("signs", *codes) for codes in CODES]),
    "CSSP of 0/1": Plain(cssp, [("0/1", *codes) for codes in CODES]),
    "FAiE of 0/1": Plain(
        faie, list(product([0.4, 0.6, 0.8], [1.0, 10.0, 100.0, 1000.0], [0.01, 1.0, 100.0, 1e3, 1e4]))
    ),
    "LLSF": Plain(llsf, list(product([0.01, 0.1, 1.0, 10.0], repeat=2))),
    "CS-omp": Plain(compressed, list(product([1.0, 10.0, 100.0, 1000.0], [1.0, 1.5]))),
    "MNMF": Plain(mnmf, [*((70, beta) for beta in (0.1, 0.3, 0.5, 0.7, 0.9)), (350, 0.1)]),
    "BP-MLL": Plain(bpmll),
    "AdaBoost.MR": Plain(adaboost_mr, [(rounds,) for rounds in (25, 50, 100, 200)]),
    "CC of hinges": Plain(chain),
    "RAkEL-d of hinges": Plain(rakel_d),
    "RAkEL-o, more than half": Plain(majority),
}
