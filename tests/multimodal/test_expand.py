"""Replacing units by tokens: order, what is left over, joins, and the laws that ranges obey."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.errors import BadRequest
from renderlayer.multimodal.expand import Range, expand, expand_text, is_merged
from renderlayer.multimodal.families.base import Plan


def plan(*tokens: int) -> Plan:
    return Plan(list(tokens), {}, dict)


def test_each_item_takes_its_target_in_order() -> None:
    ids, ranges = expand([1, 9, 2, 9, 3], {"image": [9]}, {"image": [plan(7, 7, 7), plan(8, 8)]})
    assert ids == [1, 7, 7, 7, 2, 8, 8, 3]
    assert ranges == {"image": [Range(1, 3), Range(5, 2)]}


def test_modalities_do_not_disturb_each_other() -> None:
    ids, ranges = expand(
        [5, 9, 5, 9], {"image": [9], "video": [5]}, {"image": [plan(1, 1), plan(2)], "video": [plan(3), plan(4, 4)]}
    )
    assert ids == [3, 1, 1, 4, 4, 2]
    assert ranges == {"image": [Range(1, 2), Range(5, 1)], "video": [Range(0, 1), Range(3, 2)]}


def test_targets_beyond_the_items_stay() -> None:
    """The text of a placeholder that a user typed is expanded if it comes first, and left alone afterwards."""
    ids, _ = expand([9, 1, 9], {"image": [9]}, {"image": [plan(7, 7)]})
    assert ids == [7, 7, 1, 9]


def test_replacements_are_not_searched_again() -> None:
    ids, ranges = expand([9, 9], {"image": [9]}, {"image": [plan(9, 9), plan(9)]})
    assert (ids, ranges["image"]) == ([9, 9, 9], [Range(0, 2), Range(2, 1)])


def test_targets_of_several_tokens() -> None:
    ids, ranges = expand([1, 1, 2, 1, 2], {"image": [1, 2]}, {"image": [plan(5, 5), plan(6)]})
    assert (ids, ranges["image"]) == ([1, 5, 5, 6], [Range(1, 2), Range(3, 1)])


def test_a_missing_target_names_the_item() -> None:
    with pytest.raises(BadRequest, match=r"mm_items\['image'\]\[1\]") as caught:
        expand([9], {"image": [9]}, {"image": [plan(7), plan(7)]})
    assert caught.value.param is None


def joined(left: int, right: int) -> int | None:
    """Tokens below 5 are runs of so many newlines."""
    return left + right if left + right < 5 else None


def test_joins_at_both_edges() -> None:
    ids, ranges = expand([8, 1, 9, 2, 8], {"image": [9]}, {"image": [plan(2, 7, 2)]}, joined)
    assert ids == [8, 3, 7, 4, 8]
    assert ranges["image"] == [Range(1, 3)]


def test_items_that_meet_share_no_token() -> None:
    ids, ranges = expand([9, 9], {"image": [9]}, {"image": [plan(2, 7, 2), plan(2, 7, 2)]}, joined)
    assert ids == [2, 7, 4, 7, 2]
    assert ranges["image"] == [Range(0, 3), Range(3, 2)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 8, 9]), max_size=30),
    st.lists(st.lists(st.integers(10, 12), min_size=1, max_size=4), max_size=4),
    st.lists(st.lists(st.integers(20, 22), min_size=1, max_size=4), max_size=4),
)
def test_laws(prompt: list[int], images: list[list[int]], videos: list[list[int]]) -> None:
    """Every range holds its item's tokens; ranges do not overlap; putting the targets back gives the prompt."""
    images, videos = images[: prompt.count(9)], videos[: prompt.count(8)]
    plans = {"image": [plan(*tokens) for tokens in images], "video": [plan(*tokens) for tokens in videos]}
    ids, ranges = expand(prompt, {"image": [9], "video": [8]}, plans)
    for modality, items in (("image", images), ("video", videos)):
        assert [ids[place.offset : place.offset + place.length] for place in ranges[modality]] == items
    places = sorted(
        ((place, target) for modality, target in (("image", 9), ("video", 8)) for place in ranges[modality]),
        key=lambda row: -row[0].offset,
    )
    for place, target in places:
        ids[place.offset : place.offset + place.length] = [target]
    assert ids == prompt


class Merging:
    """Letters are tokens; so are a closing angle and a line break together."""

    def encode(self, text: str) -> list[int]:
        return [0 if letter == "\0" else ord(letter) for letter in text.replace(">\n", "\0")]

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool) -> str:
        return "".join(chr(token) if token else ">\n" for token in token_ids)


def test_a_target_that_merges_with_its_surroundings_is_found_in_the_text() -> None:
    encode = Merging().encode
    targets, plans = {"image": encode("<i>")}, {"image": [plan(*encode("[AA]")), plan(*encode("[B]"))]}
    prompt = encode("a<i>\nb<i>c")
    assert is_merged(prompt, targets, plans)
    assert not is_merged(encode("<i> <i>"), targets, plans)
    ids, ranges = expand_text(prompt, targets, plans, Merging())
    assert ids == encode("a[AA]\nb[B]c")
    assert ranges == {"image": [Range(1, 4), Range(7, 3)]}


@pytest.mark.parametrize("text", ["<i>\n", "<i>\n<i>\n<i>"])
def test_in_the_text_there_are_as_many_targets_as_items(text: str) -> None:
    encode = Merging().encode
    with pytest.raises(BadRequest):
        expand_text(encode(text), {"image": encode("<i>")}, {"image": [plan(1), plan(2)]}, Merging())
