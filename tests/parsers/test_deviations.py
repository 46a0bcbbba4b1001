"""Where answers differ from the reference's on purpose (layers/preprocessing/deviations.txt): what is right instead."""

from __future__ import annotations

import json

import pytest

from tests.parsers.support import asking, opened, pieces, streamed

WEATHER = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
TWICE = ["get_weather", "search"]
CASES = {
    "a call cut off is given as far as it came": (
        ("hermes", None, '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Pa'),
        (None, None, ["get_weather"]),
    ),
    "text that does not begin with a call is content": (
        ("llama3_json", None, f"Let me check.\n{WEATHER}"),
        (None, f"Let me check.\n{WEATHER}", []),
    ),
    "a call cut off before its first argument stays text": (
        ("llama3_json", None, '{"name": "get_weather", "parameters": {"ci'),
        (None, '{"name": "get_weather", "parameters": {"ci', []),
    ),
    "a line break between calls is no content": (
        (
            "deepseek_v3",
            None,
            "Checking.<｜tool▁calls▁begin｜>"
            '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "x"}\n```<｜tool▁call▁end｜>\n'
            '<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{"q": "x"}\n```<｜tool▁call▁end｜>'
            "<｜tool▁calls▁end｜>",
        ),
        (None, "Checking.", TWICE),
    ),
    "an opening marker is markup however the chunks fall": (
        (None, "deepseek_r1", "<think>\nHm.\n</think>\n\nYes."),
        ("\nHm.\n", "\n\nYes.", []),
    ),
    "Hunyuan's thinking cut off is reasoning": (
        ("hunyuan_a13b", "hunyuan_a13b", "<think>\nStill thinking about it"),
        ("Still thinking about it", None, []),
    ),
    "Ernie's line breaks behind its thinking are dropped": (
        ("ernie45", "ernie45", f"Hm.\n</think>\n\nLet me check.\n<tool_call>\n{WEATHER}\n</tool_call>\n"),
        ("Hm.\n", "Let me check.\n", ["get_weather"]),
    ),
    "InternLM calls twice": (
        (
            "internlm",
            None,
            '<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {}}<|action_end|>\n'
            '<|action_start|><|plugin|>\n{"name": "search", "parameters": {}}<|action_end|>\n',
        ),
        (None, None, TWICE),
    ),
    "GigaChat's call ends where its JSON ends": (
        ("gigachat3", None, f"<|function_call|>{WEATHER}\nDone."),
        (None, "\nDone.", ["get_weather"]),
    ),
    "Phi's content before the calls is kept": (
        ("phi4_mini_json", None, f"Let me check.\nfunctools[{WEATHER}]"),
        (None, "Let me check.\n", ["get_weather"]),
    ),
    "Phi's arguments may hold arrays": (
        ("phi4_mini_json", None, 'functools[{"name": "search", "arguments": {"tags": ["a", "b"]}}]'),
        (None, None, ["search"]),
    ),
    "MiniCPM's content before the calls is kept": (
        ("minicpm5", None, 'Let me check.\n<function name="search"><param name="q">x</param></function>'),
        (None, "Let me check.", ["search"]),
    ),
    "OLMo's content before the calls is kept": (
        ("olmo3", "olmo3", "Hm.</think>Let me check.\n<function_calls>\nsearch(q='x')\n</function_calls>"),
        ("Hm.", "Let me check.\n", ["search"]),
    ),
}


@pytest.mark.parametrize("chunks", [(1,), (5,), (1_000,)], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_what_is_right(case: str, chunks: tuple[int, ...]) -> None:
    (tool, reasoning, text), (thought, said, names) = CASES[case]
    parser, words = opened(tool, reasoning)

    events, _ = streamed(parser, asking(), pieces(text, words), chunks)

    answer = parser.assemble(events)
    assert (answer.reasoning, answer.content) == (thought, said)
    assert [call.name for call in answer.calls] == names


def test_functiongemma_arguments_without_quotes_count() -> None:
    parser, words = opened("functiongemma")
    text = (
        "<start_function_call>call:get_weather{city:<escape>São Paulo<escape>,days:3,detail:true,lat:-23.5,"
        'tags:["a", "b"],where:{"zip": "01310"}}<end_function_call>'
    )

    (call,) = parser.parse(asking(), pieces(text, words)).calls

    assert json.loads(call.arguments) == {
        "city": "São Paulo",
        "days": 3,
        "detail": True,
        "lat": -23.5,
        "tags": ["a", "b"],
        "where": {"zip": "01310"},
    }


@pytest.mark.parametrize(
    ("text", "said", "names"),
    [
        ('{"city": "Paris"}', '{"city": "Paris"}', []),
        ('[{"name": "get_weather", "parameters": {"city": "Paris"}}]', None, ["get_weather"]),
    ],
)
def test_llamas_forced_answers_are_not_lost(text: str, said: str | None, names: list[str]) -> None:
    parser, words = opened("llama3_json")

    for choice in ("required", {"type": "function", "function": {"name": "get_weather"}}):
        events, _ = streamed(parser, asking(tool_choice=choice), pieces(text, words), (2,))
        answer = parser.assemble(events)
        assert (answer.content, [call.name for call in answer.calls]) == (said, names)
