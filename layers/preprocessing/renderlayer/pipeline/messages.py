"""`/v1/messages`: render → generate → derender in one call, whole or as named events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from renderlayer.derender.messages_answer import derender_messages, stream_messages
from renderlayer.pipeline.dialect import Json, streamed, whole
from renderlayer.pipeline.engine import Engine
from renderlayer.render.messages import render_messages
from renderlayer.render.server import Server
from renderlayer.wire._base import parse
from renderlayer.wire.messages import MessagesRequest

FIELD = "messages_request"


def complete_messages(body: Any, server: Server, engine: Engine, header_id: str | None = None) -> Json | Iterator[Json]:
    """Answer a Messages request.

    Returns:
        A Message; for `"stream": true` its events `{"event": name, "data": {…}}`. Arguments and errors are those of
        `complete_chat`.
    """
    request = parse(MessagesRequest, body)
    rendered = render_messages(request, server, header_id)
    if request.stream:
        return streamed(stream_messages, FIELD, body, rendered, server, engine)
    return whole(derender_messages, FIELD, body, rendered, server, engine)
