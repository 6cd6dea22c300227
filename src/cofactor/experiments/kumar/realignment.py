"""The subsets of rcv1, whose published files have shifted labels in half of their rows: docs/corrections.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cofactor.evaluation.store import Result
from cofactor.experiments.base.beside import Reason, samples
from cofactor.experiments.base.experiment import Claim
from cofactor.published import METRICS

__all__ = ["REALIGNED", "REALIGNMENT", "alignments", "realignment"]

REALIGNED = "realigned labels"
"""Variant of the cells whose labels of rcv1 are where they belong."""

REALIGNMENT = Reason(
    "all labels stand in their columns; as published half do not", variant=f"*{REALIGNED}*", verdict="better"
)
"""Why their numbers are not those printed."""


def alignments(data: str) -> list[dict[str, Any]]:
    """Return the parameters of cells for the labels of a data set: of rcv1 as published and realigned, else none.

    Examples
    --------
    >>> [way.get("aligned") for way in alignments("rcv1-sample1")], alignments("medical")
    (['published', 'realigned'], [{}])
    """
    if not data.startswith("rcv1"):
        return [{}]
    return [{"aligned": "published"}, {"aligned": "realigned", "variant": REALIGNED}]


def realignment(results: Sequence[Result], metric: str) -> list[Claim]:
    """Return the claim that methods do better on rcv1 once its labels are where they belong."""
    pairs = {
        (data, method): (found[""].mean, found[REALIGNED].mean)
        for (data, _, method, _), found in samples(results, [metric]).items()
        if REALIGNED in found and "" in found
    }
    measured = "; ".join(f"{data}, {method}: {a:.3f} → {b:.3f}" for (data, method), (a, b) in pairs.items())
    better = all(b > a if METRICS[metric].better == "higher" else b < a for a, b in pairs.values())
    title = METRICS[metric].title
    statement = f"{title} on rcv1 is better for every method once the labels of all rows stand in their columns."
    return [Claim(statement, better if pairs else None, measured or "rcv1 was not run", origin="ours")]
