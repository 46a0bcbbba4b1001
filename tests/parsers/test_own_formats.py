"""What a family's own template writes around calls, and what only looks like a call."""

from __future__ import annotations

import pytest

from tests.parsers.support import answered, asking, opened, pieces, streamed, told

CALL = '{"name": "get_weather", "arguments": {"days": 3}}'
PARAMETERS = CALL.replace("arguments", "parameters")


def read(tool: str, text: str, **facts: object) -> tuple[str | None, list[tuple[str, str]]]:
    """Content and calls of the whole answer, after making sure that a stream of single tokens tells the same."""
    parser, words = opened(tool)
    answer = answered(tool, None, text, **facts)
    _, content, calls = told(parser, streamed(parser, asking(**facts), pieces(text, words), (1,))[0])
    assert (content.strip(), [call[1:] for call in calls]) == (
        (answer.content or "").strip(),
        [(call.name, call.arguments) for call in answer.calls],
    )
    return answer.content, [(call.name, call.arguments) for call in answer.calls]


@pytest.mark.parametrize("tool", ["llama3_json", "llama4_json", "xlam"])
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Alice", "age": 3}',
        '{"name": "get_time"}',
        '{"name": "Alice", "arguments": {"for": "and against"}}',
        '{"name": "Alice", "parameters": {}}',
        '[{"name": "Alice", "arguments": {}}]',
        '{"name": 1, "arguments": {}}',
    ],
)
def test_an_object_is_no_call_by_its_name_alone(tool: str, text: str) -> None:
    assert read(tool, text) == (text, [])


@pytest.mark.parametrize(("tool", "call"), [("llama3_json", PARAMETERS), ("llama4_json", CALL), ("xlam", f"[{CALL}]")])
def test_an_object_is_a_call_with_arguments_and_the_name_of_a_tool(tool: str, call: str) -> None:
    assert read(tool, call) == (None, [("get_weather", '{"days": 3}')])


@pytest.mark.parametrize(
    "text", ['<|python_tag|>{"name": "other"}', '<|python_tag|>{"name": "other", "parameters": {}}']
)
def test_an_opener_is_no_guess(text: str) -> None:
    assert read("llama3_json", text) == (None, [("other", "{}")])


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"Let me check.\n[TOOL_CALLS][{CALL}]", "Let me check."),
        (f"Let me check.\n<tool_call>[{CALL}]</tool_call>", "Let me check."),
        (f"Let me check.\n```json\n[{CALL}]\n```", "Let me check."),
        (f"Let me check.\n```\n[{CALL}]\n```", "Let me check."),
        (f"Hm.\n</think>\n[{CALL}]", "Hm.\n</think>"),
        (f"Hm.\n</think>\n{CALL}", "Hm.\n</think>"),
    ],
)
def test_xlam_calls_behind_text(text: str, content: str) -> None:
    assert read("xlam", text) == (content, [("get_weather", '{"days": 3}')])


@pytest.mark.parametrize(
    "text",
    [
        'So:\n```json\n[{"name": "Bob", "arguments": {"a": 1}}]\n```\nand\n```\nx\n```',
        "So:\n```python\nprint(1)\n```",
        f"So:\n[{CALL}]",
        "Hm.\n</think>\nYes.\n</think>",
    ],
)
def test_what_is_no_call_of_xlam_stays_text(text: str) -> None:
    assert read("xlam", text) == (text, [])


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"Text<|message_sep|>\n\nfunction call<|role_sep|>\n{CALL}", "Text"),
        (f"<|message_sep|>\n\nfunction call<|role_sep|>\n{CALL}<|message_sep|>\n\n", None),
        (f"function call<|role_sep|>\n{CALL}", None),
        (f"A function call it is.<|function_call|>{CALL}", "A function call it is."),
    ],
)
def test_gigachat_has_separators(text: str, content: str | None) -> None:
    assert read("gigachat3", text) == (content, [("get_weather", '{"days": 3}')])


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ('<param name="q"><![CDATA[if a < b:\n  x & y]]></param>', '{"q": "if a < b:\\n  x & y"}'),
        ('<param name="q">\n<![CDATA[</param></function>]]>\n</param>', '{"q": "</param></function>"}'),
        ('<param name="q"><![CDATA[a ]]> b]]]]></param>', '{"q": "a ]]> b]]"}'),
        ('<param name="q"><![CDATA[a]]]]><![CDATA[>b]]></param>', '{"q": "a]]>b"}'),
        ('<param name="n"><![CDATA[ 5 ]]></param><param name="q">x</param>', '{"n": 5, "q": "x"}'),
        ('<param name="q"><![CDATA[]]></param>', '{"q": ""}'),
        ('<param name="q"><![CDAT</param>', '{"q": "<![CDAT"}'),
    ],
)
def test_minicpm_quotes_values(value: str, arguments: str) -> None:
    assert read("minicpm5", f'<function name="search">{value}</function>') == (None, [("search", arguments)])


@pytest.mark.parametrize("tool", ["seed_oss", "minicpm5", "qwen3_coder"])
def test_values_may_be_written_as_python_prints_them(tool: str) -> None:
    tags = {
        "minicpm5": ('<function name="get_weather">', '<param name="{}">{}</param>', "</function>"),
        "seed_oss": (
            "<seed:tool_call><function=get_weather>",
            "<parameter={}>{}</parameter>",
            "</function></seed:tool_call>",
        ),
        "qwen3_coder": ("<tool_call><function=get_weather>", "<parameter={}>{}</parameter>", "</function></tool_call>"),
    }
    before, member, after = tags[tool]
    text = before + member.format("tags", "['it', \"it's\", True, None, [1.5]]")
    text += member.format("where", "{'a': {'b': 'c, d'}}") + after

    assert read(tool, text)[1] == [
        ("get_weather", '{"tags": ["it", "it\'s", true, null, [1.5]], "where": {"a": {"b": "c, d"}}}')
    ]
