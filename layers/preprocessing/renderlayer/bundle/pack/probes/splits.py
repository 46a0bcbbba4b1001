"""How a tokenizer engine splits a text into words, compared with `tokenizers` on its own.

A vocabulary hides most differences, since few of its tokens reach over the end of a word. So the splitting is compared
with a vocabulary of every pair of bytes, in which one misplaced end changes the ids.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from renderlayer.bundle.decoding import byte_level_piece

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""What `ByteLevel` splits by with `use_regex` (https://huggingface.co/docs/tokenizers/api/pre-tokenizers)."""
TEXTS = 1500
_SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]
_OTHERS = [
    *"aBéب字か1٣²Ⅷ!._😀ǅªʰกั",
    *("'s", "'LL", "'ſ", "  ", "\r\n", "\n\n", "\u0300", "\u00ad", "\u200b", "\u200d", "\u212a"),
]


def with_written_pattern(description: dict[str, Any]) -> dict[str, Any]:
    """The description of a tokenizer in which `ByteLevel`'s own pattern is a step before it.

    `tokenizers` does the same with both; kitoken splits by the pattern only where it is written down.
    """
    steps = list(_steps(description["pre_tokenizer"]))
    if not any(step["type"] == "ByteLevel" and step.get("use_regex", True) for step in steps):
        return description
    written: list[dict[str, Any]] = []
    for step in steps:
        if step["type"] == "ByteLevel" and step.get("use_regex", True) and not step["add_prefix_space"]:
            pattern = {"type": "Split", "pattern": {"Regex": GPT2}, "behavior": "Isolated", "invert": False}
            written += [pattern, {**step, "use_regex": False}]
        else:
            written.append(step)
    return {**description, "pre_tokenizer": {"type": "Sequence", "pretokenizers": written}}


def split_difference(
    original: dict[str, Any],
    written: dict[str, Any],
    load: Callable[[str], Callable[[str], Sequence[int]]],
    passed_over: re.Pattern[str] | None = None,
) -> str:
    """A text that the two split differently, in words; "" where there is none, or where splitting cannot be told apart.

    Args:
        original: the description of the tokenizer that `tokenizers` loads.
        written: the one that the engine loads.
        load: makes the engine's `encode` of a description as JSON.
        passed_over: texts in which it finds something never go to the engine.
    """
    from tokenizers import Tokenizer

    if original["model"]["type"] != "BPE" or all(
        step["type"] != "ByteLevel" for step in _steps(original["pre_tokenizer"])
    ):
        return ""
    texts = [text for text in _texts() if passed_over is None or not passed_over.search(text)]
    model = _pairs(original["model"], sorted(set("".join(texts).encode())))
    try:
        reference = Tokenizer.from_str(json.dumps(_bare(original, model)))
        encode = load(json.dumps(_bare(written, model)))
        for text in texts:
            if reference.encode(text, add_special_tokens=False).ids != list(encode(text)):
                return f"it splits {text!r} differently"
    except Exception as error:
        return f"its splitting cannot be compared: {error}"
    return ""


def _steps(pre_tokenizer: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Steps of a pre-tokenizer, those in sequences included, in order."""
    if pre_tokenizer is None:
        return
    if pre_tokenizer["type"] != "Sequence":
        yield pre_tokenizer
        return
    for step in pre_tokenizer["pretokenizers"]:
        yield from _steps(step)


def _texts() -> Iterator[str]:
    source = random.Random(13)
    for _ in range(TEXTS):
        yield "".join(source.choice(source.choice((_SPACES, _OTHERS))) for _ in range(source.randint(1, 7)))


def _pairs(model: dict[str, Any], data: list[int]) -> dict[str, Any]:
    """The model with a vocabulary of all bytes, and all pairs of those that the texts hold."""
    pieces = [byte_level_piece(bytes([byte])) for byte in range(256)]
    merges = [(pieces[first], pieces[second]) for first, second in product(data, data)]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *("".join(pair) for pair in merges)])}
    return {**model, "vocab": vocabulary, "merges": merges, "ignore_merges": False, "unk_token": None}


def _bare(description: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    return {**description, "model": model, "added_tokens": [], "post_processor": None}
