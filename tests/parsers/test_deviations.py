"""Where answers differ from the reference's on purpose: every line of deviations.txt about parsers, and what is right.

Each case names its line by the line's pattern.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.parsers.support import asking, opened, pieces, streamed

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ("# Tool calls and reasoning", "# Random requests and tokens")
ELSEWHERE = {
    r"tiny-gptoss/chat_continue_final_message": "test_a_message_is_not_continued_without_a_word",
    r"tiny-gptoss/der_stop_reason_str": "test_a_stop_string_cuts_before_the_parser",
    r"differences/completions-derender-copies-prompt_logprobs-.*": "test_prompt_logprobs_stand_with_every_choice",
    r"differences/derender-copies-ec_transfer_params-.*": "test_what_the_engine_told_is_passed_on",
    r"differences/metrics-speculative_decoding-.*": "test_what_the_engine_told_is_passed_on",
    r"engine/derender_invalid_bytes": "test_broken_bytes_do_not_pile_up",
}
"""Lines of these sections that are no parser's, and the tests of those."""

WEATHER = '{"name": "get_weather", "arguments": {"city": "Paris"}}'
CUT = '{"name": "get_weather", "arguments": {"city": "Pa'
OFF = {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
SEARCH_ONLY = {"tool_choice": {"type": "function", "function": {"name": "search"}}}
PARIS = ("get_weather", {"city": "Paris"})
_DEEPSEEK_TWO = (
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "x"}\n```<｜tool▁call▁end｜>\n'
    '<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{"q": "x"}\n```<｜tool▁call▁end｜>'
)


class Case(NamedTuple):
    """An answer and what is right: reasoning, content, calls."""

    tool: str | None
    reasoning: str | None
    text: str
    right: tuple[str | None, str | None, list[tuple[str, Any]]]
    facts: dict[str, Any] = {}  # noqa: RUF012  # never changed


CASES: dict[str, list[Case]] = {
    r"zoo-[^/]*/trunc(\..*)?|tiny-qwen3-parsers/der_tool_unfinished": [
        Case("hermes", None, f"<tool_call>\n{CUT}", (None, None, [("get_weather", {"city": "Pa"})])),
        Case("hermes", None, "<tool_call>\n" + CUT[:40], (None, "<tool_call>\n" + CUT[:40], [])),
        Case("glm45", None, "<tool_call>search<arg_key>q</arg_key><arg_value>x",
             (None, None, [("search", {"q": "x"})])),
    ],
    r"zoo-[^/]*/after(\..*)?": [
        Case("hermes", None, f"<tool_call>{WEATHER}</tool_call>\nDone.", (None, "\nDone.", [PARIS])),
        Case("pythonic", None, "[search(q='x')]\nDone.", (None, "\nDone.", [("search", {"q": "x"})])),
    ],
    r"zoo-[^/]*/one_(named|required)(\..*)?": [
        Case("ernie45", None, f"<tool_call>{WEATHER}</tool_call>",
             (None, f"<tool_call>{WEATHER}</tool_call>", []), SEARCH_ONLY),
        Case("ernie45", None, f"<tool_call>{WEATHER}</tool_call>",
             (None, f"<tool_call>{WEATHER}</tool_call>", []), {"tool_choice": "required"}),
    ],
    r"zoo-[^/]*/one_(choice_none|no_tools)(\..*)?": [
        Case("hermes", None, f"<tool_call>{WEATHER}</tool_call>",
             (None, f"<tool_call>{WEATHER}</tool_call>", []), {"tool_choice": "none"}),
        Case("kimi_k2", None, "<|tool_calls_section_begin|>x", (None, "<|tool_calls_section_begin|>x", []),
             {"tools": None, "tool_choice": None}),
    ],
    r"zoo-(glm45-glm45|minimax_m2-minimax_m2)/unknown_tool(\..*)?": [
        Case("glm45", None, "<tool_call>other<arg_key>q</arg_key><arg_value>x</arg_value></tool_call>",
             (None, "<tool_call>other<arg_key>q</arg_key><arg_value>x</arg_value></tool_call>", [])),
    ],
    r"zoo-gemma4-gemma4/(typed|unknown_tool)(\..*)?": [
        Case("gemma4", None, '<|tool_call>call:get_weather{tags:["a","b"],more:1.5}<tool_call|>',
             (None, None, [("get_weather", {"tags": ["a", "b"], "more": 1.5})])),
    ],
    r"tiny-llama3\.1/der_tool(_two|_two_no_parallel|_reasoning|_choice_null)?": [
        Case("llama3_json", None, f"Let me check.\n{WEATHER}", (None, f"Let me check.\n{WEATHER}", [])),
    ],
    r"tiny-llama3\.1/derns_trunc": [
        Case("llama3_json", None, '{"name": "get_weather", "parameters": {"ci',
             (None, '{"name": "get_weather", "parameters": {"ci', [])),
    ],
    r"tiny-llama3\.1/ders_tool_(named|required)_\d+": [
        Case("llama3_json", None, text, right, {"tool_choice": choice})
        for choice in ("required", {"type": "function", "function": {"name": "get_weather"}})
        for text, right in (
            ('{"city": "Paris"}', (None, '{"city": "Paris"}', [])),
            ('[{"name": "get_weather", "parameters": {"city": "Paris"}}]', (None, None, [PARIS])),
        )
    ],
    r"tiny-deepseek(-r1)?/derns_two": [
        Case("deepseek_v3", None, f"Checking.<｜tool▁calls▁begin｜>{_DEEPSEEK_TWO}<｜tool▁calls▁end｜>",
             (None, "Checking.", [("get_weather", {"city": "x"}), ("search", {"q": "x"})])),
    ],
    r"tiny-deepseek-r1/ders_(tool_)?reasoning_\d+": [
        Case(None, "deepseek_r1", "<think>\nHm.\n</think>\n\nYes.", ("\nHm.\n", "\n\nYes.", [])),
    ],
    r"zoo-hunyuan_a13b-hunyuan_a13b/.*\.stream5": [
        Case("hunyuan_a13b", "hunyuan_a13b", f"<think>\nHm.\n</think>\n<answer>\nYes.\n</answer><tool_calls>[{WEATHER}]"
             "</tool_calls>", ("Hm.", "Yes.\n", [PARIS])),
    ],
    r"zoo-hunyuan_a13b-hunyuan_a13b/think_open(\..*)?": [
        Case("hunyuan_a13b", "hunyuan_a13b", "<think>\nStill thinking", ("Still thinking", None, [])),
    ],
    r"zoo-ernie45-ernie45/think_hidden": [
        Case("ernie45", "ernie45", f"Hm.\n</think>\n\nLet me check.\n<tool_call>\n{WEATHER}\n</tool_call>\n",
             ("Hm.\n", "Let me check.\n", [PARIS])),
    ],
    r"zoo-(xlam|llama3_json|llama4_json)-none/unknown_tool(\..*)?": [
        Case(tool, None, '{"name": "other", "arguments": {}}', (None, '{"name": "other", "arguments": {}}', []))
        for tool in ("xlam", "llama3_json", "llama4_json")
    ],
    r"zoo-internlm-none/(two|two_no_parallel)(\..*)?": [
        Case("internlm", None,
             '<|action_start|><|plugin|>\n{"name": "get_weather", "parameters": {}}<|action_end|>\n'
             '<|action_start|><|plugin|>\n{"name": "search", "parameters": {}}<|action_end|>\n',
             (None, None, [("get_weather", {}), ("search", {})])),
    ],
    r"zoo-gigachat3-none/(two|two_no_parallel)(\..*)?": [
        Case("gigachat3", None, f"<|function_call|>{WEATHER}\nDone.", (None, "\nDone.", [PARIS])),
        Case("gigachat3", None, f"<|function_call|>{WEATHER}<|function_call|>{WEATHER}", (None, None, [PARIS, PARIS])),
    ],
    r"zoo-phi4_mini_json-none/content_one(\..*)?": [
        Case("phi4_mini_json", None, f"Let me check.\nfunctools[{WEATHER}]", (None, "Let me check.\n", [PARIS])),
    ],
    r"zoo-phi4_mini_json-none/typed(\..*)?": [
        Case("phi4_mini_json", None, 'functools[{"name": "search", "arguments": {"tags": ["a", "b"]}}]',
             (None, None, [("search", {"tags": ["a", "b"]})])),
    ],
    r"zoo-minicpm5-none/content_one(\..*)?": [
        Case("minicpm5", None, 'Let me check.\n<function name="search"><param name="q">x</param></function>',
             (None, "Let me check.", [("search", {"q": "x"})])),
    ],
    r"zoo-functiongemma-none/(long|two|typed|unknown_tool)(\..*)?": [
        Case("functiongemma", None,
             "<start_function_call>call:get_weather{city:<escape>São Paulo<escape>,days:3,detail:true,lat:-23.5,"
             'tags:["a", "b"],where:{"zip": "01310"}}<end_function_call>',
             (None, None, [("get_weather", {"city": "São Paulo", "days": 3, "detail": True, "lat": -23.5,
                                            "tags": ["a", "b"], "where": {"zip": "01310"}})])),
    ],
    r"zoo-olmo3-olmo3/(content_one|think_off|think_content_one|think_hidden)(\..*)?": [
        Case("olmo3", "olmo3", "Hm.</think>Let me check.\n<function_calls>\nsearch(q='x')\n</function_calls>",
             ("Hm.", "Let me check.\n", [("search", {"q": "x"})])),
    ],
    r"differences/[^/]*-cut-off-call-before-its-first-argument-.*": [
        Case("minimax_m2", None, '<minimax:tool_call>\n<invoke name="search">',
             (None, '<minimax:tool_call>\n<invoke name="search">', [])),
        Case("kimi_k2", None, "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0",
             (None, "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0", [])),
    ],
    r"differences/ds31-thinking-switched-off-.*": [
        Case("deepseek_v31", "deepseek_v3", "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>",
             (None, "Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>", []), OFF),
    ],
    r"differences/gemma4-cut-off-call-argument-json-.*": [
        Case("gemma4", None, '<|tool_call>call:get_weather{more:true,city:<|"|>Pa',
             (None, None, [("get_weather", {"more": True, "city": "Pa"})])),
    ],
    r"differences/gemma4-reasoning-is-not-trimmed-.*\.32": [
        Case("gemma4", "gemma4", "<|channel>thought\nHm. \n<channel|>Yes.<|tool_call>call:search{q:1}<tool_call|>",
             ("Hm.", "Yes.<|tool_call>call:search{q:1}<tool_call|>", []), {"tool_choice": "none"}),
    ],
    r"differences/kimi-thinking-switched-off-.*\.136": [
        Case("kimi_k2", "kimi_k2", "<think>Hm.</think><|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"
             '<|tool_call_argument_begin|>{"n": "3"}<|tool_call_end|><|tool_calls_section_end|>',
             (None, "<think>Hm.</think>", [("search", {"n": "3"})]), OFF),
    ],
    r"differences/llama-family-other\..*": [
        Case("llama3_json", None, f"So: {WEATHER} it is.", (None, f"So: {WEATHER} it is.", [])),
    ],
    r"differences/qwen3-hermes-a-second-call-cut-off-.*": [
        Case("hermes", "qwen3", f"</think><tool_call>{WEATHER}</tool_call>\n<tool_call>" + CUT[:40],
             (None, "\n<tool_call>" + CUT[:40], [PARIS])),
    ],
    r"differences/special-token-garbage-.*": [
        Case(None, "qwen3", "<think>Hm <think> so.</think>Yes.", ("Hm <think> so.", "Yes.", [])),
    ],
    r"differences/stream-special-tokens-in-random-order-.*": [
        Case("hermes", "qwen3", "Hm.</think>Yes. </tool_call> <think> No.",
             ("Hm.", "Yes. </tool_call> <think> No.", [])),
    ],
}  # fmt: skip


_AGREEING = re.compile(r"\(\?!\([^()]*\)-\)")
"""The formats of a pattern that agree with the reference."""


def lines() -> list[str]:
    """The patterns of the sections about parsers, without the formats that they leave out."""
    found, inside = [], False
    for line in (ROOT / "layers" / "preprocessing" / "deviations.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            inside = line.startswith(SECTIONS)
        elif line and inside:
            found.append(_AGREEING.sub("", line.partition("#")[0].strip()))
    return found


def test_every_line_about_parsers_has_its_own_test() -> None:
    assert lines() == [*dict.fromkeys(lines())]
    assert {*lines()} == {*CASES, *ELSEWHERE}


@pytest.mark.parametrize("name", sorted({*ELSEWHERE.values()}))
def test_those_of_others_are_tested_there(name: str) -> None:
    files = (ROOT / "tests").rglob("test_*.py")

    assert any(f"def {name}" in path.read_text(encoding="utf-8") for path in files if path != Path(__file__))


@pytest.mark.parametrize("chunks", [(1,), (5,), (1_000,)], ids=str)
@pytest.mark.parametrize(("line", "case"), [(line, case) for line, cases in CASES.items() for case in cases])
def test_what_is_right(line: str, case: Case, chunks: tuple[int, ...]) -> None:
    parser, words = opened(case.tool, case.reasoning)

    events, _ = streamed(parser, asking(**case.facts), pieces(case.text, words), chunks)

    answer = parser.assemble(events)
    calls = [(call.name, json.loads(call.arguments)) for call in answer.calls]
    assert (answer.reasoning, answer.content, calls) == case.right
