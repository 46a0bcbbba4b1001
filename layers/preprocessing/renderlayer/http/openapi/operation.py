"""What the API's description says of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

TAGS = {
    "render": "Requests to token ids: what goes to the engine's `/inference/v1/generate`.",
    "derender": "The engine's token ids to answers: whole, a chunk a call, or a whole event stream in one call.",
    "front door": "Render, generate and derender in one request; needs an engine.",
    "tokens": "Token ids of texts and conversations, and back.",
    "batches": "Files of requests, worked on in the background.",
    "status": "What is served, and whether it is well.",
}

BODY = (400, 401, 404, 408, 413, 500, 503)
"""Statuses of every endpoint that reads a JSON body."""
RENDER = (*BODY, 422, 501, 504)
FRONT_DOOR = (*RENDER, 429, 502)
CONTINUING = (409,)
"""Statuses beside the others of an endpoint that takes `continue_from`."""
GET = (401, 500, 503)
STORED = (*GET, 400, 404, 501)


@dataclass(frozen=True)
class Operation:
    """An operation.

    Attributes:
        name: its operationId.
        body: model of the JSON body.
        examples: bodies that work, by a word on each.
        answer: model of the answer of status 200; None: an answer without a body.
        errors: other statuses.
        in_anthropics_form: whether errors have Anthropic's form, but for that of a missing key.
        events_in: what a body of type text/event-stream is; None: there are none.
        events_out: what an answer of type text/event-stream is.
        media_type: of the answer.
        open: whether it needs no key.
        parameters: of the query and the path: name to (annotation, default); those of the path have no default.
        extra: what else the operation says, in OpenAPI's terms.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    description: str = ""
    body: Any = None
    examples: Mapping[str, Json] = field(default_factory=dict)
    answer: Any = None
    errors: tuple[int, ...] = BODY
    in_anthropics_form: bool = False
    events_in: str | None = None
    events_out: str | None = None
    media_type: str = "application/json"
    open: bool = False
    parameters: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    extra: Json = field(default_factory=dict)
