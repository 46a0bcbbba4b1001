"""`/v1/messages/render`: an Anthropic Messages request becomes a generate request (wire.md 2.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from renderlayer.errors import BadRequest
from renderlayer.render.chat import prompt_length, render_chat
from renderlayer.render.messages.request import chat_request, conversation_request
from renderlayer.request_context import remark
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.messages import CountTokensRequest, MessagesRequest

if TYPE_CHECKING:
    from renderlayer.wire.answers import GenerateRequest

T = TypeVar("T")


def render_messages(request: MessagesRequest, server: ServedModel, header_id: str | None = None) -> GenerateRequest:
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
    return _continued_or_closed(chat_request(request, server), lambda chat: render_chat(chat, server, header_id))


def count_message_tokens(request: CountTokensRequest, server: ServedModel) -> dict[str, Any]:
    """The number of tokens that the prompt of a Messages request has; no engine is asked, and no limit holds.

    Returns:
        {"input_tokens": the number}.

    Raises:
        BadRequest, NotFound, Unprocessable: as `render_messages`.
    """
    server.check_name(request.model)
    chat = conversation_request(request, server)
    return {"input_tokens": _continued_or_closed(chat, lambda chat: prompt_length(chat, server))}


def _continued_or_closed(chat: ChatCompletionRequest, render: Callable[[ChatCompletionRequest], T]) -> T:
    """Render; a last turn that the model's template does not let go on is closed, and another begun."""
    try:
        return render(chat)
    except BadRequest as error:
        if not chat.continue_final_message or "continue_final_message" not in error.message:
            raise
    chat.continue_final_message, chat.add_generation_prompt = False, True
    remark("the last message could not be continued with this model's template")
    return render(chat)
