"""From a request's messages to the conversation that a chat template sees (wire.md 3.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from renderlayer.bundle import ChatTemplate
from renderlayer.errors import BadRequest
from renderlayer.render.content_parts import TEXT_KEYS, TOOL_REFERENCE, check_media_part, content_parts, part_text
from renderlayer.render.dialect import CHAT, Dialect
from renderlayer.served_model import ServedModel

if TYPE_CHECKING:
    from renderlayer import multimodal
    from renderlayer.render.renderers.prompt_encoder import PromptEncoder

_LONGEST_UUID = 1024  # characters; as a name it stands in caches and answers
BILLING_HEADER = "x-anthropic-billing-header"


@dataclass
class Conversation:
    """Messages for the template, and the media that they hold, in order of appearance."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    media: list[multimodal.MediaItem] = field(default_factory=list)

    @property
    def tool_call_count(self) -> int:
        """Tool calls in assistant messages; Kimi numbers its calls over the history."""
        return sum(len(message.get("tool_calls") or ()) for message in self.messages)


def conversation(
    messages: Sequence[dict[str, Any]],
    server: ServedModel,
    template: ChatTemplate | PromptEncoder,
    dialect: Dialect = CHAT,
) -> Conversation:
    """Build the conversation.

    Args:
        messages: chat messages, already checked by `wire.chat.check_message`.
        template: decides whether content becomes a string or a list of parts, and whether `developer` stays a role.

    Raises:
        BadRequest: a content part is malformed, unknown, or not for this model.
    """
    reader = _Reader(server, template.content_format, dialect)
    out = Conversation(media=reader.media)
    demoted = False
    for message in messages:
        converted = reader.message(message)
        if converted["role"] == "developer" and not template.mentions_developer:
            converted["role"] = "system"
            converted.pop("tools", None)
            demoted = True
        out.messages.append(converted)
    if demoted:
        out.messages = _merged_systems(out.messages)
    return out


class _Reader:
    """Converts one message after another and collects media on the way."""

    def __init__(self, server: ServedModel, content_format: str, dialect: Dialect) -> None:
        self.server = server
        self.dialect = dialect
        self.openai = content_format == "openai"
        self.media: list[multimodal.MediaItem] = []

    def message(self, message: dict[str, Any]) -> dict[str, Any]:
        """One message, keys in the reference's order: what is absent stays absent."""
        role = message["role"]
        content = message.get("content")
        parts = [content] if isinstance(content, str) else content_parts(message)
        if role == "system":
            parts = without_billing(parts)
        converted: dict[str, Any] = {"role": role, "content": self._content(parts)}
        if role == "assistant":
            self._assistant(message, converted)
        elif role == "tool":
            converted["content"] = _flattened(converted["content"])
            if message.get("tool_call_id") is not None:
                converted["tool_call_id"] = message["tool_call_id"]
        for key in ("name", "task"):
            if isinstance(message.get(key), str):
                converted[key] = message[key]
        if role == "developer" and message.get("tools") is not None:
            converted["tools"] = [_tool_in_order(tool) for tool in message["tools"]]
        return converted

    def _assistant(self, message: dict[str, Any], converted: dict[str, Any]) -> None:
        if message.get("tool_calls"):
            converted["tool_calls"] = [
                history_call(call, self.dialect.arguments_first) for call in message["tool_calls"]
            ]
        reasoning = message.get("reasoning")
        if reasoning is None:
            reasoning = message.get("reasoning_content")
        if reasoning is not None:
            converted["reasoning"] = converted["reasoning_content"] = reasoning

    def _content(self, parts: list[Any]) -> str | list[Any]:
        """A list of parts, or their texts on lines of their own; an empty text makes no line."""
        if self.openai:
            return [self._part(part) for part in parts]
        texts: list[str] = []
        placeholders: list[tuple[str, str]] = []
        interleave = self.server.settings.interleave_mm_strings
        for part in parts:
            converted = self._part(part)
            if converted["type"] in ("text", TOOL_REFERENCE):
                if text := converted["text" if converted["type"] == "text" else "name"]:
                    texts.append(text)
            else:
                modality = converted["type"]
                ordinal = sum(item.modality == modality for item in self.media)
                from renderlayer import multimodal

                placeholder = multimodal.placeholder(self.server.model, modality, ordinal)
                if interleave and placeholder:
                    texts.append(placeholder)
                elif placeholder:
                    placeholders.append((modality, placeholder))
        text = "\n".join(texts)
        return "\n".join([*_missing(placeholders, text), *([text] if text else [])])

    def _part(self, part: Any) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        text = part_text(part, self.dialect.part_param)
        kind = part.get("type")
        if text is not None:
            known = ("type", TEXT_KEYS[kind])
            return {"type": "text", "text": text, **{name: value for name, value in part.items() if name not in known}}
        if kind == TOOL_REFERENCE:
            return {"type": TOOL_REFERENCE, "name": part.get("name")}
        from renderlayer import multimodal

        modality = multimodal.modality_of(part)
        assert modality is not None
        if self.dialect.typed_media:
            check_media_part(part)
        uuid = part.get("uuid")
        if uuid is not None and not isinstance(uuid, str):
            raise BadRequest("The uuid of a media part must be a string.", "uuid")
        if uuid is not None and len(uuid) > _LONGEST_UUID:
            raise BadRequest(f"The uuid of a media part may have at most {_LONGEST_UUID} characters.", "uuid")
        self.media.append(multimodal.MediaItem(modality, part, uuid))
        multimodal.check_counts(self.server.model, self.server.settings, self.media[-1:])
        return {"type": modality}


def _missing(placeholders: list[tuple[str, str]], text: str) -> list[str]:
    """The placeholders that the client did not write into the text by hand."""
    out: list[str] = []
    for placeholder in dict.fromkeys(text for _, text in placeholders):
        wanted = [shown for _, shown in placeholders].count(placeholder)
        present = text.count(placeholder) if placeholder else 0
        if present > wanted:
            raise BadRequest(
                f"Found more '{placeholder}' placeholders in the text than there are items of that kind in the message."
            )
        out += [placeholder] * (wanted - present)
    return out


def _flattened(content: str | list[Any]) -> str | list[Any]:
    """A tool message's content as one string, unless it holds more than text."""
    if isinstance(content, str) or any(part.get("type") != "text" for part in content):
        return content
    return "\n".join(part["text"] for part in content)


def without_billing(parts: list[Any]) -> list[Any]:
    """System content without the billing line that some clients put first in it; it would spoil every prefix cache."""
    return [kept for part in parts if (kept := _without_line(part)) is not None]


def _without_line(part: Any) -> Any:
    text = part if isinstance(part, str) else _plain_text(part)
    if not isinstance(text, str) or not text.startswith(BILLING_HEADER):
        return part
    rest = text.partition("\n")[2]
    if not rest:
        return None
    return rest if isinstance(part, str) else {**part, "text": rest}


def _plain_text(part: Any) -> Any:
    return part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None


def history_call(call: dict[str, Any], arguments_first: bool = True) -> dict[str, Any]:
    """A tool call of the history, arguments parsed, keys in the reference's order for the API (wire.md 3.3)."""
    function = call["function"]
    rest = {key: value for key, value in function.items() if key not in ("arguments", "name")}
    extras = {key: value for key, value in call.items() if key not in ("id", "function", "type")}
    parsed, name = {"arguments": arguments(function["arguments"])}, {"name": function["name"]}
    ordered = {**parsed, **name, **rest} if arguments_first else {**name, **parsed, **rest}
    return {"id": call["id"], "function": ordered, "type": call["type"], **extras}


def arguments(text: str) -> dict[str, Any]:
    """Arguments as an object; what is no JSON object becomes an empty one, as in the reference."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _tool_in_order(tool: Any) -> Any:
    if isinstance(tool, dict) and "function" in tool:
        return {"function": tool["function"], **{key: value for key, value in tool.items() if key != "function"}}
    return tool


def _merged_systems(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All system messages as one at the front, for templates that do not know the developer role."""
    places = [index for index, message in enumerate(messages) if message["role"] == "system"]
    if places == [0]:
        return messages
    texts = [_joined(messages[index]["content"]) for index in places]
    merged = {"role": "system", "content": "\n\n".join(filter(None, texts))}
    return [merged, *(message for message in messages if message["role"] != "system")]


def _joined(content: str | list[Any]) -> str:
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)
