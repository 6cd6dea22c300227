"""What there is to say of a fitted model of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.model.facts import Facts

__all__ = ["label_facts"]

#: What the facts of a model say of decisions by probabilities, beside the cut.
_DECIDES = {
    "micro": "by a cut of probabilities, for micro-F1",
    "macro": "by cuts of probabilities, for macro-F1",
    "example": "by sets of the largest expected F1, with at least so many labels",
    "hamming": "by a cut of probabilities, for Hamming loss",
    "subset": "by likely sets, with at least so many labels",
    "joint": "about whole label sets, by its own rule",
}


def label_facts(model: Any) -> Facts:
    """Return sizes and threshold of a fitted model.

    Parameters
    ----------
    model : LabelModel
        Fitted.
    """
    values = {
        "model": type(model).__name__,
        "features": int(model.n_features_in_),
        "labels": len(model.label_names_),
        "constant_labels": [str(name) for name in model.label_names_[model.constant_ != 0]],
        "threshold": model.threshold_,
    }
    constant = values["constant_labels"]
    shown = {
        "features": f"{values['features']:,}",
        "labels": f"{values['labels']:,}",
        "constant labels": ", ".join(constant[:5]) + (f", ... ({len(constant)})" if len(constant) > 5 else ""),
        "threshold": _cuts_shown(model.threshold_),
        "decides": _DECIDES.get(model.decision_.name, ""),
    }
    return Facts(values["model"], values, {name: text for name, text in shown.items() if text})


def _cuts_shown(threshold: Any) -> str:
    """Return the cut of a model, or the range of its cuts; nothing where it has none."""
    if threshold is None:
        return ""
    cuts = np.atleast_1d(threshold)
    return f"{cuts[0]:.3g}" if len(cuts) == 1 else f"{cuts.min():.3g} to {cuts.max():.3g}, one a label"
