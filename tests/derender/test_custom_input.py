"""The input of a custom tool comes out of its arguments as it is, however they are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.derender.core.custom_input import CustomInput

PARTS = st.lists(st.integers(1, 9), max_size=40)


def decoded(arguments: str, sizes: list[int]) -> str:
    said, memory = [], CustomInput().memory()
    while arguments:
        size = sizes.pop() if sizes else len(arguments)
        reader = CustomInput(*memory)
        said.append(reader.push(arguments[:size]))
        arguments, memory = arguments[size:], reader.memory()
    return "".join([*said, CustomInput(*memory).finish()])


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), st.sampled_from([None, 1]), PARTS)
def test_what_goes_in_comes_out(text: str, ascii_only: bool, indent: int | None, sizes: list[int]) -> None:
    arguments = json.dumps({"input": text}, ensure_ascii=ascii_only, indent=indent)

    assert decoded(arguments, sizes) == text


@pytest.mark.parametrize("arguments", ['{"cmd": "ls"}', "ls -l", "[1]", '{"input": 3}', "{", '{"inp', " " * 80])
@given(sizes=PARTS)
def test_other_arguments_are_passed_on(arguments: str, sizes: list[int]) -> None:
    assert decoded(arguments, list(sizes)) == arguments


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"input": "cut o', "cut o"),
        ('{"input": "cut\\', "cut"),
        ('{"input": "cut\\u00', "cut"),
        ('{"input": "\\ud83d\\ude00"}', "😀"),
        ('{"input": "\\ud83d"}', "�"),
        ('{"input": "\\ud83dx"}', "�x"),
        ('{"input": "\\q"}', "\\q"),
        ('{"input": "a\nb"}', "a\nb"),
        ('{"input": "a", "more": "b"}', "a"),
    ],
)
@given(sizes=PARTS)
def test_broken_and_cut_off_strings(arguments: str, expected: str, sizes: list[int]) -> None:
    assert decoded(arguments, list(sizes)) == expected
