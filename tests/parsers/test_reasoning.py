"""Where reasoning begins and ends: the prompt, the template's switches, markers that are no tokens."""

from __future__ import annotations

import json

import pytest

from renderlayer.parsers import Answer, ParserNames, open_parser
from tests.parsers.examples import REASONING_EXAMPLES, TOOL_EXAMPLES
from tests.parsers.support import TURN, Facts, Model, answered, asking, opened, pieces, streamed, vocabulary


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
        ("qwen3", ["<think>", "</think>", "<|im_end|>"], False),
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
        ("hy_v3", ["<think>"], True),
        ("hy_v4", [], True),
        ("hy_v4", ["<think>"], False),
        ("hy_v4", ["<think>", "</think>"], True),
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
        ("qwen3", {"enable_thinking": None}, False),
        ("qwen3", {"enable_thinking": 0}, False),
        ("qwen3", {"thinking": False}, True),
        ("step3p5", {"enable_thinking": False}, True),
        ("kimi_k2", {"thinking": False}, False),
        ("deepseek_v4", {"thinking": False}, False),
        ("deepseek_v4", {"reasoning_effort": "none"}, False),
        ("kimi_k2", {"thinking": None}, True),
        ("kimi_k2", {"thinking": False, "enable_thinking": True}, True),
        ("deepseek_v4", {"thinking": False, "enable_thinking": False}, False),
        ("minimax_m2", {"enable_thinking": False}, True),
        ("seed_oss", {"enable_thinking": False}, False),
        ("plamo3", {}, True),
        ("plamo3", {"enable_thinking": False}, False),
        ("hy_v3", {}, False),
        ("hy_v3", {"enable_thinking": True}, False),
        ("hy_v3", {"reasoning_effort": "low"}, True),
        ("hy_v3", {"reasoning_effort": "no_think"}, False),
        ("hy_v3", {"reasoning_effort": None}, False),
        ("hy_v4", {}, True),
        ("hy_v4", {"reasoning_effort": ""}, True),
        ("hy_v4", {"reasoning_effort": "no_think", "enable_thinking": True}, False),
        ("hy_v4", {"enable_thinking": False}, True),
    ],
)
def test_switches(reasoning: str, kwargs: dict[str, object], thinks: bool) -> None:
    answer = answered(None, reasoning, "It is 4.", chat_template_kwargs=kwargs)

    assert answer == (Answer("It is 4.", None, []) if thinks else Answer(None, "It is 4.", []))


@pytest.mark.parametrize("reasoning", ["deepseek_v3", "qwen3", "glm45", "kimi_k2", "deepseek_v4"])
def test_without_thinking_the_markers_are_text(reasoning: str) -> None:
    text = "<think>Hm.</think>Yes."
    off = {"thinking": False, "enable_thinking": False}

    assert answered(None, reasoning, text, chat_template_kwargs=off) == Answer(None, text, [])


@pytest.mark.parametrize(
    ("enabled", "tail", "ended"),
    [
        (True, [], False),
        (1, [], False),
        (False, [], True),
        (None, [], True),
        (True, ["<|channel>", "<channel|>"], True),
    ],
)
def test_gemma_thinks_first_when_it_is_asked_to(enabled: object, tail: list[str], ended: bool) -> None:
    parser, words = opened(None, "gemma4")
    prompt = [words.added[TURN], *(words.added[marker] for marker in tail)]

    assert parser.reasoning_ended(prompt, {"enable_thinking": enabled}) is ended
    answer = parser.parse(asking(chat_template_kwargs={"enable_thinking": enabled}), pieces("Yes.", words))
    assert answer == Answer(None, "Yes.", [])


def test_an_earlier_turn_of_hunyuans_says_nothing() -> None:
    parser, words = opened(None, "hy_v4", tokens=["<think:x>", "</think:x>", "<tool_calls:x>", "<｜hy_Assistant:x｜>"])
    turn, opener, closer = (words.added[text] for text in ("<｜hy_Assistant:x｜>", "<think:x>", "</think:x>"))

    assert parser.reasoning_ended([turn, opener, 97, closer, 98, turn], {}) is False
    assert parser.reasoning_ended([turn, opener, 97, closer, 98, turn, opener, closer], {}) is True


def test_hunyuan_is_switched_by_the_effort() -> None:
    text = "<think>Hm. </think>Yes."
    high = {"reasoning_effort": "high", "enable_thinking": True}

    for parser in ("hy_v3", "hy_v4"):
        assert answered(None, parser, text, chat_template_kwargs=high) == Answer("Hm. ", "Yes.", [])
        assert answered(None, parser, text[7:], chat_template_kwargs=high) == Answer("Hm. ", "Yes.", [])
        off = {"reasoning_effort": "no_think", "enable_thinking": True}
        assert answered(None, parser, text, chat_template_kwargs=off) == Answer(None, text, [])
    assert answered(None, "hy_v3", text) == Answer(None, text, [])
    assert answered(None, "hy_v4", text) == Answer("Hm. ", "Yes.", [])


def test_an_earlier_turn_says_nothing_about_this_one() -> None:
    answer = answered(None, "qwen3", "Hm.</think>Yes.", prompt_token_ids=prompt_of("qwen3"))

    assert answer == Answer("Hm.", "Yes.", [])


def test_a_tool_call_ends_reasoning_that_was_not_closed() -> None:
    answer = answered("hermes", "qwen3", "I should look.\n" + TOOL_EXAMPLES["hermes"])

    assert answer.reasoning == "I should look.\n"
    assert len(answer.calls) == 2


def test_a_closing_marker_twice_is_one() -> None:
    assert answered(None, "qwen3", "Hm.</think>\n</think>Yes.") == Answer("Hm.", "\nYes.", [])


@pytest.mark.parametrize("reasoning", ["qwen3", "glm45", "kimi_k2", "minimax_m2", "granite_thinking_parser"])
def test_reasoning_needs_no_opener_where_the_prompt_says_nothing(reasoning: str) -> None:
    assert answered(None, reasoning, "I think.</think>Yes.") == Answer("I think.", "Yes.", [])
    assert answered(None, reasoning, "I think.") == Answer("I think.", None, [])


def test_the_beginning_of_what_leads_reasoning_is_none() -> None:
    assert answered(None, "gemma4", "<|channel>thou") == Answer(None, None, [])


def test_special_tokens_that_nobody_declared_are_dropped_where_tokens_are_read() -> None:
    for tool in ("deepseek_v32", "qwen3_coder", "glm45", "minimax_m2"):
        assert answered(tool, None, "Yes.<|im_end|>") == Answer(None, "Yes.", [])
    for tool in ("hermes", "deepseek_v3", "llama3_json"):
        assert answered(tool, None, "Yes.<|im_end|>") == Answer(None, "Yes.<|im_end|>", [])


@pytest.mark.parametrize("reasoning", ["qwen3", "glm45", "kimi_k2", "minimax_m2", "deepseek_r1", "deepseek_v4"])
def test_content_about_markers_is_content(reasoning: str) -> None:
    about = "Wrap it in <think> and </think> tags."

    assert answered(None, reasoning, f"<think>Hm.</think>{about}") == Answer("Hm.", about, [])


@pytest.mark.parametrize(("tool", "reasoning"), [("hermes", "qwen3"), ("qwen3_coder", "qwen3"), ("glm45", "glm45")])
def test_reasoning_about_calls_is_reasoning(tool: str, reasoning: str) -> None:
    about = "I could write <tool_call> or <tool_call></tool_call> but need not."

    assert answered(tool, reasoning, f"<think>{about}</think>No.") == Answer(about, "No.", [])


@pytest.mark.parametrize(
    ("tool", "reasoning", "value"),
    [
        ("hermes", "qwen3", "a </think> <think> <tool_call> </tool_call> <|im_end|> b"),
        ("qwen3_coder", "qwen3", "a </think> <think> <tool_call> </tool_call> <|im_end|> </function> <parameter=x> b"),
        ("glm45", "glm45", "a </think> <think> <tool_call> </tool_call> <arg_key> <|im_end|> b"),
        ("deepseek_v4", "deepseek_v4", "a </think> <think> <｜DSML｜tool_calls> </｜DSML｜invoke> <|im_end|> b"),
        ("kimi_k2", "kimi_k2", "a </think> <think> <|tool_call_end|> <|tool_calls_section_end|> <|im_end|> b"),
        ("minimax_m2", "minimax_m2", "a </think> <minimax:tool_call> </minimax:tool_call> </invoke> <|im_end|> b"),
        ("seed_oss", "seed_oss", "a </seed:think> <seed:tool_call> </seed:tool_call> </function> <|im_end|> b"),
        ("hunyuan_a13b", "hunyuan_a13b", "a </think> <think> </answer> <tool_calls> </tool_calls> <|im_end|> b"),
        ("mistral", "mistral", "a [THINK] [/THINK] [TOOL_CALLS] [ARGS] <|im_end|> b"),
        ("gemma4", "gemma4", "a <|channel> <channel|> <|tool_call> <tool_call|> <|im_end|> b"),
    ],
)
def test_a_value_ends_with_its_own_closer_only(tool: str, reasoning: str, value: str) -> None:
    text = TOOL_EXAMPLES[tool].replace("Paris", value)
    parser, words = opened(tool, reasoning)
    off = {"thinking": True, "enable_thinking": True}
    tokens = pieces(REASONING_EXAMPLES[reasoning].replace("Yes.", "") + text, words)

    for chunks in ((1,), (3,), (1_000,)):
        events, _ = streamed(parser, asking(chat_template_kwargs=off), tokens, chunks)
        answer = parser.assemble(events)
        assert answer.reasoning == "Hm."
        assert json.loads(answer.calls[0].arguments) == {"city": value, "days": 3}


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


OFF_BY = [
    ("glm45", {"enable_thinking": False}, True),
    ("glm45", {"thinking": False}, False),
    ("glm45", {"thinking": False, "enable_thinking": True}, False),
    ("deepseek_r1", {"enable_thinking": False}, False),
]


@pytest.mark.parametrize(("reasoning", "kwargs", "off"), OFF_BY)
def test_a_model_is_switched_by_what_its_template_reads(reasoning: str, kwargs: dict[str, bool], off: bool) -> None:
    words = vocabulary(["<think>", "</think>"])
    facts = Facts(reasoning_parser=reasoning, thinking_switches={"enable_thinking": True})
    parser = open_parser(ParserNames(None, "auto"), Model(words, facts))
    assert parser is not None

    answer = parser.parse(asking(chat_template_kwargs=kwargs), pieces("<think>Hm.</think>Yes.", words))

    assert answer == (Answer(None, "<think>Hm.</think>Yes.", []) if off else Answer("Hm.", "Yes.", []))


def test_another_familys_parser_is_switched_as_the_reference_has_it() -> None:
    words = vocabulary(["<think>", "</think>"])
    facts = Facts(reasoning_parser="qwen3", thinking_switches={"enable_thinking": True})
    parser = open_parser(ParserNames(None, "glm45"), Model(words, facts))
    assert parser is not None

    answer = parser.parse(asking(chat_template_kwargs={"thinking": False}), pieces("<think>Hm.</think>Yes.", words))

    assert answer == Answer(None, "<think>Hm.</think>Yes.", [])
