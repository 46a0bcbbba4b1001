"""What a family's own template writes around calls, and what only looks like a call."""

from __future__ import annotations

import json

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


def test_mistrals_older_models_write_an_array() -> None:
    text = (
        '[TOOL_CALLS] [{"arguments": {"days": 3}, "name": "get_weather", "id": "call00000"}, '
        '{"name": "search", "arguments": {"q": "[TOOL_CALLS] ]"}, "id": "call00001"}]'
    )

    assert read("mistral", text) == (None, [("get_weather", '{"days": 3}'), ("search", '{"q": "[TOOL_CALLS] ]"}')])


def test_what_the_schema_calls_a_string_is_one_whatever_it_spells() -> None:
    text = (
        '<atem:function_calls><atem:invoke name="search"><atem:parameter name="q">3</atem:parameter>'
        '<atem:parameter name="other">3</atem:parameter></atem:invoke></atem:function_calls>'
    )

    assert read("muse_glimmer", text)[1] == [("search", '{"q": "3", "other": 3}')]


def test_an_element_without_content_is_empty_as_its_type_is() -> None:
    mark = "]<]minimax[>["
    text = (
        f'{mark}<tool_call>{mark}<invoke name="get_weather">{mark}<tags>{mark}</tags>{mark}<where>{mark}</where>'
        f"{mark}<city>{mark}</city>{mark}</invoke>{mark}</tool_call>"
    )

    assert read("minimax_m3", text) == (None, [("get_weather", '{"tags": [], "where": {}, "city": ""}')])


@pytest.mark.parametrize(
    ("tool", "around"), [("lfm2", "<|tool_call_start|>[{}]<|tool_call_end|>"), ("pythonic", "[{}]")]
)
def test_names_may_have_hyphens_in_python_notation(tool: str, around: str) -> None:
    text = around.replace("{}", "mcp__read-file(file-path='/tmp', n=-1)")

    assert read(tool, text) == (None, [("mcp__read-file", '{"file-path": "/tmp", "n": -1}')])


def test_llama4_writes_json_behind_its_python_markers() -> None:
    text = f"<|python_start|><|python_end|>{PARAMETERS}{PARAMETERS}"

    assert read("llama4_json", text) == (None, [("get_weather", '{"days": 3}')] * 2)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("gigachat3", "Text<|message_sep|>"),
        ("llama4_json", "<|python_start|>Text<|python_end|>"),
        ("llama4_json", f"<|python_start|>Text<|python_end|>{PARAMETERS}"),
    ],
)
def test_separators_are_no_text_where_no_call_follows(tool: str, text: str) -> None:
    assert read(tool, text)[0] == "Text"


def test_a_call_does_not_begin_inside_a_value() -> None:
    text = (
        "<tool_call>search<arg_key>q</arg_key><arg_value>before <tool_call> after</arg_value></tool_call>"
        "<tool_call>search<arg_key>q</arg_key><arg_value>a <tool_call>b</arg_value></tool_call>"
    )

    assert read("glm45", text) == (
        None,
        [("search", '{"q": "before <tool_call> after"}'), ("search", '{"q": "a <tool_call>b"}')],
    )


def test_what_stands_between_elements_is_told_after_the_call() -> None:
    mark = "]<]minimax[>["
    call = (
        f'{mark}<invoke name="get_weather">Well, {mark}<city>Paris{mark}</city> and so {mark}<where>'
        f"{mark}<a>1{mark}</a> oh {mark}</where>{mark}</invoke>"
    )

    content, calls = read("minimax_m3", f"{mark}<tool_call>{call}{mark}</tool_call>")

    assert calls == [("get_weather", '{"city": "Paris", "where": {"a": 1}}')]
    assert content == "Well,  and so  oh"


def test_a_tag_in_a_string_element_is_text() -> None:
    mark = "]<]minimax[>["
    call = f'{mark}<invoke name="get_weather">{mark}<city>a {mark}<b>c{mark}</city>{mark}</invoke>'

    assert read("minimax_m3", f"{mark}<tool_call>{call}{mark}</tool_call>") == (
        None,
        [("get_weather", json.dumps({"city": f"a {mark}<b>c"}))],
    )


def test_functiongemma_strings_are_strings_where_the_schema_says_so() -> None:
    text = (
        "<start_function_call>call:search{q:<escape>3<escape>,n:<escape>3<escape>,more:<escape>[3]<escape>}"
        "<end_function_call>"
    )

    assert read("functiongemma", text) == (None, [("search", '{"q": "3", "n": 3, "more": [3]}')])
