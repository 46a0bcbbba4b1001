"""Which pages may call a server from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp


def with_cors(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """The application for pages of these origins, "*" for all; unchanged where there are none.

    Keys travel in headers, which pages set themselves, so that no credentials of the browser are asked for.
    """
    if not origins:
        return app
    return CORSMiddleware(app, allow_origins=origins, allow_methods=["*"], allow_headers=["*"], expose_headers=["*"])
