"""Names and settings of label models, as shells give them."""

from __future__ import annotations

from typing import Any

from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.labels import MODELS, LabelClustering, LabelModel
from cofactor.labels.decisions import AIMS, AUTO, JOINT, check_decision, no_joint
from cofactor.labels.learners.fitting import SAVABLE
from cofactor.tasks.models import short_names
from cofactor.tasks.plain import Settings

__all__ = ["OTHER_NAMES", "decisions_of", "known_estimator"]

#: What papers call models, in lower case without hyphens.
OTHER_NAMES = {
    "2br": "stacked2br",
    "br": "binary-relevance",
    "bsvm": "binary-relevance",
    "cc": "classifier-chain",
    "clr": "calibrated-label-ranking",
    "cs": "compressed-sensing",
    "ecc": "ensemble-of-chains",
    "knn": "knn-vote",
    "lp": "label-powerset",
    "mldt": "ml-decision-tree",
    "mlsf": "meta-labels",
    "multiclass": "label-powerset",
    "pcc": "probabilistic-chain",
    "rfmldt": "ml-forest",
}


def decisions_of(model: LabelModel, settings: Settings) -> tuple[dict[str, Any], tuple[Text, ...]]:
    """Return the parameters of a label model which say how it decides, and a note where it cannot do so as asked.

    Parameters
    ----------
    model : LabelModel
    settings : Settings
        What was asked for.

    Raises
    ------
    InvalidInputError
        If the model does not decode label sets by itself, but was asked to, and the settings are not lenient.
    """
    found = {"threshold": AUTO, "decide_for": AIMS[0]}
    found |= {name: settings.options[name] for name in found if name in settings.options}
    check_decision(**found)
    if found["threshold"] != JOINT or model.capabilities.label_sets:
        return found, ()
    name = type(model).__name__
    if not settings.lenient:
        raise no_joint(
            name, {k.__name__: short for short, k in short_names(MODELS).items() if k().capabilities.label_sets}
        )
    asked, taken = Argument("threshold", JOINT), Argument("threshold", AUTO)
    return found | {"threshold": AUTO}, ((asked, f" does not concern {name}, which decides as with ", taken),)


def known_estimator(model: LabelModel, name: str) -> Any:
    """Return an estimator that a model may hold, by the name of its class.

    Parameters
    ----------
    model : LabelModel
        One with a parameter ``estimator``.
    name : str
        What a user wrote.
    """
    known = MODELS if isinstance(model, LabelClustering) else SAVABLE
    if name not in known:
        raise InvalidInputError(f"expected one of {', '.join(known)}", argument="estimator", found=name)
    return known[name]()
