"""Truncation of expanded prompts never touches an item."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.errors import BadRequest
from renderlayer.multimodal import Expanded, truncated

PROMPT = Expanded(
    list(range(20)),
    {"mm_hashes": {"image": ["a"]}, "mm_placeholders": {"image": [{"offset": 8, "length": 4}]}, "kwargs_data": None},
)


def test_from_the_left_moves_the_placeholders() -> None:
    cut = truncated(PROMPT, 14)
    assert cut.token_ids == list(range(6, 20))
    assert cut.features == {**PROMPT.features, "mm_placeholders": {"image": [{"offset": 2, "length": 4}]}}


def test_from_the_right_keeps_them() -> None:
    cut = truncated(PROMPT, 12, "right")
    assert cut.token_ids == list(range(12))
    assert cut.features == PROMPT.features


def test_the_refusal_names_the_item() -> None:
    with pytest.raises(BadRequest, match=r"split or drop a\(n\) image item, which spans tokens 8 to 12") as caught:
        truncated(PROMPT, 11)
    assert caught.value.param == "truncate_prompt_tokens"


@given(st.integers(1, 25), st.sampled_from(["left", "right"]))
def test_an_item_is_whole_or_the_request_is_refused(limit: int, side: Literal["left", "right"]) -> None:
    try:
        cut = truncated(PROMPT, limit, side)
    except BadRequest:
        assert limit < 12
        return
    assert len(cut.token_ids) == min(limit, 20)
    place = cut.features["mm_placeholders"]["image"][0]
    assert cut.token_ids[place["offset"] : place["offset"] + place["length"]] == [8, 9, 10, 11]
