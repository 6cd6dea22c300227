"""BP-MLL: a network with one hidden layer, trained to rank the labels of an instance above the others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cofactor.checks import AUTO, make_generator, number, resolve_size, size, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.backprop import ranking_epoch
from cofactor.labels.adaptation.boosting import cut_regression
from cofactor.labels.base import CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.training_data import ENOUGH
from cofactor.metrics.ranking import ranking_loss
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor

#: Values of `decay` among which "auto" chooses.
_DECAYS = (0.2, 0.05, 0.01)


class BPMLL(LabelModel):
    r"""Backpropagation for multi-label learning (Zhang & Zhou 2006).

    .. math:: \min_{W, b, V, c} \sum_i \frac{1}{|y_i| |\bar y_i|} \sum_{l \in y_i} \sum_{m \notin y_i}
        \exp\bigl(o_{im} - o_{il}\bigr), \qquad o_i = \tanh\bigl(V^T \tanh(W^T x_i + b) + c\bigr),

    by steps for one instance after the other, in another random order in each epoch; a step also takes the share
    ``decay / N`` of all weights. Then cuts are learned: of each training instance the one with the fewest wrong labels,
    among the midpoints of its sorted outputs, 0.1 below the lowest and 0.1 above the highest one, the lowest if there
    are several; and their regression :math:`t(o)` on the outputs by least squares. Scores are :math:`o_l - t(o)`, so a
    label is on if its output lies above the cut.

    Parameters
    ----------
    n_hidden : int or float, default=0.2
        Number of hidden units, or its share of the number of features, in (0, 1].
    learning_rate : float, default=0.05
        What steps multiply the gradient by, above 0.
    decay : float or "auto", default="auto"
        Share of the weights that is lost in an epoch, roughly; at least 0. "auto" takes that one of 0.2, 0.05 and 0.01
        with the least ranking loss on a quarter of the instances, held out. The authors' program has 0.2, which is much
        for rows of length 1.
    max_iter : int, default=100
        Number of epochs.
    {scale}
    {threshold}
    {decide_for}
    {random_state}
        It draws the weights at the start, the order of the instances, and those that are held out.
    {callback}
        A step is an epoch, its objective the mean error of the instances in it.
    {verbose}

    Attributes
    ----------
    hidden_coef_ : ndarray of shape (D, H)
        W, of H hidden units.
    hidden_intercept_ : ndarray of shape (H,)
        b.
    coef_ : ndarray of shape (H, L')
        V, of the L' labels that vary in training; of a single one two columns.
    intercept_ : ndarray of shape (L',)
        c.
    cut_coef_ : ndarray of shape (L' + 1,)
        The regression of the cut on the outputs, its intercept last.
    decay_ : float
        The decay.
    n_iter_ : int
        Number of epochs.
    history_ : list of float
        Mean error of the instances in each epoch, each before its step.

    Notes
    -----
    Instances with all labels or none teach the cut alone. A single label that varies is ranked with its absence, which
    has an output of its own then. The start is uniform within ±1/√(number of inputs); the paper leaves it open, as it
    does the order of the instances. Steps have single precision, which changes no measure on emotions and medical in
    the third digit; those for one instance cannot be shared among threads. Weights of instances must be whole numbers:
    an instance is repeated as often.

    References
    ----------
    M.-L. Zhang & Z.-H. Zhou, "Multilabel neural networks with applications to functional genomics and text
    categorization", IEEE Transactions on Knowledge and Data Engineering 18, 2006, doi:10.1109/TKDE.2006.162.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> Y = np.hstack([X > 0.1, X < 0.1])
    >>> BPMLL.paper(3, random_state=0).fit(X, Y).predict([[-1.0], [1.0]])
    array([[False,  True],
           [ True, False]])
    """

    n_hidden: int | float = param(size(), default=0.2, kw_only=False)
    learning_rate: float = param(number(low=0, inclusive=False), default=0.05)
    decay: float | str = param(number(low=0, also=[AUTO]), default="auto", grid=list(_DECAYS))
    max_iter: int = param(whole(), default=100)

    hidden_coef_: NDArray[np.float64] = learned("features hidden")
    hidden_intercept_: NDArray[np.float64] = learned("hidden")
    coef_: NDArray[np.float64] = learned("hidden outputs")
    intercept_: NDArray[np.float64] = learned("outputs")
    cut_coef_: NDArray[np.float64] = learned("cut")
    decay_: float = learned(check=number(low=0))
    n_iter_: int = learned()
    history_: list[float] = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"decay": 0.2}

    def _n_hidden(self, n_features: int) -> int:
        """Return the number of hidden units."""
        return max(1, int(resolve_size(self.n_hidden, n_features)))

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 12 * self._n_hidden(D) * (D + L) + 24 * n * L + 16 * int(data.features.size)

    def _fit(self, data: TrainingData) -> None:
        X, Y = data.features, _at_least_two(data.labels)
        generator = make_generator(self.random_state)
        self.decay_ = self._chosen_decay(data) if isinstance(self.decay, str) else float(self.decay)
        net, self.history_ = self._trained(X, Y, self.decay_, generator, data.monitor)
        self.n_iter_ = len(self.history_)
        if not all(np.isfinite(part).all() for part in (net.W, net.b, net.V, net.c)):
            raise InvalidInputError(
                ("the weights of the network overflowed with ", Argument("learning_rate", self.learning_rate)),
                argument="decay",
                found=self.decay_,
                advice="lower both",
            )
        self._warn_if_diverged()
        self.hidden_coef_, self.hidden_intercept_, self.coef_, self.intercept_ = net.W, net.b, net.V, net.c
        outputs = net.outputs(X)
        self.cut_coef_ = cut_regression(outputs, Y.toarray() > 0)

    def _warn_if_diverged(self) -> None:
        """Warn if the error is above 1, which it is where all outputs are alike, and falls no more."""
        before, last = self.history_[-2:] if self.n_iter_ > 1 else (np.inf, self.history_[-1])
        if not (last < 1.01 or last < 0.9999 * before):
            warnings.warn(
                f"BPMLL learned nothing: the mean error of its last epoch is {last:.3g}, that of outputs which are all "
                f"alike 1; lower learning_rate, now {self.learning_rate:g}, or decay, now {self.decay_:g}",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )

    def _trained(
        self,
        X: CheckedFeatures,
        Y: sparse.csr_array,
        decay: float,
        generator: np.random.Generator,
        monitor: Monitor,
    ) -> tuple[Network, list[float]]:
        """Return the network after all epochs, or as many as `note` wants, and the mean error in each."""
        table: Any = sparse.csr_array(X).astype(np.float32)
        n, D = table.shape
        net = Network.drawn(D, self._n_hidden(D), Y.shape[1], generator).of(np.float32)
        sets = (*(part.astype(np.int64) for part in (table.indptr, table.indices)), table.data)
        labels = (Y.indptr.astype(np.int64), Y.indices.astype(np.int64))
        share = min(decay / n, 1.0)
        history: list[float] = []
        for done in range(1, self.max_iter + 1):
            order = generator.permutation(n)
            error = ranking_epoch(order, *sets, *labels, net.W, net.b, net.V, net.c, float(self.learning_rate), share)
            history.append(float(error) / n)
            if monitor.note("epochs", done, self.max_iter, history[-1]):
                break
        return net.of(np.float64), history

    def _chosen_decay(self, data: TrainingData) -> float:
        """Return the decay with the least ranking loss on a quarter of the instances, which is held out."""
        n = data.n_instances
        if n < ENOUGH:
            return _DECAYS[0]
        generator = make_generator(0 if self.random_state is None else self.random_state)
        train, test = data.without_quarter(generator)
        truth = _at_least_two(data.labels)[test].toarray() > 0
        losses = []
        for decay in _DECAYS:
            inner = data.monitor.inside(f"decay {decay:g}")
            net, _ = self._trained(train.features, _at_least_two(train.labels), decay, generator, inner)
            losses.append(float(ranking_loss(truth, net.outputs(data.features[test]))))
        return _DECAYS[int(np.argmin(losses))]

    def _resolved_params(self) -> dict[str, Any]:
        return {"decay": self.decay_}

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        outputs = Network(self.hidden_coef_, self.hidden_intercept_, self.coef_, self.intercept_).outputs(X)
        return np.asarray(outputs[:, : self._n_varying] - (outputs @ self.cut_coef_[:-1] + self.cut_coef_[-1])[:, None])

    def _check_learned(self) -> None:
        super()._check_learned()
        n_outputs = max(2, self._n_varying)
        if (len(self.intercept_), len(self.cut_coef_)) != (n_outputs, n_outputs + 1):
            raise InvalidInputError(f"{len(self.intercept_)} outputs and {len(self.cut_coef_)} numbers of the cut")


@dataclass
class Network:
    """A network with one hidden layer."""

    W: NDArray[Any]
    b: NDArray[Any]
    V: NDArray[Any]
    c: NDArray[Any]

    @classmethod
    def drawn(cls, n_features: int, n_hidden: int, n_labels: int, generator: np.random.Generator) -> Network:
        """Return one whose weights are uniform within ±1/√(number of inputs)."""
        first, second = n_features**-0.5, n_hidden**-0.5
        return cls(
            generator.uniform(-first, first, (n_features, n_hidden)),
            generator.uniform(-first, first, n_hidden),
            generator.uniform(-second, second, (n_hidden, n_labels)),
            generator.uniform(-second, second, n_labels),
        )

    def of(self, precision: type) -> Network:
        """Return a copy whose weights have this precision."""
        return Network(*(weights.astype(precision) for weights in (self.W, self.b, self.V, self.c)))

    def outputs(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the outputs of instances, shape (n, L), from -1 to 1."""
        hidden = np.tanh(np.asarray(X @ self.W) + self.b)
        return np.asarray(np.tanh(hidden @ self.V + self.c))


def _at_least_two(Y: sparse.csr_array) -> sparse.csr_array:
    """Return labels, of a single one with its absence as the second one."""
    return Y if Y.shape[1] > 1 else sparse.csr_array(np.hstack([Y.toarray(), 1 - Y.toarray()]))
