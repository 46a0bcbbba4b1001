"""Response templates of made-up models: one for each way in which fields and calls may be written."""

from __future__ import annotations

from typing import Any

_FUNCTION = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}

OBJECTS: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|turn|>model\n",
    "fields": {
        "thinking": {"open": "<plan>", "close": ["</plan>", "<end_plan>"]},
        "tool_calls": {
            "open_pattern": r"\s*<do>",
            "close": "</do>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"\s*(?:<\|turn_end\|>|<\|stop\|>|$)"},
    },
}
"""Calls as JSON objects; content is what stands outside of all else."""

NOTATION: dict[str, Any] = {
    "start_anchor": ["<|turn|>model\n", "<result|>"],
    "fields": {
        "thinking": {"open": "<|room>thought\n", "close": "<room|>"},
        "tool_calls": {
            "open_pattern": r"<\|do>call:(?P<name>[\w.-]+)",
            "close": "<do|>",
            "repeats": True,
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [["<|'|>", "<|'|>"]]},
            "transform": _FUNCTION,
        },
        "content": {"close": ["<turn|>", "<|result>"]},
    },
}
"""Arguments in a notation like JSON, with keys without quotes and strings between markers."""

TAGS: dict[str, Any] = {
    "start_anchor_pattern": r"<\|assistant\|>\n?",
    "fields": {
        "thinking": {"open_pattern": r"<\|thought\|>\n?", "close": "<|end|>"},
        "content": {"open_pattern": r"<\|say\|>\n?", "close": ["<|end|>", "<|eot|>"]},
        "tool_calls": {
            "open_pattern": r'<\|do\|>\s*<call\s+name="(?P<name>[^"\n]+)">',
            "close_pattern": r"</call>\s*<\|end\|>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": r'<arg\s+name="(?P<key>[^"\n]+)">(?P<value>.*?)</arg>',
                "value_parser": {"name": "text", "args": {"strip": False}},
            },
            "transform": _FUNCTION,
        },
    },
}
"""Every field between markers, every argument between tags."""

LINES: dict[str, Any] = {
    "start_anchor": "model:",
    "fields": {
        "tool_calls": {
            "open_pattern": r"```call (?P<name>\w+)\n",
            "close": "```",
            "repeats": True,
            "content": "kv-lines",
            "content_args": {"kv_sep": "="},
            "transform": _FUNCTION,
        },
    },
}
"""Arguments line by line; no thinking."""

LISTED: dict[str, Any] = {
    "start_anchor": "<|bot|>",
    "fields": {
        "thinking": {"open": "<|muse|>", "close": "<|/muse|>"},
        "content": {"open": "<|text|>", "close": "<|/text|>"},
        "tool_calls": {
            "open": "<|acts|>",
            "close": "<|/acts|>",
            "content": "json",
            "transform_each": True,
            "transform": {"type": "function", "function": {"name": "{tool}", "arguments": "{input}"}},
        },
    },
}
"""All calls in one JSON array."""

PYTHON: dict[str, Any] = {
    "start_anchor": "<|bot|>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open": "<|calls>",
            "close": "<calls|>",
            "content": "python-call-list",
            "transform_each": True,
            "transform": {"function": {"name": "{name}", "arguments": "{arguments}"}},
        },
        "content": {"close": "<|eot|>"},
    },
}
"""All calls in one list, as Python writes them."""

TEMPLATES = {
    "objects": OBJECTS,
    "notation": NOTATION,
    "tags": TAGS,
    "lines": LINES,
    "listed": LISTED,
    "python": PYTHON,
}

EXAMPLES = {
    "objects": '<plan>Hm.</plan>Let me see.\n<do>{"name": "get_weather", "arguments": {"city": "Paris", "days": "3.0"}}'
    '</do>\n<do>\n{"name": "search", '
    '"arguments": {"q": "m\\u00e9t\\u00e9o \\"東京\\" \\ud83d\\udc4d\\nx", "n": 2}}</do>'
    "<|turn_end|>",
    "notation": "<|room>thought\nHm.<room|>Let me see.<|do>call:get_weather{city:<|'|>Paris<|'|>,days:3}<do|>"
    "<|do>call:search{q:<|'|>météo \"東京\" 👍\nx<|'|>,n:<|'|>2<|'|>}<do|><turn|>",
    "tags": "<|thought|>\nHm.<|end|><|say|>Let me see.<|end|>"
    '<|do|><call name="get_weather"><arg name="city">Paris</arg>\n<arg name="days">3.0</arg></call><|end|>'
    '<|do|>\n<call name="search"><arg name="q">météo "東京" 👍\nx</arg><arg name="n"> 2 </arg></call>\n<|end|><|eot|>',
    "lines": 'Let me see.```call get_weather\ncity=Paris\ndays = 3\n``````call search\nq=météo "東京" 👍\nn=2```',
    "listed": '<|muse|>Hm.<|/muse|><|text|>Let me see.<|/text|><|acts|>[\n{"tool": "get_weather", "input": {"city": '
    '"Paris", "days": 3}}, {"id": "7", "tool": "search", "input": {"q": "météo \\"東京\\" 👍\\nx", "n": 2}}]<|/acts|>',
    "python": "<think>Hm.</think>Let me see.<|calls>[get_weather(city='Paris', days=3), "
    "search(q='météo \"東京\" 👍\\nx', n=2)]<calls|><|eot|>",
}
"""Answers that think "Hm.", say "Let me see." and make the calls of `examples.CALLS`."""


MARKERS = {
    "objects": ("<plan>", "</plan>", "<end_plan>", "<do>", "</do>", "<|turn_end|>", "<|stop|>"),
    "notation": ("<|room>thought\n", "<room|>", "<|do>call:", "<do|>", "<|'|>", "<turn|>", "<|result>"),
    "tags": (
        *("<|thought|>", "<|say|>", "<|do|>", "<|end|>", "<|eot|>"),
        *('<call name="', '">', '<arg name="', "</arg>", "</call>"),
    ),
    "lines": ("```call ", "```", "\n", "="),
    "listed": ("<|muse|>", "<|/muse|>", "<|text|>", "<|/text|>", "<|acts|>", "<|/acts|>"),
    "python": ("<think>", "</think>", "<|calls>", "<calls|>", "<|eot|>"),
}
"""What the delimiters are made of."""

STANDARD = {"hf": "objects", "beam": "tags"}
"""The template with which a parser is tested beside all others."""
