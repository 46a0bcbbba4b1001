"""What tool_choice makes of an answer, and which of its calls and words are kept."""

from __future__ import annotations

import json

import pytest

from renderlayer.parsers import TOOL_PARSERS, Answer, Content, Conversation, ParserNames, open_parser
from tests.parsers.examples import CALLS, TOOL_EXAMPLES
from tests.parsers.support import TOOLS_GIVEN, Facts, Model, answered, asking, opened, pieces, streamed

NAMED = {"type": "function", "function": {"name": "search"}}
JSON_FORCED = ["jamba", "granite", "olmo3", "seed_oss", "llama4_pythonic", "xlam"]
NATIVE = ["hermes", "qwen3_coder", "glm45", "kimi_k2", "mistral", "gemma4", "openai"]


def calls_of(answer: Answer) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in answer.calls]


IN_MESSAGES = {"openai", "inkling", "kimi_k3", "muse", "muse_glimmer", "musespark1x", "beam", "hf"}
"""Formats whose answers are messages with headers, or fields of a template, whose markup is told to nobody."""


@pytest.mark.parametrize("tool", JSON_FORCED)
def test_a_named_choice_is_bare_arguments(tool: str) -> None:
    assert calls_of(answered(tool, None, '{"q": "x"}', tool_choice=NAMED)) == [("search", '{"q": "x"}')]
    assert answered(tool, None, " \n", tool_choice=NAMED) == Answer(None, None, [])


@pytest.mark.parametrize("tool", JSON_FORCED)
@pytest.mark.parametrize("chunks", [(1,), (3,), (1_000,)], ids=str)
def test_a_required_choice_is_an_array(tool: str, chunks: tuple[int, ...]) -> None:
    parser, words = opened(tool)
    text = '[{"name": "search", "parameters": {"q": "x"}}, {"name": "get_time", "parameters": {}}]'

    events, _ = streamed(parser, asking(tool_choice="required"), pieces(text, words), chunks)

    assert calls_of(parser.assemble(events)) == [("search", '{"q": "x"}'), ("get_time", "{}")]


@pytest.mark.parametrize("text", ["No.", '{"q": 1}', '[{"name": "search", "arguments": {}}]', '[{"name": "sea'])
def test_a_required_choice_that_is_no_array_of_calls_is_content(text: str) -> None:
    assert answered("jamba", None, text, tool_choice="required") == Answer(None, text, [])


@pytest.mark.parametrize("text", ["No.", '["x"]', '"x"', '{"q": }', '{"q"'])
def test_a_named_choice_that_is_no_object_is_content(text: str) -> None:
    assert answered("jamba", None, text, tool_choice=NAMED) == Answer(None, text, [])


def test_a_named_choice_that_is_cut_off_is_closed() -> None:
    assert calls_of(answered("jamba", None, '{"q": "x', tool_choice=NAMED)) == [("search", '{"q": "x"}')]


@pytest.mark.parametrize("tool", NATIVE)
@pytest.mark.parametrize("choice", [NAMED, "required"], ids=["named", "required"])
def test_constrained_formats_stay_native_when_forced(tool: str, choice: object) -> None:
    forced = answered(tool, None, TOOL_EXAMPLES[tool], tool_choice=choice)

    assert calls_of(forced) == calls_of(answered(tool, None, TOOL_EXAMPLES[tool]))


@pytest.mark.parametrize("tool", ["hermes", "jamba", "qwen3_coder", "kimi_k2", "deepseek_v32", "gemma4", "mistral"])
@pytest.mark.parametrize("facts", [{"tool_choice": "none"}, {"tools": None}, {"tool_choice": None}], ids=str)
def test_where_no_calls_are_wanted_markup_is_text(tool: str, facts: dict[str, object]) -> None:
    assert answered(tool, None, TOOL_EXAMPLES[tool], **facts) == Answer(None, TOOL_EXAMPLES[tool], [])


@pytest.mark.parametrize(
    ("conversation", "kept"),
    [
        (Conversation(TOOLS_GIVEN, "auto"), True),
        (Conversation(None, "auto"), False),
        (Conversation(TOOLS_GIVEN, None), False),
        (Conversation(TOOLS_GIVEN, "none"), False),
        (Conversation(TOOLS_GIVEN, "required"), True),
        (Conversation(TOOLS_GIVEN, NAMED), True),
    ],
)
def test_when_calls_belong_into_the_answer(conversation: Conversation, kept: bool) -> None:
    parser, _ = opened("hermes")

    assert parser.keeps_calls(conversation) is kept


def test_a_reasoning_parser_alone_keeps_no_calls() -> None:
    parser, _ = opened(None, "qwen3")

    assert not parser.keeps_calls(asking())


@pytest.mark.parametrize(
    ("tool", "streamed_content", "whole_content"),
    [
        ("hermes", "\n\nLet me check.\n", "\n\nLet me check.\n"),
        ("kimi_k2", "\n\nLet me check.\n", "\n\nLet me check.\n"),
        ("qwen3_coder", "\n\nLet me check.\n", "Let me check."),
        ("mistral", "\n\nLet me check.\n", "Let me check."),
    ],
)
def test_content_before_calls_is_trimmed_in_messages_only(tool: str, streamed_content: str, whole_content: str) -> None:
    parser, words = opened(tool)
    events, _ = streamed(parser, asking(), pieces("\n\nLet me check.\n" + TOOL_EXAMPLES[tool], words), (1,))

    assert parser.assemble(events).content == whole_content
    assert "".join(event.text for event in events if isinstance(event, Content)) == streamed_content


@pytest.mark.parametrize("tool", ["hermes", "jamba", "internlm"])
def test_white_space_alone_is_no_content_beside_calls(tool: str) -> None:
    assert answered(tool, None, "\n\n" + TOOL_EXAMPLES[tool]).content is None


@pytest.mark.parametrize(
    "tool", ["hermes", "kimi_k2", "qwen3_coder", "lfm2", "granite4", "pythonic", "xlam", "mistral"]
)
def test_text_after_the_calls_is_content(tool: str) -> None:
    answer = answered(tool, None, TOOL_EXAMPLES[tool] + "\nDone.")

    assert (answer.content or "").strip() == "Done."
    assert len(answer.calls) == 2


@pytest.mark.parametrize(("tool", "calls"), [("glm45", 0), ("minimax_m2", 0), ("qwen3_coder", 1), ("hermes", 1)])
def test_calls_to_unknown_functions_are_calls_or_text(tool: str, calls: int) -> None:
    text = TOOL_EXAMPLES[tool].replace("search", "no_such_tool").replace("get_weather", "search")

    answer = answered(tool, None, text)

    assert len(answer.calls) == 1 + calls
    assert calls or "no_such_tool" in (answer.content or "")


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("minicpm5", '<function name="no_such_tool"><param name="x">1</param></function>'),
        ("glm45", "<tool_call>no_such_tool\n<arg_key>x</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"),
        (
            "minimax_m2",
            '<minimax:tool_call>\n<invoke name="no_such_tool">\n<parameter name="x">1</parameter>\n</invoke>'
            "\n</minimax:tool_call>",
        ),
    ],
)
def test_calls_to_unknown_functions_are_given_back_as_text(tool: str, text: str) -> None:
    assert answered(tool, None, text) == Answer(None, text, [])


def test_kimis_ids_are_its_own_and_go_on_from_the_history() -> None:
    own = answered("kimi_k2", None, TOOL_EXAMPLES["kimi_k2"])
    assert [call.id for call in own.calls] == ["functions.get_weather:0", "functions.search:1"]

    _, words = opened("hermes")
    parser = open_parser(ParserNames("hermes"), Model(words, Facts("kimi_k2")))
    assert parser is not None
    given = parser.parse(asking(history_tool_calls=3), pieces(TOOL_EXAMPLES["hermes"], words))
    assert [call.id for call in given.calls] == ["functions.get_weather:3", "functions.search:4"]


def test_mistrals_ids_have_nine_letters_or_are_its_own() -> None:
    ids = [call.id for call in answered("mistral", None, TOOL_EXAMPLES["mistral"]).calls]
    own = answered("mistral", None, "[TOOL_CALLS]search[CALL_ID]abc123XYZ[ARGS]{}").calls

    assert all(len(call_id) == 9 and call_id.isalnum() for call_id in ids)
    assert len({*ids}) == 2
    assert [call.id for call in own] == ["abc123XYZ"]


def test_other_ids_are_those_of_the_reference() -> None:
    ids = [call.id for call in answered("hermes", None, TOOL_EXAMPLES["hermes"]).calls]

    assert all(len(call_id.removeprefix("chatcmpl-tool-")) == 16 for call_id in ids)
    assert len({*ids}) == 2


def test_ids_are_random_without_a_seed() -> None:
    first, second = (answered("hermes", None, TOOL_EXAMPLES["hermes"], seed="") for _ in range(2))

    assert first.calls[0].id != second.calls[0].id


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("hermes", '<tool_call>{"arguments": {"q": "x"}, "name": "search"}</tool_call>'),
        ("hermes", '<tool_call>{"id": 1, "name": "search", "x": [1], "arguments": {"q": "x"}, "y": 2}</tool_call>'),
        ("llama3_json", '[{"name": "search", "parameters": {"q": "x"}}]'),
        ("mistral", '[TOOL_CALLS] [{"name": "search", "arguments": {"q": "x"}}]'),
        ("mistral", '[TOOL_CALLS]search{"q": "x"}'),
        ("qwen3_coder", "<function=search>\n<parameter=q>\nx\n</parameter>\n</function>"),
        ("qwen3_coder", "<tool_call><function=search><parameter=q>x</function></tool_call>"),
        ("qwen3_coder", "<tool_call><function=search><parameter=q>x\n<function=search><parameter=q>y</parameter>"),
        ("xlam", '[TOOL_CALLS][{"name": "search", "arguments": {"q": "x"}}]'),
        ("glm45", "<tool_call>search<arg_key> q </arg_key> : <arg_value>x</arg_value></tool_call>"),
        (
            "k2_horizon",
            "<ifm|tool_call>search<ifm|arg_key>q</ifm|arg_key><ifm|arg_value>x</ifm|arg_value></ifm|tool_call>",
        ),
    ],
)
def test_other_ways_to_write_a_call(tool: str, text: str) -> None:
    answer = answered(tool, None, text)

    assert answer.calls[0].name == "search"
    assert json.loads(answer.calls[0].arguments) == {"q": "x"}
    assert answer.content is None


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "search", "arg\n</tool_call>'),
        ("hermes", "The tag <tool_call> opens a call."),
        ("qwen3_coder", "The tag <tool_call> opens a call, <function=search> names it."),
        ("minimax_m2", 'The tag <minimax:tool_call> opens calls, <invoke name="search"> names one.'),
        ("glm45", "The tag <tool_call> opens a call."),
        ("llama3_json", 'Let me check. {"name": "search", "parameters": {}}'),
        ("pythonic", "[x(y)] is no call"),
        ("pythonic", "[1, 2, 3]"),
        ("jamba", '<tool_calls>[{"name": "search", "arguments": {"q'),
        ("hermes", '<tool_call>{"name": "search", "arguments": {"q": }}</tool_call>'),
        ("hermes", '<tool_call>{"name": "search", "arguments": "ls"}</tool_call>'),
        ("mistral", '[TOOL_CALLS]search[ARGS]["ls"]'),
        ("pythonic", "[search(q=01)]"),
        ("hermes", '<tool_call>{"name": "search", "arguments": "{\\"q\\": \\"x\\"}"}</tool_call>'),
        ("mistral", '[TOOL_CALLS][{"name": "search", "arguments": "{\\"q\\": \\"x\\"}"}]'),
        ("hermes", "Hi </tool_call> there"),
        ("hermes", '{"name": "search", "arguments": {"q": "x"}}</tool_call>'),
        ("qwen3_coder", "Hi </tool_call> there"),
        ("glm45", "search\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>"),
        ("minimax_m2", "Hi </minimax:tool_call> there"),
        ("kimi_k2", "Hi<|tool_calls_section_end|>"),
        ("gemma4", "Hi<tool_call|> there"),
        ("phi4_mini_json", "functools is a module"),
        ("kimi_k2", "<|tool_calls_section_begin|>nothing"),
        ("openai", "Plain words, no channel."),
    ],
)
def test_what_is_no_call_is_content(tool: str, text: str) -> None:
    parser, words = opened(tool)

    for chunks in ((1,), (1_000,)):
        events, _ = streamed(parser, asking(), pieces(text, words), chunks)
        assert parser.assemble(events) == Answer(None, text, [])


@pytest.mark.parametrize(
    ("tool", "text", "arguments"),
    [
        ("hermes", '<tool_call>{"name": "search", "arguments": {"q": "Pa', '{"q": "Pa"}'),
        ("hermes", '<tool_call>{"name": "search", "arguments": {"n": 1, "q":', '{"n": 1}'),
        (
            "kimi_k2",
            "<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>" + '{"q": ["a", {"b',
            '{"q": ["a", {}]}',
        ),
        ("qwen3_coder", "<tool_call><function=search><parameter=q>\nPa", '{"q": "Pa"}'),
        ("qwen3_coder", "<tool_call><function=search><parameter=n>\n1", '{"n": 1}'),
        ("qwen3_coder", "<tool_call><function=search><parameter=n>\nx", "{}"),
        ("qwen3_coder", "<tool_call><function=search><parameter=n>\n1</parameter><parameter=q", '{"n": 1}'),
        ("gemma4", '<|tool_call>call:search{q:<|"|>Pa', '{"q": "Pa"}'),
        *(
            ("deepseek_v32", f'<｜DSML｜invoke name="search"><｜DSML｜parameter name="q" string="false">{begun}', read)
            for begun, read in {"-": "{}", "1.": "{}", "tru": "{}", '"Pa': '{"q": "Pa"}', "12": '{"q": 12}'}.items()
        ),
        ("gemma4", '<|tool_call>call:search{n:1,q:<|"|>', '{"n": 1, "q": ""}'),
        ("functiongemma", "<start_function_call>call:search{q:<escape>", '{"q": ""}'),
        ("pythonic", "[search(q='Pa", '{"q": "Pa"}'),
        ("pythonic", "[search(n=1, q={'a': [1, ", '{"n": 1, "q": {"a": [1]}}'),
        ("openai", '<|channel|>commentary to=functions.search<|message|>{"q": "Pa', '{"q": "Pa"}'),
    ],
)
def test_a_call_that_is_cut_off_is_closed_as_far_as_it_came(tool: str, text: str, arguments: str) -> None:
    assert calls_of(answered(tool, None, text)) == [("search", arguments)]


@pytest.mark.parametrize("tool", [name for name in TOOL_PARSERS if name not in IN_MESSAGES])
def test_what_is_cut_off_before_it_is_a_call_is_told_whole(tool: str) -> None:
    parser, words = opened(tool)
    tokens = pieces("Well.\n" + TOOL_EXAMPLES[tool], words)

    for end in range(1, len(tokens)):
        answer = parser.parse(asking(), tokens[:end])
        if answer.calls:
            break
        assert (answer.content or "").rstrip() == "".join(text for _, text in tokens[:end]).rstrip()


@pytest.mark.parametrize("chunks", [(1,), (4,), (1_000,)])
@pytest.mark.parametrize(
    ("tool", "opener"),
    [
        ("qwen3_coder", "<tool_call>\n"),
        ("step3p5", "<tool_call>\n"),
        ("seed_oss", "<seed:tool_call>\n"),
        ("mimo", "<tool_call>\n"),
        ("minimax_m2", "<minimax:tool_call>\n"),
        ("deepseek_v32", "<｜DSML｜function_calls>\n"),
        ("kimi_k2", "<|tool_calls_section_begin|>"),
        ("deepseek_v31", "<｜tool▁calls▁begin｜>"),
    ],
)
def test_a_region_that_is_only_closed_is_one(tool: str, opener: str, chunks: tuple[int, ...]) -> None:
    text = TOOL_EXAMPLES[tool]
    assert opener in text
    parser, words = opened(tool)
    tokens = pieces(text.replace(opener, "") + "\nDone.", words)

    answer = parser.assemble(streamed(parser, asking(), tokens, chunks)[0])

    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == CALLS
    assert (answer.content or "").strip() == "Done."
