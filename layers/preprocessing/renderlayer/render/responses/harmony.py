"""Input items of a Responses request as harmony messages, for gpt-oss (wire.md 2.8, 3.8).

Harmony shows reasoning, text and calls as messages of their own, so that nothing is merged into turns. The messages are
written as harmony's own JSON: {"author": {"role", "name"?}, "content": [text, …], "channel", "recipient",
"content_type"}.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from renderlayer.errors import BadRequest, InvalidRequest
from renderlayer.render.renderers.harmony_messages import ANALYSIS, ASSISTANT, COMMENTARY, DEVELOPER, FINAL, JSON
from renderlayer.render.renderers.harmony_text import NAMESPACE
from renderlayer.render.responses.input import turns
from renderlayer.wire.responses import ResponsesRequest

Json = dict[str, Any]
_INSTRUCTING = ("system", DEVELOPER)


def conversation(request: ResponsesRequest) -> list[Json]:
    """The conversation of a request: a system message of the instructions first, if there are any.

    Raises:
        InvalidRequest: an output answers a call that does not stand before it.
        BadRequest: a previous message has no role.
    """
    previous = [message for entry in request.previous_input_messages or () for message in _previous(entry)]
    previous = [message for message in previous if message["author"]["role"] not in _INSTRUCTING]
    if isinstance(request.input, str):
        messages = [_said("user", [request.input])] if request.input or not request.previous_input_messages else []
        return [*_instructions(request.instructions), *previous, *messages]
    messages = list(turns(request.input))
    instructions = request.instructions
    if instructions is None and messages and messages[0]["role"] in _INSTRUCTING:
        instructions = _flat(messages.pop(0).get("content"))
    return [*_instructions(instructions), *previous, *_converted(messages)]


def _instructions(text: str | None) -> list[Json]:
    return [] if text is None else [{"role": "system", "content": text}]


def _converted(messages: list[Json]) -> Iterator[Json]:
    names: dict[str, str] = {}
    for message in messages:
        role = message["role"]
        if role in _INSTRUCTING:
            if text := _joined(message.get("content")):
                yield {"role": role, "content": text}
        elif role == "tool":
            yield _answer(message, names)
        elif "tool_calls" in message:
            for call in message["tool_calls"]:
                names[call["id"]] = call["function"]["name"]
                yield _call(call["function"])
        elif "reasoning" in message and "content" not in message:
            if message["reasoning"]:
                yield _said(ASSISTANT, [message["reasoning"]], ANALYSIS)
        else:
            yield _said(role, _texts(message.get("content")), FINAL if role == ASSISTANT else "")


def _answer(message: Json, names: dict[str, str]) -> Json:
    name = names.get(message["tool_call_id"])
    if name is None:
        raise InvalidRequest(f"No call message found for {str(message['tool_call_id'])[:100]}", "input")
    return _output(f"{NAMESPACE}.{name}", _joined(message["content"]) or "")


def _previous(entry: Json) -> Iterator[Json]:
    """A message of previous_input_messages, in harmony's form or in chat's.

    Raises:
        BadRequest: it has no role, or a content that is null and no call.
    """
    if isinstance(entry.get("author"), dict):
        yield {**entry, "content": _texts(entry.get("content", ""))}
        return
    role = entry.get("role")
    if not isinstance(role, str):
        raise BadRequest("A message of previous_input_messages has no role.", "input")
    if role == ASSISTANT and entry.get("tool_calls"):
        yield from (_call(call.get("function") or {}) for call in entry["tool_calls"])
    elif role == "tool":
        name = str(entry.get("name") or "")
        name = name if not name or name.startswith(f"{NAMESPACE}.") else f"{NAMESPACE}.{name}"
        yield _output(name, _joined(entry.get("content")) or "")
    elif entry.get("content", "") is None:
        raise BadRequest("The content of a message of previous_input_messages is null.")
    else:
        yield _said(role, _texts(entry.get("content", "")))


def _call(function: Json) -> Json:
    name, arguments = function.get("name") or "", function.get("arguments") or ""
    call = _said(ASSISTANT, [arguments], COMMENTARY)
    return {**call, "recipient": f"{NAMESPACE}.{name}", "content_type": JSON}


def _output(name: str, text: str) -> Json:
    return {**_said("tool", [text], COMMENTARY), "author": {"role": "tool", "name": name}, "recipient": ASSISTANT}


def _said(role: str, texts: list[str], channel: str = "") -> Json:
    return {"role": role, "author": {"role": role}, "content": texts, "channel": channel}


def _texts(content: Any) -> list[str]:
    """A content's texts, a part each; parts that hold none, such as images, are empty."""
    if isinstance(content, list):
        return [text if isinstance(text := _part_text(part), str) else "" for part in content]
    return [content if isinstance(content, str) else ""]


def _part_text(part: Any) -> Any:
    return part.get("text") if isinstance(part, dict) else part


def _flat(content: Any) -> str | None:
    """The content as one text; None where there is no text at all, which is no empty one."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [text for part in content if isinstance(text := _part_text(part), str)]
    return "".join(texts) if texts else None


def _joined(content: Any) -> str:
    return "".join(_texts(content))
