"""Input items of a Responses request as chat messages (wire.md 2.8).

What an assistant's turn is made of stands in several items: reasoning, text and calls that follow each other become one
message. Items that no model can be shown, of kinds that are not known among them, are left out, with a remark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from renderlayer.render.responses.tools import joined
from renderlayer.request_context import remark
from renderlayer.wire.chat import check_message
from renderlayer.wire.chat_tools import CUSTOM_INPUT
from renderlayer.wire.responses_input import is_message

Item = dict[str, Any]
Message = dict[str, Any]
_UNFINISHED = ("in_progress", "incomplete")
# Calls of tools that come with the client, shown as calls of functions: item type → function, key of the arguments.
_BUILTIN_CALLS = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}
_CALLS = ("function_call", "custom_tool_call", *_BUILTIN_CALLS)
_OUTPUTS = ("function_call_output", "custom_tool_call_output", *(f"{name}_output" for name in _BUILTIN_CALLS))


def continues(items: str | list[Item]) -> bool:
    """Whether the answer goes on with the last item, because that is an unfinished turn."""
    if isinstance(items, str) or not items:
        return False
    last = items[-1]
    return last.get("type", "message") in ("message", "reasoning") and last.get("status") in _UNFINISHED


def chat_messages(items: str | list[Item], instructions: str | None) -> list[Message]:
    """The conversation that instructions and input amount to.

    Raises:
        ValidationFailed: a message that no role's schema accepts.
    """
    out: list[Message] = [{"role": "system", "content": instructions}] if instructions else []
    if isinstance(items, str):
        return [*out, {"role": "user", "content": items}]
    for message in turns(items):
        before = out[-1] if out and out[-1]["role"] == "assistant" else None
        if before is None or message["role"] != "assistant" or not _joins(before, message):
            out.append(message)
    return out


def turns(items: list[Item]) -> Iterator[Message]:
    """Every readable item as a chat message of its own.

    Raises:
        ValidationFailed: a message that no role's schema accepts.
    """
    for index, item in enumerate(items):
        kind = item.get("type")
        if is_message(item):
            check_message(index, item, "input")
            yield _assistant(item) if item["role"] == "assistant" else dict(item)
        elif kind in _CALLS and (call := _call(item)):
            yield {"role": "assistant", "tool_calls": [call]}
        elif kind in _OUTPUTS and (content := _output(item)) is not None:
            yield {"role": "tool", "tool_call_id": item.get("call_id") or item.get("id"), "content": content}
        elif kind == "reasoning" and (thoughts := _reasoning(item)) is not None:
            yield {"role": "assistant", "reasoning": thoughts}
        else:
            remark(f"input item {index} of type {str(kind)[:40]!r} was left out")


def _joins(before: Message, message: Message) -> bool:
    """Add a message's reasoning, text or calls to the assistant's turn before it; False where that has its own."""
    if "tool_calls" in message:
        before["tool_calls"] = [*(before.get("tool_calls") or ()), *message["tool_calls"]]
        return True
    key = "reasoning" if "reasoning" in message and "content" not in message else "content"
    if before.get(key) is not None or message.get(key) in (None, []):
        return False
    before[key] = message[key]
    return True


def _assistant(item: Item) -> Message:
    """A turn of the assistant with all its texts; one text is the content itself."""
    content = item.get("content")
    if not isinstance(content, list) or not content:
        return dict(item)
    first = content[0]
    if isinstance(first, dict) and "type" not in first and "text" not in first:
        return dict(item)  # to be refused as in any other turn
    texts = [{"type": "text", "text": _text(part)} for part in content]
    return {"role": "assistant", "content": texts[0]["text"] if len(texts) == 1 else texts}


def _text(part: Any) -> str:
    text = (part.get("text") or part.get("refusal")) if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _call(item: Item) -> Item | None:
    name, key = _BUILTIN_CALLS.get(item["type"], (item.get("name"), "arguments"))
    if item["type"] == "custom_tool_call":
        arguments = json.dumps({CUSTOM_INPUT: item["input"]}, ensure_ascii=False)
    elif key == "arguments":
        arguments = item["arguments"]
    else:
        arguments = json.dumps(item.get(key) or {}, ensure_ascii=False)
    call_id = item.get("call_id") or item.get("id")
    if not isinstance(call_id, str) and item["type"] in _BUILTIN_CALLS:
        return None
    namespace = item.get("namespace")
    full = joined(str(name), namespace if isinstance(namespace, str) else None)
    return {"id": call_id, "function": {"name": full, "arguments": arguments}, "type": "function"}


def _output(item: Item) -> str | list[Any] | None:
    """What a call gave; what only other tools write is shown as JSON."""
    output = item.get("output")
    if item["type"] in ("function_call_output", "custom_tool_call_output"):
        return output
    if not isinstance(item.get("call_id") or item.get("id"), str):
        return None
    return output if isinstance(output, str) else json.dumps(output or item.get("status"), ensure_ascii=False)


def _reasoning(item: Item) -> str | None:
    """The thoughts, else their summary; None where they are encrypted and neither is there."""
    texts = [part["text"] for part in item.get("content") or item["summary"]]
    return None if item.get("encrypted_content") and not texts else "\n".join(texts)
