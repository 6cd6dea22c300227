"""Collective multi-label classifiers: every pair of labels has weights, which features may change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from cofactor.checks import AUTO, check_number, make_generator, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.base import Capabilities, TrainingData
from cofactor.labels.crf.base import CRF, Field, SetField
from cofactor.labels.crf.gibbs import BATCH, NONE, PERCEPTRON, STOPPINGS, UPDATES, GibbsField
from cofactor.labels.transformation.powersets import check_label_sets, distinct_sets
from cofactor.model.estimator import learned, param
from cofactor.problems.random_fields import FORMS, FOUR_STATES, PairForm

EXACT, SUPPORTED, GIBBS = "exact", "supported", "gibbs"
INFERENCES = (AUTO, EXACT, SUPPORTED, GIBBS)
_MOST_EXACT = 14  #: labels whose sets are all looked at, if that is asked for
_ENUMERATED = 10  #: labels whose sets are all looked at by themselves


class CML(CRF):
    r"""Collective multi-label classifier: a conditional random field with a weight for every pair of labels.

    .. math::

        \max_{W, b, V} \; \sum_i \log P(y_i \mid x_i) - \frac{\alpha}{2} (\|W\|_F^2 + \|V\|_F^2), \qquad
        P(y \mid x) = \frac{e^{s(x, y)}}{\sum_{t \in S} e^{s(x, t)}}, \qquad
        s(x, t) = (x W + b) \, t^\top + \sum_{j < k} v_{jk} \, I(t_j = t_k)

    The maximum is unique. ``threshold="joint"`` predicts the likeliest label set; scores are the log-odds of the
    marginals.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the penalties, above 0: one by the variance σ² of the Gaussian prior. "auto" weighs as much beside the
        logistic loss as the best penalty of ridge regression beside the squared one. `paper` takes 1.
    pairs : {"two-state", "four-state"}, default="two-state"
        One weight for a pair, which counts where both labels are alike (4.5), or one for each of its four states. Both
        give the same probabilities, since b has no penalty; those of `CMLF` differ.
    inference : {"auto", "exact", "supported", "gibbs"}, default="auto"
        Which label sets S are possible: all of at most 14 labels, those of training (4.2), or all, of which Gibbs
        sampling draws some (4.3). "auto" takes all of 10 labels or fewer, else those of training. The next five
        parameters are of "gibbs" alone.
    update : {"expectation", "perceptron"}, default="expectation"
        What a step takes from the features of the true label sets: the mean of label sets that are drawn, so that the
        steps go to the maximum, or the likeliest one of them, which makes no probabilities: `predict_proba` is there
        only where they are calibrated on held-out instances (``threshold="auto"``).
    stopping : {"likelihood", "f1", "none"}, default="likelihood"
        Which loss of a held-out quarter of the instances tells how many epochs to learn from all: the mean of -log P
        among the label sets that are known, or 1 less micro-F1 of marginals above ½. Epochs go on until five of them
        have not lowered it by a thousandth, and those up to the lowest count. "none" makes `max_iter` epochs, and comes
        to the maximum, which held-out instances may not: of a few hundred instances one to three epochs can be best,
        far from it. Take "f1" for the perceptron.
    n_sweeps : int, default=200
        Sweeps of each chain that predicts; a sweep draws each label once.
    burn_in : int, default=20
        First sweeps of each chain that predicts, of which nothing is kept. Chains that train need none: they begin at
        the true labels, and go on from epoch to epoch, one sweep in each.
    n_chains : int, default=4
        Chains of each instance; their label sets are pooled.
    max_iter : int, default=2000
        Largest number of iterations, or of epochs.
    tol : float, default=1e-6
        Converged when the objective falls by less than this share of itself per iteration, over five iterations; not
        of "gibbs".
    set_sizes : "training" or pair of int, optional
        With ``threshold="joint"``, the least and the largest number of labels that a predicted set may have (section
        6.1.1). "training" takes the whole numbers around those of training, one standard deviation below their mean
        to one above. Not with "gibbs". By default sets of any size are predicted.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned, and all that "gibbs" draws.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_ : float
        The penalty that was taken.
    coef_ : ndarray of shape (D, L')
        W, for the L' labels that vary in training.
    intercept_ : ndarray of shape (L',)
        b, which has no penalty: the weights of a constant feature. The source has none, and then the two forms of
        pairs differ.
    pair_coef_ : ndarray of shape (1, q, P)
        V of the P pairs in the order of ``numpy.triu_indices``, with q = 1, or 4 states: 00, 10, 01, 11.
    sets_ : csr_array of shape (S, L')
        The label sets that are possible; with "gibbs" those of training.
    set_sizes_ : ndarray of shape (2,)
        The least and the largest number of the labels that vary, with `set_sizes` alone.
    seed_ : int
        Of the chains that predict, with "gibbs" alone.
    objective_ : float
        Negative log-likelihood and penalties. With "gibbs" the lowest held-out loss, or without one the share of the
        labels of drawn label sets that are wrong.
    history_ : list of float
        Objective at the start and after each iteration; with "gibbs" after each epoch of the part that learns while the
        rest is held out.
    certificate_ : float
        Distance from stationarity: the norm of the gradient, with "gibbs" of the mean of those in the last epoch.
    n_iter_ : int
        Number of iterations, or of epochs that the weights took.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped at `max_iter`.

    Notes
    -----
    All weights share one pass over instances × label sets, by matrix products: a gradient costs
    O(n D L + n S L + S L²), where the source counts each weight by itself (table 4.1).

    With "gibbs", a step for a mini-batch B of twice as many instances as labels, 128 at most, after t instances, is

    .. math:: w \leftarrow w + \eta_t \sum_{i \in B} \Bigl(f(x_i, y_i) - \bar f(x_i) - \frac{\alpha}{n} w\Bigr),
        \qquad \eta_t = \frac{1}{\lambda (t + t_0)}, \quad \lambda = \frac{\alpha}{n}

    with :math:`\bar f` as `update` says. λ t₀ is the trace of the Hessian of the likelihood of an instance, its labels
    taken as independent, so no step is too long. All labels of all chains of a mini-batch are drawn side by side, label
    by label: an epoch costs O(n D L + n L²). The weights are the mean of all steps, a later one weighing more; the
    source takes the last ones, which are further from the maximum. The likeliest label set is the best one drawn,
    bettered as long as a change of one label does. Weights of instances must be whole numbers.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, sections 4.1.1, 4.2 and 4.3.
    N. Ghamrawi & A. McCallum, "Collective multi-label classification", CIKM 2005, doi:10.1145/1099554.1099591.
    T. Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML 2008,
    for chains that go on.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> CML.paper().fit(X, y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    >>> model = CML.paper(inference="gibbs", stopping="none", max_iter=20, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    pairs: str = param(one_of(FORMS), default="two-state")
    inference: str = param(one_of(INFERENCES), default="auto")
    update: str = param(one_of(UPDATES), default="expectation")
    stopping: str = param(one_of(STOPPINGS), default="likelihood")
    n_sweeps: int = param(whole(), default=200)
    burn_in: int = param(whole(0), default=20)
    n_chains: int = param(whole(), default=4)

    sets_: sparse.csr_array = learned("sets labels", dtype=None)
    seed_: int = learned(check=whole(0), optional=True)

    _with_features: ClassVar[bool] = False  # whether a pair has a weight for each feature, beside a constant one

    def _capabilities(self) -> Capabilities:
        if self.inference != GIBBS:
            return super()._capabilities()
        # A perceptron does not look for the most likely weights, whose marginals are probabilities.
        return replace(super()._capabilities(), weights="whole", probabilities=self.update != PERCEPTRON)

    def _check_together(self) -> None:
        super()._check_together()
        if self.n_sweeps <= self.burn_in:
            raise InvalidInputError(
                ("nothing of a chain is kept unless it has more sweeps than ", Argument("burn_in", self.burn_in)),
                argument="n_sweeps",
                found=self.n_sweeps,
            )
        if self.inference == GIBBS and self.set_sizes is not None:
            raise InvalidInputError(
                ("sets are drawn one label at a time with ", Argument("inference", GIBBS)),
                argument="set_sizes",
                found=self.set_sizes,
                advice="leave it out, or take 'supported'",
            )

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        if self.inference == EXACT and L > _MOST_EXACT:
            raise InvalidInputError(
                f"{L} labels have 2**{L} label sets, and all are looked at of {_MOST_EXACT} labels at most",
                argument="inference",
                found=self.inference,
                advice="take 'supported' or 'gibbs'",
            )
        n_pairs = (4 if self.pairs == FOUR_STATES else 1) * L * (L - 1) // 2
        if self.inference == GIBBS:
            m = min(n, 2 * L, BATCH)
            n_weights = (D + 1 if self._with_features else 1) * n_pairs + D * L
            return 8 * (10 * n_weights + n * L + m * L * (4 * self.n_chains + L * self._with_features))
        n_sets = 1 << L if self._exact(L) else len(distinct_sets(data.labels)[0])
        n_numbers = 25 * n_pairs + n_sets * L + min(n * n_sets, 1 << 23)
        if self._with_features:  # in the coordinates of a `PairBasis`
            rank = min(n_sets, n_pairs)
            n_numbers += 25 * D * rank + (D + n_sets + rank) * n_pairs
        return 8 * n_numbers

    def _exact(self, n_labels: int) -> bool:
        """Return whether all label sets are looked at."""
        return self.inference == EXACT or (self.inference == AUTO and n_labels <= _ENUMERATED)

    def _choose(self, data: TrainingData) -> None:
        rows, _ = distinct_sets(data.labels)
        self.sets_ = sparse.csr_array(data.labels[rows])
        L = data.labels.shape[1]
        if self._exact(L):
            self.sets_ = sparse.csr_array((np.arange(1 << L)[:, None] >> np.arange(L)) & 1)
        if self.inference == GIBBS:
            self.seed_ = int(make_generator(self.random_state).integers(1 << 31))

    def _resolved_params(self) -> dict[str, Any]:
        gibbs = {"stopping": NONE, "max_iter": self.n_iter_} if self.inference == GIBBS else {}
        return {**super()._resolved_params(), **gibbs}

    def _field(self) -> Field:
        field = SetField(self.sets_, PairForm.of_all(self.pairs, self.sets_.shape[1]), self._with_features)
        if self.inference != GIBBS:
            return field
        of_chains = self.n_sweeps, self.burn_in, self.n_chains, self.seed_
        return GibbsField(field, *of_chains, self.update, self.stopping)

    def _check_field(self) -> None:
        if not is_sparse(getattr(self, "sets_", None)):
            raise InvalidInputError("expected label sets")
        check_label_sets(self.sets_)
        if self.inference == GIBBS:
            check_number("seed", getattr(self, "seed_", None), low=0, whole=True)


class CMLF(CML):
    r"""Collective multi-label classifier with features: a pair of labels has a weight for each feature.

    .. math:: s(x, t) = (x W + b) \, t^\top + \sum_{j < k} (x v_{jk} + v^0_{jk}) \, I(t_j = t_k)

    with P and its maximum as in `CML`: whether two labels go together may depend on the features. A model has
    (D + 1) L (L - 1) / 2 weights of pairs, or four times as many.

    Parameters
    ----------
    alpha, pairs, inference, update, stopping, n_sweeps, burn_in, n_chains, max_iter, tol, set_sizes
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned, and all that "gibbs" draws.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_, coef_, intercept_, sets_, set_sizes_, seed_, objective_, history_, certificate_, n_iter_
        See `CML`.
    pair_coef_ : ndarray of shape (D + 1, q, P)
        Weights of pairs for each feature, then those for none.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    Label sets depend on combinations of the weights of pairs alone, at most S of them, which are fitted: a gradient
    costs O(n D L + n S (D + L) + D S² + S L²), an epoch of "gibbs" O(n D L²), by matrix products.

    Features may be far from 0, but not with "gibbs", which warns of them: the penalty is that of the weights above, and
    the solver sees centred features. The gradient grows with the distance, however near the maximum is.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, sections 4.1.2 and 4.3.
    N. Ghamrawi & A. McCallum, "Collective multi-label classification", CIKM 2005, doi:10.1145/1099554.1099591.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [1.0]], 4, axis=0)
    >>> y = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 0]])  # alike if x is 0, else not
    >>> sets = CMLF.paper(0.01, threshold="joint").fit(X, y).predict([[0.0], [1.0]])
    >>> sets[:, 0] == sets[:, 1]
    array([ True, False])
    """

    _with_features: ClassVar[bool] = True
