"""`/v1/responses`: render → generate → derender in one call, whole or as named events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from renderlayer.derender.responses import derender_responses, stream_responses
from renderlayer.pipeline.dialect import Json, streamed, whole
from renderlayer.pipeline.engine import Engine
from renderlayer.render.responses import render_responses
from renderlayer.render.server import Server
from renderlayer.wire._base import parse
from renderlayer.wire.responses import ResponsesRequest

FIELD = "responses_request"


def complete_responses(
    body: Any, server: Server, engine: Engine, header_id: str | None = None
) -> Json | Iterator[Json]:
    """Answer a Responses request.

    Returns:
        A Response; for `"stream": true` its events `{"event": name, "data": {…}}`. Arguments and errors are those of
        `complete_chat`.
    """
    request = parse(ResponsesRequest, body)
    rendered = render_responses(request, server, header_id)
    if request.stream:
        return streamed(stream_responses, FIELD, body, rendered, server, engine)
    return whole(derender_responses, FIELD, body, rendered, server, engine)
