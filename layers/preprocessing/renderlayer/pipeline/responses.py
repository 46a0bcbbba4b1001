"""`/v1/responses`: render → generate → derender in one call, whole or as named events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from renderlayer.derender.events.responses import derender_responses, open_responses_stream
from renderlayer.pipeline.dialect import PendingDialect
from renderlayer.pipeline.pending import Json, Service, complete
from renderlayer.render import constraints
from renderlayer.render.responses.render import render_responses
from renderlayer.render.responses.request import chat_request
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.responses import ResponsesRequest

FIELD = "responses_request"


async def complete_responses(
    body: Any, server: ServedModel, engine: Service, header_id: str | None = None, timeout: float | None = None
) -> Json | AsyncGenerator[Json]:
    """Answer a Responses request.

    Returns:
        A Response; for `"stream": true` its events `{"event": name, "data": {…}}`. Arguments and errors are those of
        `complete_chat`.
    """
    return await complete(pending_responses(body, server, header_id), engine, timeout)


def pending_responses(body: Any, server: ServedModel, header_id: str | None = None) -> PendingDialect:
    """A Responses request, rendered."""
    request = parse(ResponsesRequest, body)
    constraints.check_demand(chat_request(request), server)
    rendered = render_responses(request, server.front_door, header_id)
    return PendingDialect(
        rendered, body, bool(request.stream), FIELD, derender_responses, open_responses_stream, server
    )
