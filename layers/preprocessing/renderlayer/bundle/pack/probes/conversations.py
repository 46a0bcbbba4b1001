"""Conversations on which template engines are compared."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One rendering: messages in one content format, tools and kwargs."""

    conversation: list[Message]
    tools: list[dict[str, Any]] | None
    kwargs: dict[str, Any]


def _call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "function": {"arguments": arguments, "name": name}, "type": "function"}


_USER: Message = {"role": "user", "content": "What's <b>5 > 3 & 2</b>? 'Ünïcode' 日本 👍🏽\n\n\tend  "}
_SYSTEM: Message = {"role": "system", "content": '  You are "terse".\n'}
_ASSISTANT: Message = {"role": "assistant", "content": "\n\nIt is <true>.\n"}
_THINKING: Message = {
    "role": "assistant",
    "content": "Done.",
    "reasoning": "Let me think…\n\n",
    "reasoning_content": "Let me think…\n\n",
}
_INLINE_THINKING: Message = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nYes."}
_ARGUMENTS = {
    "city": 'Zürich\n"x" <&>',
    "days": 3,
    "exact": 2.50,
    "huge": 12345678901234567890123,
    "flag": True,
    "nothing": None,
    "list": [1, "two", {"three": [3.5]}],
    "nested": {"items": [1], "keys": {}, "": ""},
}
_CALLING: Message = {
    "role": "assistant",
    "content": "",
    "tool_calls": [_call("call_abc123def", "get_weather", _ARGUMENTS), _call("call_2bcdefghi", "noop", {})],
}
_CALLING_ALOUD: Message = {
    "role": "assistant",
    "content": "Let me look.",
    "tool_calls": [_call("123456789", "get_weather", {"items": ["a"], "values": 1, "get": "x", "city": "Oslo"})],
}
_RESULT: Message = {"role": "tool", "content": '{"temp": 21.5, "unit": "°C"}', "tool_call_id": "call_abc123def"}
_RESULT2: Message = {"role": "tool", "content": "none", "tool_call_id": "call_2bcdefghi", "name": "noop"}
_RESULT3: Message = {"role": "tool", "content": "[]", "tool_call_id": "123456789", "name": "get_weather"}
_DEVELOPER: Message = {"role": "developer", "content": "Answer in French."}

_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": 'Weather <b>now</b> & later; it\'s "good".\nSecond line, ünïcode.',
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "City's name", "enum": ["Oslo", "Zürich"]},
                    "days": {"type": ["integer", "null"], "default": 1, "minimum": 0.5},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "where": {
                        "type": "object",
                        "properties": {"items": {"type": "number"}, "keys": {"anyOf": [{"type": "string"}]}},
                        "required": ["items"],
                    },
                    "flag": {"type": "boolean", "default": False},
                },
                "required": ["city", "days"],
                "additionalProperties": False,
            },
        },
    },
    {"type": "function", "function": {"name": "noop", "description": None, "parameters": None}},
    {
        "type": "function",
        "function": {
            "name": "empty",
            "description": "",
            "parameters": {"type": "object", "properties": {}},
            "strict": True,
        },
    },
]

_WHOLE_TOOLS = [tool for tool in _TOOLS if None not in tool["function"].values()]
"""Tools for templates that fail on a null; where both engines fail, nothing is compared."""

_CONVERSATIONS: list[list[Message]] = [
    [_USER],
    [_SYSTEM, _USER],
    [_SYSTEM],
    [_ASSISTANT],
    [_USER, _ASSISTANT, _USER],
    [_SYSTEM, _USER, _THINKING, _USER],
    [_USER, _INLINE_THINKING, _USER],
    [_USER, _THINKING],
    [_USER, _ASSISTANT, {**_USER, "content": ""}],
    [_USER, _USER],
    [_DEVELOPER, _USER],
    [{"role": "critic", "content": "odd role", "name": "n"}, _USER],
    [_USER, _CALLING, _RESULT, _RESULT2],
    [_SYSTEM, _USER, _CALLING, _RESULT, _RESULT2, _ASSISTANT, _USER],
    [_USER, {**_CALLING_ALOUD, "reasoning": "Hm.", "reasoning_content": "Hm."}, _RESULT3, _THINKING, _USER],
    [_USER, _CALLING_ALOUD],
    [_USER, {**_USER, "content": "\n<|im_start|>{{ 1 }} {% raw %} </think> [INST]"}],
    [
        {**_SYSTEM, "content": "\u2003\x85 a\u2028b\x0bc\x0cd\re \u3000\n"},
        {**_USER, "content": " \r\n\u00a0ǅ ß İ\u200b "},
    ],
    [{**_USER, "content": "x" * 300}, {"role": "assistant", "content": ""}, _USER],
]

_KWARGS: list[dict[str, Any]] = [
    {},
    {"enable_thinking": False, "thinking": False},
    {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
    {"reasoning_effort": "low", "clear_thinking": False, "preserve_thinking": True, "date_string": "1 Jan 2026"},
    {"documents": [{"title": "Doc <1>", "text": "Text & more"}], "citations": True, "custom_system_prompt": "X"},
]


def cases(content_format: str) -> Iterator[Case]:
    """Every conversation with two lists of tools and without, with and without a generation prompt, and some kwargs.

    Args:
        content_format: "string" or "openai", the form of the contents.
    """
    for index, conversation in enumerate(_CONVERSATIONS):
        messages = [_formatted(message, content_format) for message in conversation]
        for tools in (None, _TOOLS, _WHOLE_TOOLS):
            for prompt in (True, False):
                # every kwargs variant with some conversation, not all with all: the product would take seconds
                for variant in (0, 1 + index % (len(_KWARGS) - 1)):
                    kwargs = {"add_generation_prompt": prompt, **_KWARGS[variant]}
                    yield Case(copy.deepcopy(messages), copy.deepcopy(tools), copy.deepcopy(kwargs))


def _formatted(message: Message, content_format: str) -> Message:
    if content_format == "string" or message["role"] == "tool":
        return message
    parts: list[Message] = [{"type": "text", "text": message["content"]}] if message["content"] else []
    if message["role"] == "user":
        parts += [{"type": "image"}, {"type": "text", "text": "and this", "cache_control": {"type": "ephemeral"}}]
    return {**message, "content": parts}
