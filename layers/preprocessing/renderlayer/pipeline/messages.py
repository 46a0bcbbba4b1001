"""`/v1/messages`: render → generate → derender in one call, whole or as named events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from renderlayer.derender.events.messages_answer import derender_messages, open_messages_stream
from renderlayer.pipeline.dialect import PendingDialect
from renderlayer.pipeline.pending import Json, Service, complete
from renderlayer.render import constraints
from renderlayer.render.messages.render import render_messages
from renderlayer.render.messages.request import chat_request
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.messages import MessagesRequest

FIELD = "messages_request"


async def complete_messages(
    body: Any, server: ServedModel, engine: Service, header_id: str | None = None, timeout: float | None = None
) -> Json | AsyncGenerator[Json]:
    """Answer a Messages request.

    Returns:
        A Message; for `"stream": true` its events `{"event": name, "data": {…}}`. Arguments and errors are those of
        `complete_chat`.
    """
    return await complete(pending_messages(body, server, header_id), engine, timeout)


def pending_messages(body: Any, server: ServedModel, header_id: str | None = None) -> PendingDialect:
    """A Messages request, rendered."""
    request = parse(MessagesRequest, body)
    constraints.check_demand(chat_request(request, server), server)
    rendered = render_messages(request, server.front_door, header_id)
    return PendingDialect(rendered, body, bool(request.stream), FIELD, derender_messages, open_messages_stream, server)
