"""The Response object and its output items, as OpenAI's Responses API has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from renderlayer.derender.events.blocks import Begin, Blocks
from renderlayer.derender.events.sequence import Counts
from renderlayer.errors import BadRequest
from renderlayer.render.responses.tools import Origin
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender_dialects import CARRIED_ITEMS
from renderlayer.wire.generate import GENERATE_PREFIX
from renderlayer.wire.responses import ResponsesRequest

Json = dict[str, Any]

_ID = "resp_"
# finish_reason -> status, and why the response is incomplete; of other reasons the API knows nothing.
_STATUS = {
    "stop": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
    "error": ("failed", None),
}
# Where an item keeps its text, by its type: a field of its own, or its first part's type.
TEXT_FIELDS = {"function_call": "arguments", "custom_tool_call": "input"}
PART_TYPES = {"message": "output_text", "reasoning": "reasoning_text"}
# The kind of block that an item is.
_KINDS = {"function_call": "call", "custom_tool_call": "call", "message": "text", "reasoning": "reasoning"}


class Head(NamedTuple):
    """What all of a response's events repeat.

    Attributes:
        answer_id: the engine's request id: the rendered request's with a prefix.
        model: the name to answer with.
        created: Unix seconds.
    """

    answer_id: str
    model: str
    created: int


def new_item(begin: Begin, answer_id: str, origins: Mapping[str, Origin]) -> Json:
    """An output item that has just begun."""

    def named(prefix: str) -> str:
        return f"{prefix}_{_stem(answer_id)}_{begin.index}"

    if begin.kind == "reasoning":
        item: Json = {"id": named("rs"), "type": "reasoning", "summary": [], "content": [], "encrypted_content": None}
    elif begin.kind == "text":
        item = {"id": named("msg"), "type": "message", "role": "assistant", "content": []}
    else:
        origin = origins.get(begin.name, Origin(begin.name))
        kind = "custom_tool_call" if origin.custom else "function_call"
        item = {"id": named("ctc" if origin.custom else "fc"), "type": kind, "call_id": begin.call_id}
        item |= {"name": origin.name, TEXT_FIELDS[kind]: ""}
        if origin.namespace:
            item["namespace"] = origin.namespace
    item["status"] = "in_progress"
    return item


def new_part(item: Json) -> Json | None:
    """The empty content part of a new item; None where its text is a field of its own."""
    kind = PART_TYPES.get(item["type"])
    if kind is None:
        return None
    return {"type": kind, "text": "", **({"annotations": [], "logprobs": []} if kind == "output_text" else {})}


def extend(item: Json, text: str, logprobs: Sequence[Json]) -> None:
    """Add to an item what a delta told."""
    field = TEXT_FIELDS.get(item["type"])
    if field is not None:
        item[field] += text
        return
    part = item["content"][0]
    part["text"] += text
    if logprobs:
        part["logprobs"] += logprobs


def checked_output(output: list[Json], blocks: Blocks, repeat: bool) -> list[Json]:
    """The items of a stream state, if they can be what earlier calls have told.

    Raises:
        BadRequest: they are not.
    """
    count = blocks.count if repeat else int(bool(blocks.kind))
    try:
        CARRIED_ITEMS.validate_python(output)
    except ValidationError:
        count = -1
    if len(output) != count or (blocks.kind and _KINDS[output[-1]["type"]] != blocks.kind):
        raise BadRequest("invalid stream_state: output does not fit what has been told")
    return output


def response(
    request: ResponsesRequest,
    server: ServedModel,
    head: Head,
    *,
    status: str = "in_progress",
    reason: str | None = None,
    output: Sequence[Json] | None = (),
    counts: Counts | None = None,
) -> Json:
    """A Response object.

    Args:
        reason: why it is incomplete.
        output: its items; None leaves them to the client, which has them from the stream.
        counts: for `usage`; None while it is in progress.
    """
    defaults = server.sampling_defaults
    reasoning = request.reasoning
    return {
        "id": _ID + _stem(head.answer_id),
        "object": "response",
        "created_at": head.created,
        "status": status,
        "background": bool(request.background),
        "error": {"code": "server_error", "message": "The engine failed."} if status == "failed" else None,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "instructions": request.instructions,
        "max_output_tokens": request.max_output_tokens,
        "max_tool_calls": request.max_tool_calls,
        "metadata": request.metadata,
        "model": head.model,
        "output": None if output is None else list(output),
        "parallel_tool_calls": request.parallel_tool_calls is not False,
        "previous_response_id": None,
        "prompt_cache_key": request.prompt_cache_key,
        "reasoning": {
            "effort": reasoning.effort if reasoning else None,
            "summary": reasoning.summary if reasoning else None,
        },
        "safety_identifier": request.safety_identifier,
        "service_tier": request.service_tier,
        "store": False,
        "temperature": _first(request.temperature, defaults.get("temperature"), 1.0),
        "text": _text(request),
        "tool_choice": request.tool_choice,
        "tools": request.tools,
        "top_logprobs": request.logprobs,
        "top_p": _first(request.top_p, defaults.get("top_p"), 1.0),
        "truncation": request.truncation or "disabled",
        "usage": None if counts is None else usage(counts),
        "user": request.user,
    }


def outcome(finish_reason: str | None) -> tuple[str, str | None]:
    """A response's status, and why it is incomplete where the API has a word for it."""
    return _STATUS.get(finish_reason or "stop", ("incomplete", None))


def usage(counts: Counts) -> Json:
    """Token counts in the API's form."""
    return {
        "input_tokens": counts.prompt,
        "input_tokens_details": {"cached_tokens": counts.cached or 0, "cache_write_tokens": 0},
        "output_tokens": counts.output,
        "output_tokens_details": {"reasoning_tokens": counts.reasoning},
        "total_tokens": counts.prompt + counts.output,
    }


def _stem(answer_id: str) -> str:
    return answer_id.removeprefix(GENERATE_PREFIX).removeprefix(_ID)


def _first(*values: Any) -> Any:
    return next(value for value in values if value is not None)


def _text(request: ResponsesRequest) -> Json:
    given = {} if request.text is None else request.text.model_dump(by_alias=True, exclude_none=True)
    return {"format": {"type": "text"}, **given}
