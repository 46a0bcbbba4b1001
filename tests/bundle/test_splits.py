"""kitoken splits by GPT-2's pattern only where it is written down, and few vocabularies show it."""

from __future__ import annotations

import json

import pytest

from renderlayer.bundle.pack.probes.splits import split_difference, with_written_pattern
from tests.bundle.tokenizers_made import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_what_kitoken_loads_splits_as_the_tokenizer(kind: str) -> None:
    description = json.loads(KINDS[kind]().to_str())

    assert split_difference(description, with_written_pattern(description)) == ""


def test_a_pattern_that_is_not_written_down_is_found() -> None:
    description = json.loads(KINDS["partial_byte_level"]().to_str())

    assert split_difference(description, description).startswith("it splits ")


def test_a_prefix_space_is_left_to_the_step_that_adds_it() -> None:
    description = json.loads(KINDS["partial_byte_level"]().to_str())
    description["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = True

    assert with_written_pattern(description)["pre_tokenizer"] == description["pre_tokenizer"]
    assert split_difference(description, description).startswith("it splits ")
