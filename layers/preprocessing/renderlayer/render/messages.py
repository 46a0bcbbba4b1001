"""`/v1/messages/render`: an Anthropic Messages request becomes a generate request (wire.md 2.9)."""

from __future__ import annotations

from typing import Any

from renderlayer.render.chat import prompt_length, render_chat
from renderlayer.render.messages_request import chat_request, conversation_request
from renderlayer.render.server import Server
from renderlayer.wire.messages import CountTokensRequest, MessagesRequest


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


def count_message_tokens(request: CountTokensRequest, server: Server) -> dict[str, Any]:
    """The number of tokens that the prompt of a Messages request has; no engine is asked, and no limit holds.

    Returns:
        {"input_tokens": the number}.

    Raises:
        BadRequest, NotFound, Unprocessable: as `render_messages`.
    """
    server.check_name(request.model)
    return {"input_tokens": prompt_length(conversation_request(request, server), server)}
