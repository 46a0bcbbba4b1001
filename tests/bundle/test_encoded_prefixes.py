"""Long texts that begin as one before did have the ids that they have from scratch."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from renderlayer.bundle import Model, open_bundle
from renderlayer.bundle.engines import encoded_prefixes
from renderlayer.bundle.engines.encoded_prefixes import EncodedPrefixes, apart
from renderlayer.bundle.pack import pack

PIECES = (
    "Oslo", " the weather", "\n", "\n\n", "  ", "\t", "é", "e\u0301", "ﬁ", "日本", "👍🏽", "1", "23", "}", '"}]', "_",
    "user\n", "assistant\n", "\u0301x", "<", "|", "<|im", "Ünï", "\r\n", "ab\u200d",
)  # fmt: skip
SHARED_MODELS = ("tiny-qwen3", "tiny-llama3.1", "tiny-deepseek", "tiny-gemma3", "tiny-gptoss")


def grown(model: Model, random: Random, steps: int) -> list[str]:
    """A text that grows, and is sometimes cut back or changed in its midst."""
    special = [text for text, token_id in model.vocabulary.added.items() if token_id in model.tokenizer.boundaries][:20]
    text, out = "", []
    for _ in range(steps):
        for _ in range(random.randrange(1, 40)):
            text += random.choice(special) if special and random.random() < 0.15 else random.choice(PIECES)
        if random.random() < 0.15:
            text = text[: random.randrange(len(text))]
        if random.random() < 0.15:
            at = random.randrange(len(text) + 1)
            text = text[:at] + random.choice(PIECES) + text[at:]
        out.append(text)
    return out


def check(model: Model, seed: int) -> None:
    encode = model.tokenizer._long
    assert isinstance(encode, EncodedPrefixes)
    for text in grown(model, Random(seed), 40):
        assert encode(text) == model.tokenizer._encode(text), text


@pytest.mark.parametrize("seed", range(12))
def test_they_equal_those_from_scratch(model: Model, seed: int) -> None:
    check(model, seed)


@pytest.mark.parametrize("name", SHARED_MODELS)
def test_they_equal_those_from_scratch_with_real_tokenizers(shared: Path, tmp_path: Path, name: str) -> None:
    real = open_bundle(pack(shared / "models" / name, tmp_path / "bundle"))
    for seed in range(6):
        check(real, seed)


def test_only_what_is_new_is_tokenized(model: Model) -> None:
    seen: list[str] = []
    added = model.vocabulary.added
    encode = EncodedPrefixes(
        lambda text: seen.append(text) or model.tokenizer._encode(text),  # type: ignore[func-returns-value]
        {added[text]: text for text in ("<|im_start|>", "<|im_end|>")},
    )
    said = "<|im_start|>user\n" + "Hello " * 50 + "<|im_end|>\n<|im_start|>"
    encode(said + "assistant\n")
    assert encode(said + "tool\nfound") == model.tokenizer._encode(said + "tool\nfound")
    assert seen == [said + "assistant\n", "<|im_start|>tool\nfound"]


def test_a_process_keeps_so_much(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_prefixes, "_CHARACTERS", 100)
    end = "<|im_end|>"
    encode = EncodedPrefixes(model.tokenizer._encode, {model.vocabulary.added[end]: end})
    for number in range(20):
        encode(f"{number} {end}")
    assert sum(map(len, encode._kept)) == encode._characters <= 100


def test_long_texts_take_this_way(model: Model) -> None:
    text = "<|im_start|>" + "Hello there. " * 400
    assert model.tokenizer.encode(text) == model.tokenizer._encode(text)
    assert text in model.tokenizer._long._kept  # type: ignore[attr-defined]


def test_tokens_that_overlap_cut_nowhere() -> None:
    assert apart(["<a>", "<b>", "x<b>y", "[c", "c]d", "e", "<f>"]) == ["<a>", "x<b>y", "e", "<f>"]
