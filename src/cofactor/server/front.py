"""The page on which a person tries a model: its files, and what a browser may do with them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from cofactor.pages.rendering import COLOURS

__all__ = ["FILES", "file_of_page"]

_FOLDER = Path(__file__).parent / "page"
_SCRIPTS = ("page", "asking", "cards", "choices", "dom", "labels", "ratings", "stars", "state")

#: Files of the page by their addresses.
FILES = {"/": _FOLDER / "page.html", "/colours.css": COLOURS} | {
    f"/{name}": _FOLDER / name for name in ("page.css", "parts.css", "icon.svg", *(f"{one}.js" for one in _SCRIPTS))
}

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    # All comes from this server, and nothing else may be loaded, run, asked, or shown around the page.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


async def file_of_page(request: Request) -> Response:
    """Return the file of the page at an address.

    Parameters
    ----------
    request : Request
        Of one of `FILES`.
    """
    content, kind = _read(FILES[request.url.path])
    return Response(content, headers=_HEADERS, media_type=kind)


@cache
def _read(path: Path) -> tuple[bytes, str]:
    return path.read_bytes(), _KINDS[path.suffix]
