"""The last resort: what nobody caught becomes a 500, and a log line that cannot quote a prompt."""

from __future__ import annotations

import logging
import traceback

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from renderlayer.errors import RenderLayerError
from renderlayer.http.response import error_response

FRAMES = 12
"""Innermost frames of an error that are logged."""

logger = logging.getLogger(__name__)


class ServerErrorMiddleware:
    """ASGI middleware that lets no exception out, since servers print an exception together with its message."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            logger.error("request failed: %s", described(error))
            if not started:
                answer = RenderLayerError("The server had an error while processing your request.")
                await error_response(answer)(scope, receive, send)


def described(error: Exception) -> str:
    """Class and place of an error, without its message."""
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return type(error).__name__ + " at " + ", ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
