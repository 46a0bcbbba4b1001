"""The events of a streamed message, as Anthropic's Messages API sends them, and the message as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_core import from_json

from renderlayer.derender.events.blocks import Action, Begin, More
from renderlayer.derender.events.encoder import Memory, Named, named
from renderlayer.derender.events.sequence import Counts, Step
from renderlayer.errors import anthropic_error_type

Json = dict[str, Any]
# The field of a block that its deltas add to, and the delta's type, by the block's type.
_DELTAS = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "repetition": "end_turn", "content_filter": "refusal"}


class MessagesEncoder:
    """Tells a message.

    Args:
        message_id: the message's id.
        model: the name to answer with.
        index, kind: the last block's index and type, where another call told it.
    """

    def __init__(self, message_id: str, model: str, index: int = -1, kind: str = "") -> None:
        self._head = (message_id, model)
        self._index = index
        self._kind = kind

    def memory(self) -> Memory:
        """Nothing: the blocks tell it all."""
        return 0, 0, 0, ""

    def begin(self, counts: Counts) -> list[Named]:
        """message_start."""
        return [named("message_start", {"message": message(*self._head, [], None, None, usage(counts))})]

    def encode(self, action: Action) -> list[Named]:
        """content_block_start, _delta, _stop."""
        if isinstance(action, Begin):
            block = new_block(action)
            self._index, self._kind = action.index, block["type"]
            return [named("content_block_start", {"index": self._index, "content_block": block})]
        if isinstance(action, More):
            kind, field = _DELTAS[self._kind]
            delta = {"type": kind, field: action.text}
            return [named("content_block_delta", {"index": self._index, "delta": delta})]
        return [named("content_block_stop", {"index": self._index})]

    def end(self, step: Step, called: bool, counts: Counts) -> list[Named]:
        """message_delta and message_stop."""
        reason, sequence = stop(step, called)
        delta = {"stop_reason": reason, "stop_sequence": sequence}
        return [named("message_delta", {"delta": delta, "usage": usage(counts)}), named("message_stop", {})]

    def failed(self, error: Json) -> Named:
        """The API's error event."""
        return named("error", {"error": {"type": anthropic_error_type(error["code"]), "message": error["message"]}})


def message(
    message_id: str, model: str, content: list[Json], reason: str | None, sequence: str | None, used: Json
) -> Json:
    """A Message object."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "content": content,
        "model": model,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": used,
    }


def content_of(actions: Iterable[Action]) -> list[Json]:
    """The content blocks that the actions of a whole answer make up."""
    content: list[Json] = []
    texts: list[list[str]] = []
    for action in actions:
        if isinstance(action, Begin):
            content.append(new_block(action))
            texts.append([])
        elif isinstance(action, More):
            texts[-1].append(action.text)
    for block, parts in zip(content, texts, strict=True):
        text = "".join(parts)
        if block["type"] == "tool_use":
            block["input"] = _input(text)
        else:
            block[block["type"]] = text
    return content


def new_block(begin: Begin) -> Json:
    """A content block that has just begun."""
    if begin.kind == "call":
        return {"type": "tool_use", "id": begin.call_id, "name": begin.name, "input": {}}
    if begin.kind == "reasoning":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def stop(step: Step, called: bool) -> tuple[str | None, str | None]:
    """stop_reason and stop_sequence; None for endings of which the API knows nothing (abort)."""
    if step.finish_reason == "stop" and isinstance(step.stop_reason, str):
        return "stop_sequence", step.stop_reason
    if step.finish_reason == "stop" and called:
        return "tool_use", None
    return _STOP_REASONS.get(step.finish_reason or ""), None


def usage(counts: Counts) -> Json:
    """Token counts: what came from the cache is not among the input tokens, thinking is among the output tokens."""
    cached = counts.cached or 0
    return {
        "input_tokens": max(counts.prompt - cached, 0),
        "cache_creation_input_tokens": 0 if counts.cached is not None else None,
        "cache_read_input_tokens": counts.cached,
        "output_tokens": counts.output,
        "output_tokens_details": {"thinking_tokens": counts.reasoning} if counts.reasoning else None,
    }


def _input(text: str) -> Json:
    """Arguments as an object: of cut-off ones what is complete, as the official client reads a stream of them."""
    try:
        value = from_json(text, allow_partial=True) if text else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
