"""Path prefixes that a gateway leaves in front of the routes."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class UnderPrefix:
    """ASGI middleware that tells the application which beginning of the path is not part of its routes.

    Requests without the prefix are served as well. Behind an HTTP API with a named stage, the stage is the prefix.

    Args:
        app: the application.
        prefix: such as "/render" (`settings.root_path`); empty for none.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        put_under(scope, self._prefix)
        await self._app(scope, receive, send)


def put_under(scope: Scope, prefix: str) -> None:
    """Note in a request's scope which prefix its path may have."""
    prefix = prefix.rstrip("/") or _stage(scope)
    if prefix and scope["type"] == "http":
        scope["root_path"] = prefix


def _stage(scope: Scope) -> str:
    """The stage as a prefix. Only events of payload 2.0 have it in their path; those of a REST API leave it out."""
    event = scope.get("aws.event", {})
    stage = event["requestContext"].get("stage") if event.get("version") == "2.0" else None
    return f"/{stage}" if stage else ""
