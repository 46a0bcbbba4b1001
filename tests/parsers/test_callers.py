"""What users of other servers tripped over in tool calls and reasoning: kinds of faults, each with the bug report."""

from __future__ import annotations

import json

import pytest

from renderlayer.parsers import Answer, CallArguments, CallStart, Content, Reasoning
from tests.parsers.support import SEARCH, TURN, answered, asking, opened, pieces, streamed, told, tool

ALL_CHUNKS = ((1,), (2,), (3,), (7,), (1_000,))


def everywhere(tool: str | None, reasoning: str | None, text: str, **facts: object) -> Answer:
    """The answer, which must be the same for every chunking."""
    parser, words = opened(tool, reasoning)
    conversation = asking(**facts)
    whole = parser.parse(conversation, pieces(text, words))
    for chunks in ALL_CHUNKS:
        events, _ = streamed(parser, conversation, pieces(text, words, (2, 1)), chunks)
        assert parser.assemble(events) == whole
    return whole


def arguments_of(answer: Answer) -> list[object]:
    return [json.loads(call.arguments) for call in answer.calls]


def test_a_stray_opener_leaves_no_trace_in_the_arguments() -> None:
    """vllm#53638: a stray <tool_call> before the real one gave a trailing extra brace."""
    text = '<tool_call>\n<tool_call>\n{"name": "search", "arguments": {"q": {"a": 1}}}\n</tool_call>'

    answer = everywhere("hermes", None, text)

    assert arguments_of(answer) == [{"q": {"a": 1}}]
    assert answer.content is None


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("hermes", '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>'),
        ("hermes", '<tool_call>\n{"name": "get_time"}\n</tool_call>'),
        ("qwen3_coder", "<tool_call>\n<function=get_time>\n</function>\n</tool_call>"),
        ("glm45", "<tool_call>get_time\n</tool_call>"),
        ("pythonic", "[get_time()]"),
        ("gemma4", "<|tool_call>call:get_time{}<tool_call|>"),
        ("deepseek_v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜><｜tool▁call▁end｜>"),
        ("minimax_m2", '<minimax:tool_call>\n<invoke name="get_time">\n</invoke>\n</minimax:tool_call>'),
        ("openai", "<|channel|>commentary to=functions.get_time<|message|><|call|>"),
        ("minimax_m3", ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="get_time">]<]minimax[>[</invoke>'),
    ],
)
def test_a_tool_without_parameters_gets_the_empty_object(tool: str, text: str) -> None:
    """vllm#28806."""
    answer = everywhere(tool, None, text)

    assert [(call.name, call.arguments) for call in answer.calls] == [("get_time", "{}")]


def test_the_last_brace_arrives_when_a_chunk_has_several_tokens() -> None:
    """vllm#32152: speculative decoding puts the end of the arguments and of the call into one chunk."""
    text = '<tool_call>\n{"name": "search", "arguments": {"q": "x", "where": {"n": [1, {"m": 2}]}}}\n</tool_call>'

    assert arguments_of(everywhere("hermes", None, text)) == [{"q": "x", "where": {"n": [1, {"m": 2}]}}]


def test_one_chunk_ends_a_call_and_begins_the_next() -> None:
    """vllm#41967."""
    parser, words = opened("gemma4")
    text = '<|tool_call>call:search{q:<|"|>a<|"|>}<tool_call|><|tool_call>call:search{q:<|"|>b<|"|>}<tool_call|>'
    tokens = pieces(text, words)
    middle = next(n for n, (_, part) in enumerate(tokens) if part == "<tool_call|>")
    _, state = parser.feed(parser.start(asking()), tokens[: middle - 1])

    events, state = parser.feed(state, tokens[middle - 1 : middle + 17])

    assert [type(event) for event in events] == [CallArguments, CallStart]
    assert [event.index for event in events if not isinstance(event, (Content, Reasoning))] == [0, 1]


def test_partial_json_is_streamed_as_it_is_written() -> None:
    """vllm#10395, #19056: escapes, brackets in strings and numbers survive being cut anywhere."""
    arguments = r'{"q": "a \"quoted\" \\ {brace} [bracket] \u00e9\n", "n": -1.5e3, "x": null}'

    answer = everywhere("hermes", None, f'<tool_call>\n{{"name": "search", "arguments": {arguments}}}\n</tool_call>')

    assert answer.calls[0].arguments == arguments


def test_strings_stream_while_they_grow() -> None:
    """vllm#33218: GLM's strings came only when they were complete."""
    parser, words = opened("glm45")
    text = "<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>" + "word " * 50
    parts: list[str] = []
    state = parser.start(asking())
    for piece in pieces(text, words, (5,)):
        events, state = parser.feed(state, [piece])
        parts += [event.text for event in events if isinstance(event, CallArguments)]

    assert len(parts) > 45
    assert "".join(parts) == '{"q": "' + "word " * 50


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_several_tokens_at_once_break_nothing(size: int) -> None:
    """vllm#15177."""
    parser, words = opened("qwen3_coder", "qwen3")
    text = (
        "<think>Two of them.</think>\n<tool_call>\n<function=search>\n<parameter=q>\na\n</parameter>\n</function>\n"
        "</tool_call>\n<tool_call>\n<function=get_weather>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
    )

    events, _ = streamed(parser, asking(), pieces(text, words), (size,))

    reasoning, content, calls = told(parser, events)
    assert (reasoning, content) == ("Two of them.", "")
    assert [(name, json.loads(given)) for _, name, given in calls] == [
        ("search", {"q": "a"}),
        ("get_weather", {"days": 3}),
    ]


def test_markers_that_are_special_tokens_are_read_by_id_even_without_text() -> None:
    """vllm#42103: a detokenizer that drops special tokens lost Gemma's delimiters."""
    parser, words = opened("gemma4", "gemma4")
    text = '<|channel>thought\nHm.<channel|>Yes.<|tool_call>call:search{q:<|"|>a<|"|>}<tool_call|>'
    silent = [(token_id, "" if token_id in words.special_ids else part) for token_id, part in pieces(text, words)]

    assert parser.parse(asking(), silent) == parser.parse(asking(), pieces(text, words))


def test_a_marker_whose_text_comes_with_the_next_token() -> None:
    """vllm#38864: text that lags behind its token id is not lost and not doubled."""
    parser, words = opened(None, "qwen3")
    close = words.added["</think>"]
    tokens = [(97, "Hm"), (98, ""), (close, ".</think>"), (99, "Yes"), (100, ".")]

    answer = parser.parse(asking(), tokens)

    assert answer == Answer("Hm.", "Yes.", [])


@pytest.mark.parametrize("reasoning", ["qwen3", "deepseek_r1", "glm45", "kimi_k2", "minimax_m2", "nemotron_v3"])
def test_thinking_that_is_cut_off_is_reasoning(reasoning: str) -> None:
    """Rapid-MLX#575: the template opened <think>, and the length ended the answer before it was closed."""
    _, words = opened(None, reasoning)
    prompt = [words.added[TURN], 97, words.added["<think>"], 10]

    answer = everywhere(None, reasoning, "Let me think about", prompt_token_ids=prompt)

    assert answer == Answer("Let me think about", None, [])


def test_thinking_that_a_budget_ends_is_followed_by_content() -> None:
    """vllm#39697: the engine inserts </think> when the thinking budget is spent, in the middle of a sentence."""
    answer = everywhere(None, "qwen3", "First I should</think>It is 4.")

    assert answer == Answer("First I should", "It is 4.", [])


def test_harmony_keeps_the_preamble_and_the_call() -> None:
    """vllm#28262, #23567: commentary before a call, and the call itself, were lost."""
    text = (
        "<|channel|>analysis<|message|>Need a tool.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>Looking it up.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>"
        '{"q": "x"}<|call|>'
    )

    answer = everywhere("openai", None, text)

    assert (answer.reasoning, answer.content) == ("Need a tool.", "Looking it up.")
    assert [(call.name, call.arguments) for call in answer.calls] == [("search", '{"q": "x"}')]


@pytest.mark.parametrize("tool", ["hermes", "mistral", "qwen3_coder", "llama3_json"])
def test_the_same_chunk_twice_gives_the_same_call_id(tool: str) -> None:
    """vllm#57571: a retried chunk began the call anew, with another id."""
    parser, words = opened(tool)
    text = {
        "hermes": '<tool_call>{"name": "search", "arguments": {}}',
        "mistral": "[TOOL_CALLS]search[ARGS]{}",
        "qwen3_coder": "<tool_call><function=search></function>",
        "llama3_json": '{"name": "search", "parameters": {}}',
    }[tool]
    state = parser.start(asking(seed="chatcmpl-1:0"))

    first, _ = parser.feed(state, pieces(text, words))
    again, _ = parser.feed(state, pieces(text, words))
    other, _ = parser.feed(parser.start(asking(seed="chatcmpl-1:1")), pieces(text, words))

    assert first == again
    assert first != other


@pytest.mark.parametrize("template_closed", [True, False])
def test_the_prompt_decides_whether_thinking_is_over(template_closed: bool) -> None:
    """vllm#53284: a template closed the think block by itself, and the whole answer became reasoning."""
    _, words = opened(None, "qwen3")
    tail = ["<think>", "</think>"] if template_closed else ["<think>"]
    prompt = [words.added[TURN], 97, *(words.added[marker] for marker in tail), 10]

    answer = answered(None, "qwen3", "It is 4.", prompt_token_ids=prompt)

    assert answer == (Answer(None, "It is 4.", []) if template_closed else Answer("It is 4.", None, []))


CUSTOM = tool("apply_patch", input={"type": "string"})


@pytest.mark.parametrize("chunks", [(1,), (4,), (1_000,)], ids=str)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hermes", '<tool_call>\n{{"name": "apply_patch", "arguments": {}}}\n</tool_call>'),
        ("mistral", "[TOOL_CALLS]apply_patch[ARGS]{}"),
    ],
)
def test_a_custom_tools_input_may_be_a_mere_string(name: str, text: str, chunks: tuple[int, ...]) -> None:
    parser, words = opened(name)
    given = asking(tools=[CUSTOM, SEARCH])
    patch = '*** Begin\n+a "b" \\ é👍'

    events, _ = streamed(parser, given, pieces(text.format(json.dumps(patch)), words), chunks)

    assert [json.loads(call.arguments) for call in parser.assemble(events).calls] == [{"input": patch}]
