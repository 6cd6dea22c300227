"""How good recommendations are: an evaluation of ratings by lists of items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.evaluation.recommendations import evaluate_recommendations
from cofactor.model.named_splits import splitter_of
from cofactor.tasks.plain import Loaded, Progress, Protocol, Ranked
from cofactor.text import counted

__all__ = ["ranked"]


def ranked(
    models: Mapping[str, Any],
    loaded: Loaded,
    protocol: Protocol,
    listen: Callable[[Progress], None] | None,
    notes: tuple[Text, ...],
) -> Ranked:
    """Return the measures of the lists that models recommend.

    Parameters
    ----------
    models : mapping from str to estimator
        By name, ready to be fitted.
    loaded : Loaded
        Ratings.
    protocol : Protocol
        How to split; its options say at which lengths to measure, and what is liked.
    listen : callable, optional
        Called before each fit.
    notes : tuple of Text
        What the user should know already.
    """
    data, options, name = loaded.data, protocol.options, protocol.name or "per-user"
    splitter_of(name, times=data.timestamps, data=data.name)  # so that errors name the file
    if data.holds_interactions and options["likes"] is not None:
        advice = "leave it out: every item with an interaction is relevant"
        found = options["likes"]
        raise InvalidInputError("there are no ratings", argument="likes", found=found, advice=advice)

    def show(model: str, done: int, total: int) -> None:
        if listen is not None:
            listen(Progress(model, done // (len(models) + 1) + 1, done, total))

    found = evaluate_recommendations(
        models,
        data.X,
        None if data.holds_interactions else data.y,
        name,
        protocol.splits or 1,
        protocol.seed,
        at=options["at"],
        likes=options["likes"],
        auc=options["auc"],
        test_size=protocol.test_size,
        test_users=options["test_users"],
        time=data.timestamps,
        counts=data.y if data.holds_interactions else None,
        **data.features,
        progress=show,
    )
    splits, left_out = found.facts["splits"], found.facts["users_left_out"]
    if left_out:
        notes = (*notes, f"{counted(left_out, 'user', form=',')} of test parts were not in training, and are left out")
    if options["likes"] is None and not data.holds_interactions:
        notes = (
            *notes,
            ("every item with an interaction is relevant; ", Argument("likes"), " counts only what was liked"),
        )
    likes = "" if options["likes"] is None else f", liked from {options['likes']:g}"
    return Ranked(
        title=f"{loaded.name}: {name}, {counted(splits, 'split')}, seed {protocol.seed}{likes}",
        facts={"data": loaded.name, "protocol": name, "seed": protocol.seed, **found.facts},
        summary=found.summary(),
        text=found.text,
        notes=notes,
    )
