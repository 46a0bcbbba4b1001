"""Where reasoning begins and ends: the prompt, the template's switches, markers that are no tokens."""

from __future__ import annotations

import pytest

from renderlayer.parsers import Answer
from tests.parsers.examples import TOOL_EXAMPLES
from tests.parsers.support import TURN, answered, asking, opened, pieces


def prompt_of(reasoning: str, *tail: str) -> list[int]:
    """A prompt whose last turn ends with the given tokens, after a turn that thought."""
    _, words = opened(None, reasoning)
    known = {**words.added}
    before = [known[TURN], 97, *(known[marker] for marker in ("<think>", "</think>") if marker in known), 98]
    return [*before, known[TURN], 97, *(known.get(part, ord(part[0])) for part in tail)]


@pytest.mark.parametrize(
    ("reasoning", "tail", "ended"),
    [
        ("qwen3", [], False),
        ("qwen3", ["<think>"], False),
        ("qwen3", ["<think>", "</think>"], True),
        ("deepseek_r1", ["<think>"], False),
        ("deepseek_r1", ["</think>"], True),
        ("glm45", [], True),
        ("glm45", ["<think>"], False),
        ("kimi_k2", [], False),
        ("minimax_m2", [], False),
        ("gemma4", [], True),
        ("mistral", [], False),
        ("olmo3", list("<think>"), False),
        ("olmo3", list("<think></think>"), True),
        ("granite", [], None),
        ("identity", [], True),
        ("deepseek_v3", [], True),
        ("openai_gptoss", [], True),
    ],
)
def test_what_render_says_about_a_prompt(reasoning: str, tail: list[str], ended: bool | None) -> None:
    parser, _ = opened(None, reasoning, tokens=["<think>", "</think>"] if reasoning != "olmo3" else [])
    _, words = opened(None, reasoning, tokens=["<think>", "</think>"] if reasoning != "olmo3" else [])
    before = [
        words.added[TURN],
        *(words.added[m] for m in ("<think>", "</think>") if m in words.added),
        words.added[TURN],
    ]

    assert parser.reasoning_ended([*before, *(words.added.get(part, ord(part[0])) for part in tail)], {}) is ended


@pytest.mark.parametrize(
    ("reasoning", "kwargs", "thinks"),
    [
        ("qwen3", {}, True),
        ("qwen3", {"enable_thinking": False}, False),
        ("qwen3", {"enable_thinking": None}, True),
        ("kimi_k2", {"thinking": False}, False),
        ("deepseek_v4", {"thinking": False}, True),
        ("deepseek_v4", {"thinking": False, "enable_thinking": False}, False),
        ("minimax_m2", {"enable_thinking": False}, True),
        ("seed_oss", {"enable_thinking": False}, False),
    ],
)
def test_switches(reasoning: str, kwargs: dict[str, object], thinks: bool) -> None:
    answer = answered(None, reasoning, "It is 4.", chat_template_kwargs=kwargs)

    assert answer == (Answer("It is 4.", None, []) if thinks else Answer(None, "It is 4.", []))


@pytest.mark.parametrize("kwargs", [{}, {"thinking": False}, {"enable_thinking": False}])
def test_without_thinking_the_markers_of_deepseek_v3_are_text(kwargs: dict[str, object]) -> None:
    text = "<think>Hm.</think>Yes."

    assert answered(None, "deepseek_v3", text, chat_template_kwargs=kwargs) == Answer(None, text, [])


def test_an_earlier_turn_says_nothing_about_this_one() -> None:
    answer = answered(None, "qwen3", "Hm.</think>Yes.", prompt_token_ids=prompt_of("qwen3"))

    assert answer == Answer("Hm.", "Yes.", [])


def test_a_tool_call_ends_reasoning_that_was_not_closed() -> None:
    answer = answered("hermes", "qwen3", "I should look.\n" + TOOL_EXAMPLES["hermes"])

    assert answer.reasoning == "I should look.\n"
    assert len(answer.calls) == 2


def test_a_closing_marker_too_many_is_dropped() -> None:
    assert answered(None, "qwen3", "Hm.</think>Yes.</think> No.") == Answer("Hm.", "Yes. No.", [])


def test_reasoning_opens_again() -> None:
    text = "<think>One.</think>Two.<think>Three.</think>Four."

    assert answered(None, "glm45", text) == Answer("One.Three.", "Two.Four.", [])


def test_words_that_only_look_like_a_token_are_text() -> None:
    parser, words = opened(None, "qwen3")
    spelled = [(97, "Write "), (98, "</th"), (99, "ink>"), (100, " to end."), (words.added["</think>"], "</think>")]

    assert parser.parse(asking(), [*spelled, (101, "Yes.")]) == Answer("Write </think> to end.", "Yes.", [])


def test_markers_that_the_vocabulary_lacks_are_read_as_text() -> None:
    parser, words = opened(None, "qwen3", tokens=[])

    assert parser.parse(asking(), pieces("<think>Hm.</think>Yes.", words)) == Answer("Hm.", "Yes.", [])


def test_special_tokens_that_nobody_declared_are_dropped() -> None:
    parser, words = opened("qwen3_coder", "qwen3")

    tokens = pieces("Hm.<|im_end|></think>Yes.<|im_end|>", words)

    assert parser.parse(asking(), tokens) == Answer("Hm.", "Yes.", [])


def test_white_space_around_reasoning_is_the_familys() -> None:
    assert answered(None, "qwen3", "\nHm.\n</think>\n\nYes.") == Answer("\nHm.\n", "\n\nYes.", [])
    assert answered(None, "minimax_m2", "\nHm.\n</think>\n\nYes.") == Answer("\nHm.", "\n\nYes.", [])
