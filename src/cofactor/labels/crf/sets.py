"""Label sets that a conditional random field looks at: all, or those of training."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import SetField
from cofactor.labels.features import is_sparse
from cofactor.labels.transformation.label_powerset import check_label_sets, distinct_sets
from cofactor.model.checks import check_choice
from cofactor.problems.pairs import FORMS, FOUR_STATES, PairForm

AUTO = "auto"
INFERENCES = (AUTO, "exact", "supported")
_MOST_EXACT = 14  #: labels whose sets are all looked at, if that is asked for
_FEW = 10  #: labels whose sets are all looked at by themselves


class OfSets:
    """Label sets of which one is predicted: a part of `CML` and `CMLF`."""

    _with_features: ClassVar[bool] = False

    pairs: str
    inference: str
    sets_: sparse.csr_array

    def _check_params(self) -> None:
        super()._check_params()  # type: ignore[misc]
        check_choice("pairs", self.pairs, FORMS)
        check_choice("inference", self.inference, INFERENCES)

    def _fit_bytes(self, data: FitInput) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        if self.inference == "exact" and L > _MOST_EXACT:
            raise InvalidInputError(
                f"{L} labels have 2**{L} label sets, and all are looked at of {_MOST_EXACT} labels at most",
                argument="inference",
                found=self.inference,
                advice="take 'supported'",
            )
        n_pairs = (4 if self.pairs == FOUR_STATES else 1) * L * (L - 1) // 2
        n_sets = 1 << L if self._exact(L) else len(distinct_sets(data.labels)[0])
        n_numbers = 25 * n_pairs + n_sets * L + min(n * n_sets, 1 << 23)
        if self._with_features:  # in the coordinates of a `PairBasis`
            rank = min(n_sets, n_pairs)
            n_numbers += 25 * D * rank + (D + n_sets + rank) * n_pairs
        return 8 * n_numbers

    def _exact(self, n_labels: int) -> bool:
        """Return whether all label sets are looked at."""
        return self.inference == "exact" or (self.inference == AUTO and n_labels <= _FEW)

    def _choose(self, data: FitInput) -> None:
        rows, _ = distinct_sets(data.labels)
        self.sets_ = sparse.csr_array(data.labels[rows])
        L = data.labels.shape[1]
        if self._exact(L):
            self.sets_ = sparse.csr_array((np.arange(1 << L)[:, None] >> np.arange(L)) & 1)

    def _field(self) -> SetField:
        return SetField(self.sets_, PairForm.of_all(self.pairs, self.sets_.shape[1]), self._with_features)

    def _check_field(self) -> None:
        if not is_sparse(getattr(self, "sets_", None)):
            raise InvalidInputError("expected label sets")
        check_label_sets(self.sets_)
