"""`/docs`: Swagger UI over the API's description, from local files where they are installed, else from a CDN."""

from __future__ import annotations

from starlette.routing import BaseRoute

DOCS = "/docs"
OPENAPI = "/openapi.json"


def offline_docs(title: str) -> list[BaseRoute]:
    """Routes of the page and its files; none where `fastapi-offline` is not installed, as in a deployed function."""
    try:
        from fastapi_offline import FastAPIOffline
    except ImportError:
        return []
    app = FastAPIOffline(DOCS, None, title=title, openapi_url=OPENAPI)
    return [route for route in app.routes if getattr(route, "path", "") != OPENAPI]
