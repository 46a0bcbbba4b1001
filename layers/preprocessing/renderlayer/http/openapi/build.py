"""Make the description of the API with FastAPI, from rows of operations; no request passes through it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import Body, FastAPI
from fastapi.openapi.models import Example
from pydantic.warnings import UnsupportedFieldAttributeWarning

from renderlayer import __version__
from renderlayer.http.openapi.inference import INFERENCE
from renderlayer.http.openapi.management import MANAGEMENT
from renderlayer.http.openapi.objects import AnthropicError, Error, UnknownKey
from renderlayer.http.openapi.operation import TAGS, Operation

Json = dict[str, Any]

TITLE = "renderlayer"
DESCRIPTION = (
    "The CPU half of LLM serving: requests become token ids (render), token ids become answers (derender), on vLLM's "
    "scale-out wire. The front door does all of it with an engine's help."
)
OPERATIONS = (*INFERENCE, *MANAGEMENT)
SECURITY: Json = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "One of the deployment's keys, where it has some."},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same, in another header."},
}
RETRY_AFTER: Json = {"description": "Seconds after which to try again.", "schema": {"type": "integer"}}
WARNING: Json = {"description": "What of the request was left out.", "schema": {"type": "string"}}
REQUEST_ID: Json = {
    "name": "X-Request-Id",
    "in": "header",
    "description": "Becomes part of the request's id.",
    "schema": {"type": "string"},
}
EVENT_STREAM = "text/event-stream"
_UNUSED = ("HTTPValidationError", "ValidationError")


def describe() -> Json:
    """The description of everything that a deployment serves, an OpenAPI 3.1 document."""
    app = FastAPI(
        title=TITLE,
        version=__version__,
        summary="Render and derender, serverless",
        description=DESCRIPTION,
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
        servers=[{"url": "/"}],
    )
    for operation in OPERATIONS:
        app.add_api_route(
            operation.path,
            _signature(operation),
            methods=[operation.method],
            operation_id=operation.name,
            tags=[operation.tag],
            summary=operation.summary,
            description=operation.description or None,
            responses=_responses(operation),
            response_model=None,
            openapi_extra=_extra(operation),
        )
    with warnings.catch_warnings():
        # FastAPI silences it, too, but not where validators are compiled later, as ours are
        warnings.simplefilter("ignore", UnsupportedFieldAttributeWarning)
        return _finished(app.openapi())


def _signature(operation: Operation) -> Callable[..., None]:
    """A function with the parameters that the operation has, which is all that FastAPI reads of it."""

    def endpoint() -> None: ...

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=next(iter(default), inspect._empty)
        )
        for name, (annotation, *default) in operation.parameters.items()
    ]
    if operation.body is not None:
        shown = {name: Example(value=value) for name, value in operation.examples.items()}
        read = Body(openapi_examples=shown)
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("body", kind, annotation=operation.body, default=read))
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return endpoint


def _responses(operation: Operation) -> dict[int | str, Json]:
    success: Json = {"description": "The answer."}
    if operation.answer is not None:
        success["model"] = operation.answer
    elif operation.media_type != "application/json":
        success["content"] = {operation.media_type: {"schema": {"type": "string"}}}
    if operation.events_out is not None:
        success.setdefault("content", {})[EVENT_STREAM] = _stream(operation.events_out)
    if operation.tag in ("render", "front door"):
        success["headers"] = {"x-renderlayer-warning": WARNING}
    return {200: success, **{status: _error(status, operation) for status in sorted(operation.errors)}}


def _error(status: int, operation: Operation) -> Json:
    model = UnknownKey if status == 401 else AnthropicError if operation.in_anthropics_form else Error
    described: Json = {"model": model, "description": HTTPStatus(status).phrase}
    if status in (429, 503, 504):
        described["headers"] = {"Retry-After": RETRY_AFTER}
    return described


def _extra(operation: Operation) -> Json:
    extra: Json = {"security": [] if operation.open else [{name: []} for name in SECURITY]}
    if operation.body is not None and operation.tag in ("render", "front door"):
        extra["parameters"] = [REQUEST_ID]
    if operation.events_in is not None:
        extra["requestBody"] = {"content": {EVENT_STREAM: _stream(operation.events_in)}}
    return {**extra, **operation.extra}


def _stream(description: str) -> Json:
    return {"schema": {"type": "string", "description": description}}


def _finished(document: Json) -> Json:
    """The document without what FastAPI adds for its own validation, which is not ours, and with the keys' schemes."""
    for path in document["paths"].values():
        for operation in path.values():
            content = operation["responses"].get("422", {}).get("content", {}).get("application/json", {})
            if content.get("schema", {}).get("$ref", "").endswith(_UNUSED):
                del operation["responses"]["422"]
            content = operation["responses"]["200"].get("content", {})
            if content.get("application/json") == {"schema": {}}:
                del content["application/json"]
            if not content:
                operation["responses"]["200"].pop("content", None)
    schemas = document["components"]["schemas"]
    for name in _UNUSED:
        schemas.pop(name, None)
    document["components"]["securitySchemes"] = SECURITY
    return document
