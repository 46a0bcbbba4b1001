"""Text and stop strings of a growing output."""

from __future__ import annotations

import pytest

from infra.generate.decoding.text import OutputText
from renderlayer.bundle import Model
from renderlayer.derender.core.detokenize import Detokenizer


def fed(
    model: Model, text: str, stops: list[str], include: bool = False, skip: int = 0
) -> tuple[list[str], str | None]:
    """The texts released token by token until the stop string that was found."""
    output = OutputText(Detokenizer.after_prompt(model.vocabulary, True, [1]), stops, include)
    parts: list[str] = []
    for count, token_id in enumerate(model.tokenizer.encode(text), start=1):
        found = output.add(token_id, search=count > skip)
        parts.append(output.release(finished=found is not None))
        if found is not None:
            return parts, found
    return [*parts, output.release(finished=True)], None


@pytest.mark.parametrize("text", ["Hello world, thank you.", "naïve café, 你好，世界 😀👍🏽", "zürich \n\n x"])
def test_text_is_whole_without_stop_strings(model: Model, text: str) -> None:
    parts, found = fed(model, text, [])
    assert ("".join(parts), found) == (text, None)


def test_the_text_ends_before_the_string_that_is_complete_first(model: Model) -> None:
    parts, found = fed(model, "one two three four", ["three", "two thr", "ee f"])
    assert ("".join(parts), found) == ("one ", "two thr")


def test_the_string_may_be_kept(model: Model) -> None:
    parts, found = fed(model, "one two three four", [" thr"], include=True)
    assert ("".join(parts), found) == ("one two thr", " thr")


def test_a_string_that_may_still_come_is_held_back(model: Model) -> None:
    parts, found = fed(model, "abcab", ["abx", "cabz"])
    assert found is None
    assert "".join(parts) == "abcab"
    assert len("".join(parts[:-1])) == 2


def test_strings_within_the_first_tokens_do_not_count(model: Model) -> None:
    text = "two one two"
    first = len(model.tokenizer.encode("two"))
    parts, found = fed(model, text, ["two"], skip=first)
    assert ("".join(parts), found) == ("two one ", "two")
