"""Label sets that a conditional random field looks at: all, those of training, or those that it draws."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import Field, SetField
from cofactor.labels.crf.gibbs import NONE, STOPPINGS, GibbsField
from cofactor.labels.crf.stochastic import BATCH, UPDATES
from cofactor.labels.features import is_sparse
from cofactor.labels.transformation.label_powerset import check_label_sets, distinct_sets
from cofactor.model.checks import check_choice, check_number, make_generator
from cofactor.problems.pairs import FORMS, FOUR_STATES, PairForm
from cofactor.typing import RandomState

AUTO = "auto"
EXACT, SUPPORTED, GIBBS = "exact", "supported", "gibbs"
INFERENCES = (AUTO, EXACT, SUPPORTED, GIBBS)
_MOST_EXACT = 14  #: labels whose sets are all looked at, if that is asked for
_FEW = 10  #: labels whose sets are all looked at by themselves


class OfSets:
    """Label sets of which one is predicted: a part of `CML` and `CMLF`."""

    _with_features: ClassVar[bool] = False

    pairs: str
    inference: str
    update: str
    stopping: str
    n_sweeps: int
    burn_in: int
    n_chains: int
    sets_: sparse.csr_array
    seed_: int
    n_iter_: int
    random_state: RandomState

    @property
    def takes_weights(self) -> str:
        """Which weights the model takes: "any", or "whole" numbers with Gibbs sampling."""
        return "whole" if self.inference == GIBBS else "any"

    def _check_params(self) -> None:
        super()._check_params()  # type: ignore[misc]
        check_choice("pairs", self.pairs, FORMS)
        check_choice("inference", self.inference, INFERENCES)
        check_choice("update", self.update, UPDATES)
        check_choice("stopping", self.stopping, STOPPINGS)
        check_number("burn_in", self.burn_in, low=0, whole=True)
        check_number("n_sweeps", self.n_sweeps, low=1, whole=True)
        check_number("n_chains", self.n_chains, low=1, whole=True)
        if self.n_sweeps <= self.burn_in:
            raise InvalidInputError(
                ("nothing of a chain is kept unless it has more sweeps than ", Argument("burn_in", self.burn_in)),
                argument="n_sweeps",
                found=self.n_sweeps,
            )

    def _fit_bytes(self, data: FitInput) -> int:
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
        return self.inference == EXACT or (self.inference == AUTO and n_labels <= _FEW)

    def _choose(self, data: FitInput) -> None:
        rows, _ = distinct_sets(data.labels)
        self.sets_ = sparse.csr_array(data.labels[rows])
        L = data.labels.shape[1]
        if self._exact(L):
            self.sets_ = sparse.csr_array((np.arange(1 << L)[:, None] >> np.arange(L)) & 1)
        if self.inference == GIBBS:
            self.seed_ = int(make_generator(self.random_state).integers(1 << 31))

    def _settled(self) -> dict[str, Any]:
        settled: dict[str, Any] = super()._settled()  # type: ignore[misc]
        return {**settled, "stopping": NONE, "max_iter": self.n_iter_} if self.inference == GIBBS else settled

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
