"""From scores to label sets: by a cut, by probabilities, by the number of labels, or by the model itself.

A model holds its decoder as `decision_`. `Cut` and `TopK` use scores alone; `ProbabilityCut`, `BestSets` and
`LikelySets` use calibrated probabilities (`cofactor.labels.calibration`). Their numbers are given, or learned from
scores of instances that the model did not learn from (`learn_threshold`, `learn_decoder`). `Joint` leaves the decoding
to the model, which then predicts label sets as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.labels.decoding.cuts import (
        AIMS,
        AUTO,
        FAR,
        JOINT,
        RULES,
        Cut,
        Decoder,
        Joint,
        TopK,
        check_decision,
        check_threshold,
        first_decoder,
        learn_threshold,
        micro_f1_curve,
        no_joint,
    )
    from cofactor.labels.decoding.expected_f1 import f1_sets, f1_sets_of_draws
    from cofactor.labels.decoding.probable import (
        BestSets,
        LikelySets,
        ProbabilityCut,
        check_aim,
        decoder_of,
        expected_decoder,
        learn_decoder,
    )

__all__ = [
    "AIMS",
    "AUTO",
    "FAR",
    "JOINT",
    "RULES",
    "BestSets",
    "Cut",
    "Decoder",
    "Joint",
    "LikelySets",
    "ProbabilityCut",
    "TopK",
    "check_aim",
    "check_decision",
    "check_threshold",
    "decoder_of",
    "expected_decoder",
    "f1_sets",
    "f1_sets_of_draws",
    "first_decoder",
    "learn_decoder",
    "learn_threshold",
    "micro_f1_curve",
    "no_joint",
]

__getattr__, __dir__ = exports(__name__)
