"""`/v1/responses/render`: a Responses request becomes a generate request (wire.md 2.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renderlayer.errors import InvalidRequest
from renderlayer.render.chat import rendered
from renderlayer.render.dialect import RESPONSES
from renderlayer.render.responses.request import chat_request
from renderlayer.render.result import response_id
from renderlayer.served_model import ServedModel
from renderlayer.wire.responses import ResponsesRequest

if TYPE_CHECKING:
    from renderlayer.wire.answers import GenerateRequest


def render_responses(request: ResponsesRequest, server: ServedModel, header_id: str | None = None) -> GenerateRequest:
    """Turn a Responses request into a GenerateRequest.

    Args:
        request: the validated body.
        header_id: value of the X-Request-Id header; the id of a response is the body's own, so it plays no part.

    Returns:
        The GenerateRequest (wire.md 2.1); parse_context and reasoning_ended are left to the engine.

    Raises:
        InvalidRequest: the request builds on a stored response.
        BadRequest, NotFound, Unprocessable: as wire.md 1.7 lists them.
    """
    server.check_name(request.model)
    if request.previous_response_id is not None:
        raise InvalidRequest(
            "previous_response_id is not supported by the stateless render endpoint.", "previous_response_id"
        )
    server.check_template_trust(None, request.chat_template_kwargs)
    chat = chat_request(request)
    if server.model.facts.harmony:
        from renderlayer.render.responses.harmony import conversation

        chat.messages = conversation(request)
    else:
        server.check_media_kwargs(request.media_io_kwargs, request.mm_processor_kwargs)
    return rendered(chat, server, response_id(request.request_id), RESPONSES)
