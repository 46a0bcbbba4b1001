"""A page for people: chat with the front door and look at what render, generate and derender do.

Static files without a build step or a CDN, served by local servers only. The page calls the ordinary endpoints, and one
of its own: `POST /page/tokens`, `{"tokens": [id, …]}` → `{"tokens": [{"text": str, "special": bool}, …]}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from renderlayer.bundle.vocabulary import Vocabulary
from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.http.execution.disconnect import Disconnected, NoAnswer
from renderlayer.http.middleware.auth import Keys, RequireKey
from renderlayer.http.request import Incoming, decoded, require_json
from renderlayer.http.response import error_response, json_response

FILES = {
    "/": ("index.html", "text/html"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/script.js": ("script.js", "text/javascript"),
}
TOKENS_PATH = "/page/tokens"
MAX_BODY_BYTES = 16 << 20
"""A million token ids are under 8 MB of JSON."""
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PageMiddleware:
    """Serves the page at `/`; everything else goes on to the application.

    Args:
        app: the application.
        vocabulary: names the tokens that the page shows.
        keys: keys of which one is asked for before tokens are named; the static files are open.
        patience: seconds that a request's body may take (`request.Incoming`); 0: any time.
    """

    def __init__(self, app: ASGIApp, vocabulary: Vocabulary, keys: Keys | None = None, patience: float = 0) -> None:
        self._app = app
        self._patience = patience
        self._vocabulary = vocabulary
        tokens: ASGIApp = self._tokens
        self._describe_tokens = RequireKey(tokens, keys) if keys is not None else tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", "")) if scope["type"] == "http" else ""
        if path in FILES and scope["method"] in ("GET", "HEAD"):
            await _file(*FILES[path])(scope, receive, send)
        elif path == TOKENS_PATH and scope["method"] == "POST":
            await self._describe_tokens(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _tokens(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            require_json(scope)
            body = decoded(await Incoming(scope, receive, self._patience).read(MAX_BODY_BYTES))
            response = json_response(orjson.dumps({"tokens": describe_tokens(body, self._vocabulary)}))
        except Disconnected:
            response = NoAnswer()
        except RenderLayerError as error:
            response = error_response(error)
        await response(scope, receive, send)


def describe_tokens(body: Any, vocabulary: Vocabulary) -> list[dict[str, Any]]:
    """Text and kind of each token; bytes that are no whole character are written as `\\xNN`.

    Raises:
        BadRequest: `tokens` is no list of integers.
    """
    token_ids = body.get("tokens") if isinstance(body, dict) else None
    if not isinstance(token_ids, list) or any(type(token_id) is not int for token_id in token_ids):
        raise BadRequest("tokens must be a list of token ids.", "tokens")
    return [
        {
            "text": vocabulary.token_bytes(token_id).decode("utf-8", "backslashreplace"),
            "special": vocabulary.is_special(token_id) or vocabulary.is_skipped(token_id),
        }
        for token_id in token_ids
    ]


def _file(name: str, media_type: str) -> Response:
    return Response(Path(__file__).with_name(name).read_bytes(), media_type=media_type, headers=HEADERS)
