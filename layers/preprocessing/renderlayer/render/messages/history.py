"""The conversation of a Messages request as chat messages (wire.md 2.9)."""

from __future__ import annotations

import json
from typing import Any

from renderlayer.render.content_parts import TOOL_REFERENCE
from renderlayer.render.conversation import BILLING_HEADER
from renderlayer.render.messages.probes import system_stays_inline
from renderlayer.render.messages.provided import CALLS, RESULTS, call_of, result_text, text_of
from renderlayer.served_model import ServedModel
from renderlayer.wire.messages import MessagesConversation

Block = dict[str, Any]
Chat = list[dict[str, Any]]


def chat_messages(request: MessagesConversation, server: ServedModel) -> Chat:
    """System prompt and turns, in chat's form.

    System messages between the turns stay where they are when the model's template can render them there; otherwise
    they are added to the first.
    """
    out: Chat = []
    inline = [message for message in request.messages if message.role == "system"]
    texts = [_system_text(request.system)]
    merged = bool(inline) and not server.derived(system_stays_inline)
    if merged:
        texts += [_inline_text(message.content) for message in inline]
    if any(texts):
        out.append({"role": "system", "content": "".join(texts)})
    for message in request.messages:
        if message.role == "system":
            if not merged and (text := _inline_text(message.content)):
                out.append({"role": "system", "content": text})
        elif isinstance(message.content, str):
            out.append({"role": message.role, "content": message.content})
        elif message.role == "assistant":
            out += _assistant(message.content)
        else:
            out += _user(message.content)
    return out


def _system_text(system: str | list[Block] | None) -> str:
    """System text; of blocks, those that are no billing line, joined without a separator."""
    if not isinstance(system, list):
        return system or ""
    texts = [block.get("text") or "" for block in system if block["type"] == "text"]
    return "".join(text for text in texts if not text.startswith(BILLING_HEADER))


def _inline_text(content: str | list[Block]) -> str:
    if isinstance(content, str):
        return "" if content.startswith(BILLING_HEADER) else content
    return _system_text(content)


def _assistant(blocks: list[Block]) -> Chat:
    """An assistant turn: text parts, reasoning of its thinking blocks, calls of its tool_use blocks.

    What a provider's tools answered stands in the same turn there; here it parts the turn in two.
    """
    out: Chat = []
    start = 0
    for index, block in enumerate(blocks):
        if block["type"] in RESULTS:
            out += [_turn(blocks[start:index]), _provided_result(block)]
            start = index + 1
    return [*out, _turn(blocks[start:])] if start < len(blocks) or not out else out


def _turn(blocks: list[Block]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking" and block.get("thinking")]
    if thoughts or any(block["type"] == "thinking" and block.get("thinking") is not None for block in blocks):
        message["reasoning"] = "".join(thoughts)
    calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
    calls += [call_of(block) for block in blocks if block["type"] in CALLS]
    if calls:
        message["tool_calls"] = calls
    if (content := _content(blocks)) is not None:
        message["content"] = content
    return message


def _provided_result(block: Block) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": str(block.get("tool_use_id") or ""), "content": result_text(block)}


def _call(block: Block) -> dict[str, Any]:
    arguments = json.dumps(block.get("input") or {})
    function = {"name": block.get("name") or "", "arguments": arguments}
    return {"id": block.get("id") or "call_0", "type": "function", "function": function}


def _user(blocks: list[Block]) -> Chat:
    """A user turn: tool results first, then what the user says, if anything."""
    out: Chat = []
    for block in blocks:
        if block["type"] == "tool_result":
            out += _tool_result(block)
    content = _content([block for block in blocks if block["type"] != "tool_result"])
    return out if content is None else [*out, {"role": "user", "content": content}]


def _tool_result(block: Block) -> Chat:
    """A tool message; images are a user message behind it, and references to tools a second tool message."""
    content = block.get("content")
    answer = {"role": "tool", "tool_call_id": block.get("tool_use_id") or ""}
    if not isinstance(content, list):
        return [{**answer, "content": content or ""}]
    texts = [text for inner in content if (text := _inner_text(inner)) is not None]
    images = [_image(inner.get("source") or {}) for inner in content if inner.get("type") == "image"]
    names = [inner.get("tool_name") or inner.get("name") for inner in content if inner.get("type") == TOOL_REFERENCE]
    out = [{**answer, "content": "\n".join(texts)}]
    if images:
        out.append({"role": "user", "content": images})
    if any(names):
        out.append({**answer, "content": [{"type": TOOL_REFERENCE, "name": name} for name in names if name]})
    return out


def _inner_text(block: Block) -> str | None:
    if block.get("type") == "text":
        text = block.get("text", "")
        return text if isinstance(text, str) else None
    return text_of(block)


def _content(blocks: list[Block]) -> str | list[dict[str, Any]] | None:
    """Texts and images; one text is the content itself, and none is no content."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        kind = block["type"]
        if kind == "text":
            text = block.get("text")
        elif kind == "tool_result":  # out of place in an assistant's turn
            text = f"Tool result: {block.get('content') or ''}"
        else:
            text = text_of(block)
        if text:
            parts.append({"type": "text", "text": text})
        elif kind == "image" and block.get("source"):
            parts.append(_image(block["source"]))
    if len(parts) == 1 and parts[0]["type"] == "text":
        return str(parts[0]["text"])
    return parts or None


def _image(source: dict[str, Any]) -> dict[str, Any]:
    if source.get("type") == "url":
        url = source.get("url", "")
    else:
        url = f"data:{source.get('media_type', 'image/jpeg')};base64,{source.get('data', '')}"
    return {"type": "image_url", "image_url": {"url": url}}
