"""A chat conversation as harmony messages (wire.md 3.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from renderlayer.errors import BadRequest
from renderlayer.render.content_parts import content_parts
from renderlayer.render.renderers.harmony_text import NAMESPACE, developer_text

ASSISTANT, DEVELOPER = "assistant", "developer"
ANALYSIS, COMMENTARY, FINAL = "analysis", "commentary", "final"
JSON = "json"
_ROLES = ("user", ASSISTANT, "system", DEVELOPER, "tool")
_INSTRUCTING = ("system", DEVELOPER)


class Message(NamedTuple):
    """A harmony message.

    Attributes:
        author: role, or name of the tool that answers.
        texts: the content; its parts are encoded one by one.
        recipient: whom the assistant calls, or whom a tool answers.
        content_type: of a call's arguments.
    """

    author: str
    texts: tuple[str, ...]
    channel: str = ""
    recipient: str = ""
    content_type: str = ""

    @property
    def is_call(self) -> bool:
        return self.author == ASSISTANT and bool(self.recipient)


def leading_instructions(messages: Sequence[dict[str, Any]]) -> tuple[str | None, Sequence[dict[str, Any]]]:
    """The text of a system or developer message that comes first, and the messages behind it."""
    if messages and messages[0]["role"] in _INSTRUCTING:
        return _joined(messages[0]), messages[1:]
    return None, messages


def harmony_messages(messages: Sequence[dict[str, Any]]) -> list[Message]:
    """Convert a conversation. Analysis before the last final answer is left out.

    Raises:
        BadRequest: a role or a content part that harmony does not know.
    """
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    converted = [entry for message in messages for entry in _converted(message, names)]
    finals = [index for index, message in enumerate(converted) if message.channel == FINAL]
    last = finals[-1] if finals else 0
    return [message for index, message in enumerate(converted) if index >= last or message.channel != ANALYSIS]


def _converted(message: dict[str, Any], names: Mapping[str, str]) -> Iterator[Message]:
    if "author" in message:
        yield _written(message)
        return
    role = message["role"]
    if role not in _ROLES:
        raise BadRequest(f"Unknown role {role[:100]!r}. Harmony knows: {', '.join(_ROLES)}.")
    if role == ASSISTANT:
        yield from _assistant(message)
    elif role == "tool":
        yield _answer(message, names)
    elif role in _INSTRUCTING:
        if (instructions := _joined(message)) is not None:
            yield Message(DEVELOPER, (developer_text(instructions),))
    else:
        yield Message(role, _texts(message))


def _assistant(message: dict[str, Any]) -> Iterator[Message]:
    """Reasoning goes to analysis; text is the final answer, or before calls a commentary."""
    texts = _texts(message)
    calls = message.get("tool_calls") or ()
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    if calls and any(texts):
        yield Message(ASSISTANT, ("".join(texts),), COMMENTARY)
    if reasoning and not isinstance(reasoning, str):
        raise BadRequest("The reasoning of a message must be a string.", "messages")
    if reasoning:
        yield Message(ASSISTANT, (reasoning,), ANALYSIS)
    for call in calls:
        function = call["function"]
        recipient = f"{NAMESPACE}.{function['name']}"
        yield Message(ASSISTANT, (function["arguments"],), COMMENTARY, recipient, JSON)
    if not calls and any(texts):
        yield Message(ASSISTANT, texts, FINAL)


def _written(message: dict[str, Any]) -> Message:
    """A message that came in harmony's own form, texts as a list."""
    author = message["author"]
    values = [message.get(key) or "" for key in ("channel", "recipient", "content_type")]
    if author.get("role") not in _ROLES or not all(isinstance(value, str) for value in values):
        raise BadRequest(f"Unknown role {str(author.get('role'))[:100]!r}. Harmony knows: {', '.join(_ROLES)}.")
    unnamed = author["role"] if author["role"] != "tool" or author.get("name") is None else ""
    return Message(str(author.get("name") or unnamed), tuple(message["content"]), *values)


def _answer(message: dict[str, Any], names: Mapping[str, str]) -> Message:
    name = names.get(message.get("tool_call_id") or "")
    return Message(f"{NAMESPACE}.{name or ''}", (_joined(message) or "",), COMMENTARY, ASSISTANT)


def _texts(message: dict[str, Any]) -> tuple[str, ...]:
    """The content's texts, a part each; parts that hold none, such as images and thoughts, are empty."""
    return tuple(_text(part) or "" for part in content_parts(message))


def _joined(message: dict[str, Any]) -> str | None:
    """The content as one text; None when there is no text at all."""
    texts = [text for part in content_parts(message) if (text := _text(part)) is not None]
    return "".join(texts) if texts else None


def _text(part: Any) -> str | None:
    """What stands under a part's `text`, whatever its type; harmony has no form for anything else.

    Raises:
        BadRequest: that is no text.
    """
    text = part.get("text") if isinstance(part, dict) else part
    if not isinstance(text, str | None):
        raise BadRequest("The text of a content part must be a string.")
    return text
