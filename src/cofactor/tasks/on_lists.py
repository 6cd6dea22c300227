"""Which models a task takes where none is named, and whether their lists are measured, not their predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cofactor.tasks.plain import Loaded, Settings

__all__ = ["OnLists"]


class OnLists:
    """What most tasks leave as it is here; that of ratings does not."""

    default_model: ClassVar[str]
    compared_models: ClassVar[tuple[str, ...]] = ()

    def default_models(self, settings: Settings, *, compared: bool = False, ranked: bool = False) -> tuple[str, ...]:
        """Return the names of the models where none is asked for.

        Parameters
        ----------
        settings : Settings
            What models are to have.
        compared : bool, default=False
            For a comparison.
        ranked : bool, default=False
            Where lists of recommendations are measured.
        """
        return self.compared_models if compared else (self.default_model,)

    def suited(self, models: Mapping[str, Any], sets: Sequence[Loaded]) -> dict[str, Any]:
        """Return models for a comparison on some data, as these need them.

        Parameters
        ----------
        models : mapping from str to estimator
            As `contestants` returns them.
        sets : sequence of Loaded
            What `read` returned.
        """
        return dict(models)

    def ranks(self, loaded: Loaded, options: Mapping[str, Any]) -> bool:
        """Return whether lists of recommendations are measured, of such data with such options, and no predictions."""
        return bool(options.get("rank"))
