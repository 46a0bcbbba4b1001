"""The assistant's message and its deltas (wire.md 6.5 to 6.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from renderlayer.derender.core.chat_calls import CallEncoder, whole_call
from renderlayer.derender.core.options import Options
from renderlayer.parsers.core.events import Answer, Call, Content, Event, Reasoning

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
        out["tool_calls"] = [whole_call(call, options.custom) for call in calls]
    out["reasoning"] = answer.reasoning if options.include_reasoning else None
    return out


def kept_calls(calls: Sequence[Call], options: Options) -> Sequence[Call]:
    """The tool calls that reach the client."""
    if not options.keep_calls:
        return ()
    return calls if options.parallel else calls[:1]


def delta(events: Iterable[Event], options: Options, encoder: CallEncoder, finished: bool = False) -> Json:
    """What a chunk adds; absent values as nulls, the role left to the caller.

    Args:
        teller: tells the calls, from chunk to chunk.
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
    out: Json = {"role": None, "content": "".join(content) or None, "reasoning": None}
    if options.include_reasoning:
        out["reasoning"] = "".join(reasoning) or None
    if calls := encoder.encoded(finished):
        out["tool_calls"] = calls
    return out


def finish_reason(given: str | None, called: bool, options: Options) -> str | None:
    """ "stop" becomes "tool_calls" after calls, unless the request named the function."""
    return "tool_calls" if given == "stop" and called and not options.named else given
