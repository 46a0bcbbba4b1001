"""Tool choices that nothing could serve, and special tokens that parsers read."""

from __future__ import annotations

from typing import Any

import pytest

from renderlayer.constraints.adjust import adjust, check_tool_choice, named_tool
from renderlayer.errors import BadRequest
from tests.parsers.tools import NAMED, Names, tool


@pytest.mark.parametrize(
    ("names", "without_tools", "none", "auto"),
    [
        (Names(), None, None, None),
        (Names("hermes"), None, None, False),
        (Names("qwen3_coder"), False, False, False),
        (Names("deepseek_v3", "deepseek_r1"), None, None, None),
        (Names("deepseek_v31", "qwen3"), False, False, False),
        (Names("", "gemma4"), False, False, False),
        (Names("mistral"), None, None, False),
        (Names("xlam"), None, None, None),
        (Names("openai", "openai_gptoss"), None, None, None),
        (Names("unheard_of"), None, None, None),
    ],
)
def test_special_tokens_stay_where_a_parser_reads_them(
    names: Names, without_tools: bool | None, none: bool | None, auto: bool | None
) -> None:
    found = [
        adjust(names, tools, choice).skip_special_tokens
        for tools, choice in ((None, "none"), ([tool()], "none"), ([tool()], "auto"))
    ]
    assert found == [without_tools, none, auto]


def test_mistral_keeps_special_tokens_wherever_calls_are_not_ruled_out() -> None:
    assert adjust(Names("mistral"), None, None).skip_special_tokens is False
    assert adjust(Names("hermes"), None, None).skip_special_tokens is None


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("auto", '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        ("required", 'tool_choice="required" requires --tool-call-parser to be set'),
        (NAMED, 'tool_choice=function "book" requires --tool-call-parser to be set'),
    ],
)
def test_a_choice_without_a_parser_names_the_missing_flags(choice: Any, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        check_tool_choice(Names("", "qwen3"), choice)
    assert caught.value.body() == {"error": {"message": message, "type": "BadRequestError", "param": None, "code": 400}}
    check_tool_choice(Names(), choice, native=True)
    check_tool_choice(Names("hermes"), choice)


@pytest.mark.parametrize("choice", ["none", None])
def test_no_choice_needs_no_parser(choice: str | None) -> None:
    check_tool_choice(Names(), choice)
    assert named_tool(choice) is None


def test_both_forms_of_a_named_choice_are_read() -> None:
    assert named_tool(NAMED) == named_tool({"type": "function", "name": "book"}) == "book"
