"""`/v1/messages/render`: an Anthropic Messages request becomes a generate request (wire.md 2.9)."""

from __future__ import annotations

from typing import Any

from renderlayer.render.chat import render_chat
from renderlayer.render.messages_request import chat_request
from renderlayer.render.server import Server
from renderlayer.wire.messages import MessagesRequest


def render_messages(request: MessagesRequest, server: Server, header_id: str | None = None) -> dict[str, Any]:
    """Turn a Messages request into a GenerateRequest, by way of the chat request that means the same.

    Args:
        request: the validated body.
        header_id: value of the X-Request-Id header.

    Returns:
        The GenerateRequest (wire.md 2.1).

    Raises:
        BadRequest, NotFound, Unprocessable: as wire.md 1.7 lists them, in OpenAI's shape.
    """
    server.check_name(request.model)
    return render_chat(chat_request(request, server), server, header_id)
