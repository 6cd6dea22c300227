"""The console on which commands print for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from cofactor.text import shown

__all__ = ["HumanConsole"]


class HumanConsole(Console):
    """A console that shows control characters as blanks: ids, names and titles come from files of anybody.

    A terminal would obey them: hide what is printed, change its colours or its title.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Render a string, before its width is measured."""
        return super().render_str(shown(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything; strings came through `render_str`, texts which were made elsewhere did not."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(shown(segment.text), segment.style)
