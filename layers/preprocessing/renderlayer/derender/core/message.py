"""The assistant's message and its deltas, with calls of functions or of custom tools (wire.md 6.5 to 6.7, 11.1)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.derender.core.custom_input import CustomInput
from renderlayer.derender.core.options import Options
from renderlayer.parsers.core.events import Answer, Call, CallArguments, CallStart, Content, Event, Reasoning

if TYPE_CHECKING:
    from renderlayer.wire.answers import Delta, Message

Json = dict[str, Any]
# An open call of a custom tool: its index, and what its `CustomInput` remembers.
OpenCall = tuple[int, int, str]


def whole_call(call: Call, custom: Container[str]) -> Json:
    """A call of a whole message.

    Args:
        custom: names of custom tools.
    """
    if call.name not in custom:
        return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    reader = CustomInput()
    text = reader.push(call.arguments) + reader.finish()
    return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": text}}


class CallEncoder:
    """Tells the calls of a stream, one after the other.

    Args:
        custom: names of custom tools.
        open_call: what `memory` gave, to go on where another chunk ended.
    """

    def __init__(self, custom: Container[str] = (), open_call: OpenCall | None = None) -> None:
        self._custom = custom
        self._index, self._reader = -1, CustomInput()
        if open_call is not None:
            self._index, self._reader = open_call[0], CustomInput(*open_call[1:])
        self._rows: dict[int, Json] = {}

    def memory(self) -> OpenCall | None:
        """The custom tool's call that is open, if one is."""
        return (self._index, *self._reader.memory()) if self._index >= 0 else None

    def take(self, event: CallStart | CallArguments) -> None:
        """Add what an event tells to the chunk at hand."""
        if isinstance(event, CallStart):
            self._close()
            kind = "custom" if event.name in self._custom else "function"
            self._index = event.index if kind == "custom" else -1
            row = self._row(event.index)
            row["id"], row["type"], row[kind]["name"] = event.id, kind, event.name
        elif event.index == self._index:
            self._add(event.index, self._reader.push(event.text))
        else:
            function = self._row(event.index)["function"]
            function["arguments"] = (function["arguments"] or "") + event.text

    def encoded(self, finished: bool) -> list[Json]:
        """The chunk's calls; begins the next chunk.

        Args:
            finished: it is the last one.
        """
        if finished:
            self._close()
        rows, self._rows = list(self._rows.values()), {}
        return rows

    def _close(self) -> None:
        if self._index >= 0:
            self._add(self._index, self._reader.finish())
        self._index, self._reader = -1, CustomInput()

    def _add(self, index: int, text: str) -> None:
        if text:
            custom = self._row(index)["custom"]
            custom["input"] = (custom["input"] or "") + text

    def _row(self, index: int) -> Json:
        """The chunk's part of a call, its values null until they are told."""
        held = {"custom": {"name": None, "input": None}}
        if index != self._index:
            held = {"function": {"name": None, "arguments": None}}
        return self._rows.setdefault(index, {"id": None, "type": None, "index": index, **held})


def message(answer: Answer, options: Options) -> Message:
    """A whole message, keys in the reference's order; `tool_calls` only when there are some."""
    calls = kept_calls(answer.calls, options)
    out: Message = {
        "role": "assistant",
        "content": "" if options.forced and answer.content is None else answer.content,
        "refusal": None,
        "annotations": None,
        "audio": None,
        "function_call": None,
    }
    if calls:
        out["tool_calls"] = [whole_call(call, options.custom) for call in calls]
    out["reasoning"] = answer.reasoning if options.include_reasoning else None
    return out


def kept_calls(calls: Sequence[Call], options: Options) -> Sequence[Call]:
    """The tool calls that reach the client."""
    if not options.keep_calls:
        return ()
    return calls if options.parallel else calls[:1]


def delta(events: Iterable[Event], options: Options, encoder: CallEncoder, finished: bool = False) -> Delta:
    """What a chunk adds; absent values as nulls, the role left to the caller.

    Args:
        encoder: tells the calls, from chunk to chunk.
        finished: it is the last.
    """
    content: list[str] = []
    reasoning: list[str] = []
    for event in events:
        if isinstance(event, Content):
            content.append(event.text)
        elif isinstance(event, Reasoning):
            reasoning.append(event.text)
        elif options.keep_calls and (options.parallel or event.index == 0):
            encoder.take(event)
    out: Delta = {"role": None, "content": "".join(content) or None, "reasoning": None}
    if options.include_reasoning:
        out["reasoning"] = "".join(reasoning) or None
    if calls := encoder.encoded(finished):
        out["tool_calls"] = calls
    return out


def finish_reason(given: str | None, called: bool, options: Options) -> str | None:
    """ "stop" becomes "tool_calls" after calls, unless the request named the function."""
    return "tool_calls" if given == "stop" and called and not options.named else given
