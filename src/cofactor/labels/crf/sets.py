"""Label sets that a conditional random field looks at: all, those of training, or those that it draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_choice, check_number, make_generator
from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import Field, SetField
from cofactor.labels.crf.gibbs import NONE, STOPPINGS, GibbsField
from cofactor.labels.crf.pairs import strongest_edges
from cofactor.labels.crf.stochastic import BATCH, PERCEPTRON, UPDATES
from cofactor.labels.features import is_sparse
from cofactor.labels.transformation.label_powerset import check_label_sets, distinct_sets
from cofactor.problems.pairs import FORMS, FOUR_STATES, PairForm

AUTO = "auto"
EXACT, SUPPORTED, GIBBS = "exact", "supported", "gibbs"
INFERENCES = (AUTO, EXACT, SUPPORTED, GIBBS)
_MOST_EXACT = 14  #: labels whose sets are all looked at, if that is asked for
_FEW = 10  #: labels whose sets are all looked at by themselves


@dataclass(frozen=True)
class LabelSets:
    """The `Structure` of `CML` and `CMLF`: label sets of which one is predicted.

    Parameters
    ----------
    with_features : bool
        Whether a pair has a weight for each feature, beside a constant one.
    """

    with_features: bool

    def takes_weights(self, model: Any) -> str:
        """Return "any", or "whole" with Gibbs sampling."""
        return "whole" if model.inference == GIBBS else "any"

    def has_probabilities(self, model: Any) -> bool:
        """Return whether the marginals are those of the most likely weights; a perceptron does not look for these."""
        return not (model.inference == GIBBS and model.update == PERCEPTRON)

    def check_params(self, model: Any) -> None:
        """Refuse parameters out of their range."""
        check_choice("pairs", model.pairs, FORMS)
        check_choice("inference", model.inference, INFERENCES)
        check_choice("update", model.update, UPDATES)
        check_choice("stopping", model.stopping, STOPPINGS)
        check_number("burn_in", model.burn_in, low=0, whole=True)
        check_number("n_sweeps", model.n_sweeps, low=1, whole=True)
        check_number("n_chains", model.n_chains, low=1, whole=True)
        if model.n_sweeps <= model.burn_in:
            raise InvalidInputError(
                ("nothing of a chain is kept unless it has more sweeps than ", Argument("burn_in", model.burn_in)),
                argument="n_sweeps",
                found=model.n_sweeps,
            )

    def fit_bytes(self, model: Any, data: FitInput) -> int:
        """Return how many bytes a fit takes at least."""
        (n, D), L = data.features.shape, data.labels.shape[1]
        if model.inference == EXACT and L > _MOST_EXACT:
            raise InvalidInputError(
                f"{L} labels have 2**{L} label sets, and all are looked at of {_MOST_EXACT} labels at most",
                argument="inference",
                found=model.inference,
                advice="take 'supported' or 'gibbs'",
            )
        n_pairs = (4 if model.pairs == FOUR_STATES else 1) * L * (L - 1) // 2
        if model.inference == GIBBS:
            m = min(n, 2 * L, BATCH)
            n_weights = (D + 1 if self.with_features else 1) * n_pairs + D * L
            return 8 * (10 * n_weights + n * L + m * L * (4 * model.n_chains + L * self.with_features))
        n_sets = 1 << L if self._exact(model, L) else len(distinct_sets(data.labels)[0])
        n_numbers = 25 * n_pairs + n_sets * L + min(n * n_sets, 1 << 23)
        if self.with_features:  # in the coordinates of a `PairBasis`
            rank = min(n_sets, n_pairs)
            n_numbers += 25 * D * rank + (D + n_sets + rank) * n_pairs
        return 8 * n_numbers

    def _exact(self, model: Any, n_labels: int) -> bool:
        """Return whether all label sets are looked at."""
        return model.inference == EXACT or (model.inference == AUTO and n_labels <= _FEW)

    def choose(self, model: Any, data: FitInput) -> None:
        """Choose the label sets, and the seed of chains."""
        rows, _ = distinct_sets(data.labels)
        model.sets_ = sparse.csr_array(data.labels[rows])
        L = data.labels.shape[1]
        if self._exact(model, L):
            model.sets_ = sparse.csr_array((np.arange(1 << L)[:, None] >> np.arange(L)) & 1)
        if model.inference == GIBBS:
            model.seed_ = int(make_generator(model.random_state).integers(1 << 31))

    def settled(self, model: Any) -> dict[str, Any]:
        """Return parameters with which a part of the data is fitted."""
        return {"stopping": NONE, "max_iter": model.n_iter_} if model.inference == GIBBS else {}

    def field(self, model: Any) -> Field:
        """Return the field of a fitted model."""
        field = SetField(model.sets_, PairForm.of_all(model.pairs, model.sets_.shape[1]), self.with_features)
        if model.inference != GIBBS:
            return field
        of_chains = model.n_sweeps, model.burn_in, model.n_chains, model.seed_
        return GibbsField(field, *of_chains, model.update, model.stopping)

    def edges(self, model: Any) -> NDArray[np.int64]:
        """Return the edges of the tree of the weightiest pairs."""
        return strongest_edges(model._pair_table())

    def check(self, model: Any) -> None:
        """Refuse attributes of a file of which no field can be made."""
        if not is_sparse(getattr(model, "sets_", None)):
            raise InvalidInputError("expected label sets")
        check_label_sets(model.sets_)
        if model.inference == GIBBS:
            check_number("seed", getattr(model, "seed_", None), low=0, whole=True)
