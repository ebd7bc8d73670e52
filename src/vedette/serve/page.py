"""The page at `/`: what a person sees of the server. Static files; all data comes over the API."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from fastapi.responses import Response

from .problems import Refusal

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
HEADERS = {
    # Nothing from elsewhere, nothing inline: text that a model wrote can never become a script.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_router() -> APIRouter:
    """The page and its files. They tell nothing of the server, so they need no key."""
    router = APIRouter(include_in_schema=False)
    served = _contents(files(__package__) / "static")

    @router.get("/")
    async def page() -> Response:
        return served_as("index.html")

    @router.get("/page/{name:path}")
    async def part(name: str) -> Response:
        return served_as(name)

    def served_as(name: str) -> Response:
        if name not in served:  # read once at the start: no path ever reaches the disk
            raise Refusal(f"the page has no file {name!r}", status=404, code="not_found")
        content, kind = served[name]
        return Response(content, media_type=kind, headers=HEADERS)

    return router


def _contents(folder: Traversable, prefix: str = "") -> dict[str, tuple[bytes, str]]:
    """Every file by its path, with its media type."""
    found: dict[str, tuple[bytes, str]] = {}
    for entry in folder.iterdir():
        if entry.is_dir():
            found |= _contents(entry, f"{prefix}{entry.name}/")
        elif kind := KINDS.get(entry.name[entry.name.rfind(".") :]):
            found[prefix + entry.name] = (entry.read_bytes(), kind)
    return found
