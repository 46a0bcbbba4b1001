"""kitoken splits by GPT-2's pattern only where it is written down, and few vocabularies show it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from renderlayer.bundle.pack.probes.splits import split_difference, with_written_pattern
from renderlayer.bundle.pack.tokenizer import _kitoken_encode
from renderlayer.bundle.tokenizer import FOLDED
from tests.bundle.tokenizers_made import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_what_kitoken_loads_splits_as_the_tokenizer(kind: str) -> None:
    description = json.loads(KINDS[kind]().to_str())

    assert split_difference(description, with_written_pattern(description), _kitoken_encode) == ""


def test_a_pattern_that_is_not_written_down_is_found() -> None:
    description = json.loads(KINDS["partial_byte_level"]().to_str())

    assert split_difference(description, description, _kitoken_encode).startswith("it splits ")


def test_a_prefix_space_is_left_to_the_step_that_adds_it() -> None:
    description = json.loads(KINDS["partial_byte_level"]().to_str())
    description["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = True

    assert with_written_pattern(description)["pre_tokenizer"] == description["pre_tokenizer"]
    assert split_difference(description, description, _kitoken_encode).startswith("it splits ")


def test_texts_that_fastokens_would_fold_otherwise_do_not_go_to_it() -> None:
    fastokens = pytest.importorskip("fastokens", reason="needs fastokens")
    description = json.loads(KINDS["byte_level"]().to_str())
    pattern = description["pre_tokenizer"]["pretokenizers"][0]["pattern"]
    pattern["Regex"] = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )

    def load(text: str) -> Callable[[str], Sequence[int]]:
        encode = fastokens.Tokenizer.from_json_str(text).encode
        return lambda text: encode(text).ids

    assert split_difference(description, description, load).startswith("it splits ")
    assert split_difference(description, description, load, FOLDED) == ""
