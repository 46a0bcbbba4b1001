"""Every format reads what its models write: calls, reasoning, and both together, whole and in every kind of chunk."""

from __future__ import annotations

import json

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.parsers import REASONING_PARSERS, TOOL_PARSERS, Answer, ParserNames, open_parser
from tests.parsers.examples import CALLS, REASONING_EXAMPLES, TOOL_EXAMPLES
from tests.parsers.support import Facts, Model, answered, asking, opened, pieces, streamed, told, vocabulary

CHUNKS = ((1,), (2,), (7,), (1_000_000,), (1, 5, 2, 11))
THINKING = {"thinking": True, "reasoning_effort": "high"}
UNSEPARATED = {"identity", "minimax_m2_append_think"}


def calls_of(answer: Answer) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in answer.calls]


def test_every_format_has_an_example() -> None:
    assert sorted(TOOL_EXAMPLES) == sorted(TOOL_PARSERS)
    assert sorted({*REASONING_EXAMPLES, *UNSEPARATED}) == sorted(REASONING_PARSERS)


@pytest.mark.parametrize("name", TOOL_PARSERS)
def test_two_calls(name: str) -> None:
    answer = answered(name, None, TOOL_EXAMPLES[name])

    assert calls_of(answer) == CALLS
    assert answer.content is None
    assert answer.reasoning is None


@pytest.mark.parametrize("name", TOOL_PARSERS)
@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_chunks_tell_what_the_whole_tells(name: str, chunks: tuple[int, ...]) -> None:
    parser, words = opened(name)
    tokens = pieces(TOOL_EXAMPLES[name], words, sizes=(1, 3))
    whole, _ = streamed(parser, asking(), tokens, (len(tokens),))

    events, _ = streamed(parser, asking(), tokens, chunks)

    assert told(parser, events) == told(parser, whole)
    assert len(told(parser, events)[2]) == len(CALLS)


@pytest.mark.parametrize("name", sorted(REASONING_EXAMPLES))
@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
def test_reasoning_is_separated(name: str, chunks: tuple[int, ...]) -> None:
    parser, words = opened(None, name)
    tokens = pieces(REASONING_EXAMPLES[name], words, sizes=(2, 1))

    events, _ = streamed(parser, asking(chat_template_kwargs=THINKING), tokens, chunks)

    assert told(parser, events) == ("Hm.", "Yes.", [])


@pytest.mark.parametrize(
    ("tool", "reasoning"),
    [
        ("hermes", "qwen3"),
        ("hermes", "deepseek_r1"),
        ("qwen3_coder", "qwen3"),
        ("glm45", "glm45"),
        ("kimi_k2", "kimi_k2"),
        ("minimax_m2", "minimax_m2"),
        ("deepseek_v31", "deepseek_v3"),
        ("mistral", "mistral"),
        ("gemma4", "gemma4"),
        ("granite", "granite"),
        ("seed_oss", "seed_oss"),
        ("pythonic", "olmo3"),
        ("llama3_json", "step3"),
        ("xlam", "ernie45"),
    ],
)
def test_halves_combine(tool: str, reasoning: str) -> None:
    thought = REASONING_EXAMPLES[reasoning].removesuffix("</response>").removesuffix("Yes.")

    answer = answered(tool, reasoning, thought + TOOL_EXAMPLES[tool], chat_template_kwargs=THINKING)

    assert answer.reasoning == "Hm."
    assert calls_of(answer) == CALLS
    assert answer.content is None


def test_minimax_can_keep_its_thinking_in_the_content() -> None:
    answer = answered(None, "minimax_m2_append_think", "Hm.</think>Yes.")

    assert answer == Answer(None, "<think>Hm.</think>Yes.", [])


def test_identity_separates_nothing() -> None:
    assert answered(None, "identity", "<think>Hm.</think>Yes.").content == "<think>Hm.</think>Yes."


@pytest.mark.parametrize("names", [ParserNames("nope", None), ParserNames(None, "nope")])
def test_a_name_that_is_not_built_is_refused_with_those_that_are(names: ParserNames) -> None:
    with pytest.raises(ConfigurationError, match=r"there are .*(hermes|qwen3)"):
        open_parser(names, Model(vocabulary([])))


def test_auto_takes_the_models_own() -> None:
    model = Model(vocabulary(["<think>", "</think>", "<tool_call>", "</tool_call>"]))

    parser = open_parser(ParserNames("auto", "auto"), model)

    assert parser is not None
    tokens = pieces(REASONING_EXAMPLES["qwen3"] + TOOL_EXAMPLES["hermes"], model.vocabulary)
    answer = parser.parse(asking(), tokens)
    assert (answer.reasoning, answer.content, calls_of(answer)) == ("Hm.", "Yes.", CALLS)


def test_no_names_no_parser() -> None:
    assert open_parser(ParserNames(None, None), Model(vocabulary([]))) is None
    assert open_parser(ParserNames("auto", "auto"), Model(vocabulary([]), Facts("x", "", ""))) is None


def test_a_model_of_gpt_oss_speaks_harmony_whatever_is_configured() -> None:
    parser, words = opened("openai")
    model = Model(words, Facts(model_type="gpt_oss"))

    other = open_parser(ParserNames("hermes", "qwen3"), model)

    assert other is not None
    assert other.parse(asking(), pieces(TOOL_EXAMPLES["openai"], words)) == parser.parse(
        asking(), pieces(TOOL_EXAMPLES["openai"], words)
    )
