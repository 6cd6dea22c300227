"""Checks of the parameters that label models have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.checks import check_callback, check_flag, check_jobs, check_verbose, make_generator
from cofactor.labels.decoding import JOINT, check_aim, check_threshold, no_joint
from cofactor.labels.known import check_missing
from cofactor.labels.scaling import check_scale

__all__ = ["check_common"]


def check_common(model: Any) -> None:
    """Refuse parameters of a `LabelModel` out of their range, of those that all or many models have."""
    if not model._decodes_sets() and isinstance(model.threshold, str) and model.threshold == JOINT:
        able = [kind.__name__ for kind in model._kinds() if kind()._decodes_sets()]
        raise no_joint(type(model).__name__, dict(zip(able, able, strict=True)))
    check_threshold(model.threshold, joint=model._decodes_sets())
    check_scale(model.scale)
    check_aim(model.decide_for)
    check_missing(model.missing)
    check_flag("fit_intercept", getattr(model, "fit_intercept", True))
    check_callback(getattr(model, "callback", None))
    check_verbose(getattr(model, "verbose", 0))
    check_jobs(getattr(model, "n_jobs", None))
    if not isinstance(model.random_state, np.random.RandomState):  # `make_generator` would draw from it
        make_generator(model.random_state)
