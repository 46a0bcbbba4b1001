"""The assistant's message and its deltas (wire.md 6.5 to 6.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from renderlayer.derender.options import Options
from renderlayer.parsers.events import Answer, Call, CallArguments, CallStart, Content, Event, Reasoning

Json = dict[str, Any]


def message(answer: Answer, options: Options) -> Json:
    """A whole message, keys in the reference's order; `tool_calls` only when there are some."""
    calls = kept_calls(answer.calls, options)
    out: Json = {
        "role": "assistant",
        "content": "" if options.forced and answer.content is None else answer.content,
        "refusal": None,
        "annotations": None,
        "audio": None,
        "function_call": None,
    }
    if calls:
        out["tool_calls"] = [_call(call) for call in calls]
    out["reasoning"] = answer.reasoning if options.include_reasoning else None
    return out


def kept_calls(calls: Sequence[Call], options: Options) -> Sequence[Call]:
    """The tool calls that reach the client."""
    if not options.keep_calls:
        return ()
    return calls if options.parallel else calls[:1]


def delta(events: Iterable[Event], options: Options) -> Json:
    """What a chunk adds; absent values as nulls, the role left to the caller."""
    content: list[str] = []
    reasoning: list[str] = []
    calls: dict[int, Json] = {}
    for event in events:
        if isinstance(event, Content):
            content.append(event.text)
        elif isinstance(event, Reasoning):
            reasoning.append(event.text)
        elif options.keep_calls and (options.parallel or event.index == 0):
            _extend(calls, event)
    out: Json = {"role": None, "content": "".join(content) or None, "reasoning": None}
    if options.include_reasoning:
        out["reasoning"] = "".join(reasoning) or None
    if calls:
        out["tool_calls"] = list(calls.values())
    return out


def finish_reason(given: str | None, called: bool, options: Options) -> str | None:
    """ "stop" becomes "tool_calls" after calls, unless the request named the function."""
    return "tool_calls" if given == "stop" and called and not options.named else given


def _call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _extend(calls: dict[int, Json], event: CallStart | CallArguments) -> None:
    row = calls.setdefault(
        event.index,
        {"id": None, "type": None, "index": event.index, "function": {"name": None, "arguments": None}},
    )
    if isinstance(event, CallStart):
        row["id"], row["type"], row["function"]["name"] = event.id, "function", event.name
    else:
        row["function"]["arguments"] = (row["function"]["arguments"] or "") + event.text
