"""Input items of a Responses request as chat messages (wire.md 2.8)."""

from __future__ import annotations

import json
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.render.responses_tools import CUSTOM_INPUT, joined
from renderlayer.wire._base import refused
from renderlayer.wire.chat import check_message

Item = dict[str, Any]
_UNFINISHED = ("in_progress", "incomplete")


def continues(items: str | list[Item]) -> bool:
    """Whether the answer goes on with the last item, because that is an unfinished one of the assistant."""
    if isinstance(items, str) or not items:
        return False
    last = items[-1]
    ours = last.get("type") == "reasoning" or last.get("role") == "assistant"
    return ours and last.get("status") in _UNFINISHED


def chat_messages(items: str | list[Item], instructions: str | None) -> list[dict[str, Any]]:
    """The conversation that instructions and input amount to.

    Raises:
        ValidationFailed: an item lacks what its type needs.
        BadRequest: an item of a type that cannot be rendered, or encrypted reasoning.
    """
    out: list[dict[str, Any]] = [{"role": "system", "content": instructions}] if instructions is not None else []
    if isinstance(items, str):
        return [*out, {"role": "user", "content": items}]
    for index, item in enumerate(items):
        if "role" in item:
            _message(out, item, index)
        elif item.get("type") in ("function_call", "custom_tool_call"):
            _call(out, item, index)
        elif item.get("type") in ("function_call_output", "custom_tool_call_output"):
            _output(out, item, index)
        elif item.get("type") == "reasoning":
            _reasoning(out, item)
        else:
            raise BadRequest(f"Unsupported input item type: {str(item.get('type'))[:100]}", "input")
    return out


def _message(out: list[dict[str, Any]], item: Item, index: int) -> None:
    check_message(index, item, "input")
    message = dict(item)
    if message.get("type") == "message" and message["role"] == "assistant" and message.get("id") is not None:
        message["content"] = _first_text(message.get("content"))
    if message["role"] == "assistant" and out and _only_reasons(out[-1]):
        message["reasoning"] = out.pop()["reasoning"]
    out.append(message)


def _first_text(content: Any) -> str:
    """The text of an output message: its first part's, as the reference has it."""
    if isinstance(content, str):
        return content
    first = content[0] if content else {}
    text = (first.get("text") or first.get("refusal")) if isinstance(first, dict) else first
    return text if isinstance(text, str) else ""


def _only_reasons(message: dict[str, Any]) -> bool:
    """Whether an assistant message waits for the text or the calls that its reasoning led to."""
    return message["role"] == "assistant" and "reasoning" in message and not {"content", "tool_calls"} & message.keys()


def _call(out: list[dict[str, Any]], item: Item, index: int) -> None:
    custom = item["type"] == "custom_tool_call"
    payload = "input" if custom else "arguments"
    for key in ("call_id", "name", payload):
        _demand(item, key, index)
    text = json.dumps({CUSTOM_INPUT: item[payload]}, ensure_ascii=False) if custom else item[payload]
    name = joined(item["name"], item.get("namespace"))
    call = {"id": item["call_id"], "function": {"name": name, "arguments": text}, "type": "function"}
    if not out or out[-1]["role"] != "assistant":
        out.append({"role": "assistant"})
    out[-1]["tool_calls"] = [*(out[-1].get("tool_calls") or ()), call]


def _output(out: list[dict[str, Any]], item: Item, index: int) -> None:
    _demand(item, "call_id", index)
    if not isinstance(item.get("output"), list):
        _demand(item, "output", index)
    out.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})


def _reasoning(out: list[dict[str, Any]], item: Item) -> None:
    if item.get("encrypted_content"):
        raise BadRequest("Encrypted content is not supported.")
    content, summary = _texts(item.get("content")), _texts(item.get("summary"))
    out.append({"role": "assistant", "reasoning": content[0] if content else "\n".join(summary)})


def _texts(parts: Any) -> list[str]:
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return [text for text in texts if isinstance(text, str)]


def _demand(item: Item, key: str, index: int) -> None:
    if key not in item:
        raise refused(("input", index, key), "missing", "Field required", item)
    if not isinstance(item[key], str):
        raise refused(("input", index, key), "string_type", "Input should be a valid string", item[key])
