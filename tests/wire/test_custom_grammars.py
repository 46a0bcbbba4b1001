"""Grammars of custom tools: as a pattern, plain and as JSON spells the text, and as the engine is held to them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from renderlayer.constraints.adjust import adjust
from renderlayer.request_context import remarks
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.custom_grammars import pattern_of, spelled_in_json
from tests.parsers.tools import Names, tag_of

PATCH = r"""
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?
// names
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"""
CHANGE = '*** Begin Patch\n*** Update File: a"b.py\n@@ def f():\n-  return "x\\n"\n+\treturn 2 # 客\n*** End Patch\n'


def chat(definition: str, syntax: str = "lark") -> ChatCompletionRequest:
    form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
    tools = [{"type": "custom", "custom": {"name": "apply", "format": form}}]
    return parse(ChatCompletionRequest, {"messages": [{"role": "user", "content": "x"}], "tools": tools})


@pytest.mark.parametrize(
    ("syntax", "definition", "fit", "unfit"),
    [
        ("lark", PATCH, [CHANGE, "*** Begin Patch\n*** Delete File: a\n*** End Patch"], ["", "ls", CHANGE + "x"]),
        ("lark", 'start: "a"~2..3 ["b"]', ["aa", "aaab"], ["a", "aaaa", "aabb"]),
        ("lark", 'start: A B*\n  | "-"\nA: "\\n"\nB.2: /[^"]/', ["\n", "\nx\\", "-"], ["x", '\n"']),
        ("regex", r"^\d{4}-\d\d$", ["2026-11"], ["2026-1", "x2026-11"]),
        ("regex", r'"[^"\\]*"|\s+|[\w.-]{2,}', ['"a b"', "\n\t", "a-b.c"], ['"', "a", '"\\"']),
        ("regex", "a|b", ["a", "b"], ["ab", ""]),
    ],
)
def test_texts_that_fit(syntax: str, definition: str, fit: list[str], unfit: list[str]) -> None:
    pattern = pattern_of(syntax, definition)
    assert pattern is not None
    escaped = spelled_in_json(pattern)
    for text in fit:
        assert re.search(pattern, text)
        assert re.search(escaped, json.dumps(text, ensure_ascii=False)[1:-1])
    for text in unfit:
        assert not re.fullmatch(pattern, text)
        assert not re.fullmatch(escaped, json.dumps(text, ensure_ascii=False)[1:-1])


@pytest.mark.parametrize(
    ("syntax", "definition"),
    [
        ("lark", 'start: a\na: "x" a?'),
        ("lark", "start: missing"),
        ("lark", 'start: "a"\n%ignore " "'),
        ("lark", 'start: "a"i'),
        ("lark", "%import other.X\nstart: X"),
        ("lark", "no grammar"),
        ("lark", 'start: "a" &'),
        ("regex", "a(?=b)"),
        ("regex", r"(a)\1"),
        ("regex", "(?i)a"),
        ("regex", "(?i:a)"),
        ("regex", "("),
        ("regex", r"a\bc"),
        ("ebnf", "a"),
        ("regex", "(?:" * 5000 + ")" * 5000),
    ],
)
def test_what_has_no_pattern_is_a_hint_and_the_caller_is_told(syntax: str, definition: str) -> None:
    assert pattern_of(syntax, definition) is None
    with remarks() as told:
        function = (chat(definition, syntax).tool_dicts() or [])[0]["function"]
    assert "a hint in its description" in told[0]
    assert "pattern" not in function["parameters"]["properties"]["input"]
    assert definition in function["description"]


def test_rules_that_multiply_end() -> None:
    doubling = "\n".join(f"r{n}: r{n + 1} r{n + 1}" for n in range(40))
    assert pattern_of("lark", f'start: r0\n{doubling}\nr40: "a"') is None


@pytest.mark.parametrize("parser", ["hermes", "openai", "llama3_json", "kimi_k2", "qwen3_coder", "glm45"])
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_the_engine_is_held_to_it(parser: str, choice: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    before, after = {
        "hermes": ('<tool_call>{"name": "apply", "arguments": {"input": ', "}}</tool_call>"),
        "openai": ('<|channel|>commentary to=functions.apply json<|message|>{"input": ', "}<|end|>"),
        "llama3_json": ('{"name": "apply", "parameters": {"input": ', "}}"),
        "kimi_k2": (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.apply:0<|tool_call_argument_begin|>"
            + '{"input": ',
            "}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        "qwen3_coder": (
            "<tool_call>\n<function=apply>\n<parameter=input>\n",
            "\n</parameter>\n</function>\n</tool_call>",
        ),
        "glm45": ("<tool_call>apply<arg_key>input</arg_key><arg_value>", "</arg_value></tool_call>"),
    }[parser]
    change: Any = adjust(Names(parser), chat(PATCH).tool_dicts(), choice, hold_demanded=True)
    tag = json.dumps({"type": "structural_tag", "format": tag_of(change)})
    grammar = xgrammar.Grammar.from_structural_tag(tag)

    def passes(text: str) -> bool:
        spelled = text if parser in ("qwen3_coder", "glm45") else json.dumps(text, ensure_ascii=False)
        return bool(xgrammar.testing._is_grammar_accept_string(grammar, before + spelled + after))

    assert passes(CHANGE)
    assert not passes("ls")
