"""What users should know of how a file of ratings, or of interactions, was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cofactor.datasets import RatingDataset
from cofactor.errors import Argument, Text
from cofactor.ratings import Ratings
from cofactor.text import counted

__all__ = ["interaction_notes", "scale_notes"]


def interaction_notes(data: RatingDataset, ready: Ratings, why: str, duplicates: str = "error") -> tuple[Text, ...]:
    """Return what to know of a file that is read as interactions: why, if nobody said so, and what became of its rows.

    Parameters
    ----------
    data : InteractionDataset
    ready : Ratings
        As `checked_interactions` returns it.
    why : str
        As `read_rating_file` returns it.
    duplicates : {"error", "last", "mean"}
        What was to become of several ratings of one pair.
    """
    notes: list[Text] = []
    if why:
        counts = "none of ratings" in why
        otherwise = ("; as ratings with ", Argument("bins", 5), ", which makes levels of counts") if counts else ()
        notes.append((f"read as what users interacted with, since {why}", *otherwise))
    if ready.kind_weights:
        kinds = ", ".join(f"{kind} {weight:g}" for kind, weight in ready.kind_weights.items())
        notes.append(f"lists are about what comes to a {next(iter(ready.kind_weights))}; events count so: {kinds}")
    if data.n_dropped:
        notes.append(f"{counted(data.n_dropped, 'rating', form=',')} of items rated before: each item counts once")
    zeros = int((data.y == 0).sum())
    if zeros:
        notes.append(f"left out, since there was no interaction: {counted(zeros, 'row', form=',')} with count 0")
    repeats = data.n_ratings - zeros - ready.n_ratings
    if repeats:
        notes.append(
            f"{counted(repeats, 'interaction', form=',')} of a pair that occurred before: counts of a pair add up"
        )
    if duplicates != "error":
        notes.append((Argument("duplicates", duplicates), " is for ratings: counts of interactions add up"))
    return tuple(notes)


def scale_notes(data: RatingDataset, options: Mapping[str, Any]) -> tuple[Text, ...]:
    """Return what to know of ratings left out, and of levels which are bins: meaning, share, and how they were chosen.

    Parameters
    ----------
    data : RatingDataset
        Read with these options.
    options : mapping from str to object
        bins and bin_by.
    """
    notes: tuple[Text, ...] = ()
    if data.n_dropped:
        notes = ((f"{data.n_dropped:,} ratings are left out, as ", Argument("drop_rating"), " says"),)
    if data.coding is None or options["bins"] is None:
        return notes
    shares = data.level_counts() / data.n_ratings
    parts = zip(data.coding.scale, data.coding.names(), shares, strict=True)
    levels = ", ".join(f"{level:g} for {name} ({share * 100:.1f} %)" for level, name, share in parts)
    notes += (f"levels of the ratings: {levels}",)
    if isinstance(options["bins"], int) and options["bin_by"] == "auto" and not _equal_width(data.coding.edges):
        why = "bins of equal width would put more than three quarters of the ratings into one level; these hold"
        notes += ((why, " as many each as can be (for equal width: ", Argument("bin_by", "width"), ")"),)
    return notes


def _equal_width(edges: Sequence[float]) -> bool:
    return np.allclose(edges, np.linspace(edges[0], edges[-1], len(edges)))
