"""The conversation of a Messages request as chat messages (wire.md 2.9)."""

from __future__ import annotations

import json
from typing import Any

from renderlayer.render.content_parts import TOOL_REFERENCE
from renderlayer.render.conversation import BILLING_HEADER
from renderlayer.render.server import Server
from renderlayer.wire.messages import Message, MessagesRequest

Block = dict[str, Any]


def chat_messages(request: MessagesRequest, server: Server) -> list[dict[str, Any]]:
    """System prompt and turns, in chat's form.

    System messages between the turns stay where they are when the model's template can render them there; otherwise
    they are added to the first.
    """
    out: list[dict[str, Any]] = []
    system = _system_text(request.system)
    if system:
        out.append({"role": "system", "content": system})
    for message in request.messages:
        if message.role == "system":
            text = _system_text(message.content)
            if text:
                out.append({"role": "system", "content": text})
        elif isinstance(message.content, str):
            out.append({"role": message.role, "content": message.content})
        elif message.role == "assistant":
            out.append(_assistant(message.content))
        else:
            out += _user(message.content)
    inline = any(message["role"] == "system" for message in out[1:])
    return out if not inline or server.system_stays_inline else _gathered(out)


def loaded_tools(request: MessagesRequest) -> set[str]:
    """Names of the tools that references and additions in the conversation have loaded."""
    names: set[str] = set()
    for block in _all_blocks(request.messages):
        if block["type"] == "tool_reference":
            names.add(block["tool_name"])
        elif block["type"] == "tool_addition":
            names.add(str(block["tool"].get("name")))
    return names


def _all_blocks(messages: list[Message]) -> list[Block]:
    blocks: list[Block] = []
    for message in messages:
        for block in message.content if isinstance(message.content, list) else ():
            blocks.append(block)
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                blocks += block["content"]
    return blocks


def _system_text(system: str | list[Block] | None) -> str:
    """System text without the billing line that some clients put first; blocks are joined without a separator."""
    if system is None:
        return ""
    if isinstance(system, str):
        return system.partition("\n")[2] if system.startswith(BILLING_HEADER) else system
    texts = [block["text"] for block in system if block["type"] == "text"]
    return "".join(text for text in texts if not text.startswith(BILLING_HEADER))


def _gathered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    texts = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    return [{"role": "system", "content": "\n\n".join(texts)}, *rest]


def _assistant(blocks: list[Block]) -> dict[str, Any]:
    """An assistant turn: text parts, reasoning of its thinking blocks, calls of its tool_use blocks."""
    message: dict[str, Any] = {"role": "assistant"}
    parts = _parts(blocks)
    if parts:
        message["content"] = parts
    thoughts = [block["thinking"] for block in blocks if block["type"] == "thinking"]
    if thoughts:
        message["reasoning"] = "".join(thoughts)
    calls = [_call(block) for block in blocks if block["type"] == "tool_use"]
    if calls:
        message["tool_calls"] = calls
    return message


def _call(block: Block) -> dict[str, Any]:
    arguments = json.dumps(block["input"], ensure_ascii=False)
    return {"id": block["id"], "function": {"arguments": arguments, "name": block["name"]}, "type": "function"}


def _user(blocks: list[Block]) -> list[dict[str, Any]]:
    """A user turn: tool results first, then what the user says, if anything."""
    out: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "tool_result":
            out += _tool_result(block)
    parts = _parts(blocks)
    if parts or not out:
        out.append({"role": "user", "content": parts})
    return out


def _tool_result(block: Block) -> list[dict[str, Any]]:
    """A tool message; references to tools are a second one, and images a user message behind them."""
    content = block.get("content")
    answer = {"role": "tool", "tool_call_id": block["tool_use_id"]}
    if not isinstance(content, list):
        return [{**answer, "content": content or ""}]
    references = [
        {"type": TOOL_REFERENCE, "name": inner["tool_name"]} for inner in content if inner["type"] == "tool_reference"
    ]
    images = [_part(inner) for inner in content if inner["type"] == "image"]
    out = [{**answer, "content": "\n".join(inner["text"] for inner in content if inner["type"] == "text")}]
    if references:
        out.append({**answer, "content": references})
    if images:
        out.append({"role": "user", "content": images})
    return out


def _parts(blocks: list[Block]) -> list[dict[str, Any]]:
    return [_part(block) for block in blocks if block["type"] in ("text", "image")]


def _part(block: Block) -> dict[str, Any]:
    if block["type"] == "text":
        return {"type": "text", "text": block["text"]}
    source = block["source"]
    url = source["url"] if source["type"] == "url" else f"data:{source['media_type']};base64,{source['data']}"
    return {"type": "image_url", "image_url": {"url": url}}
