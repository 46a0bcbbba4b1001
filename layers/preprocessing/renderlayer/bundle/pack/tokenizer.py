"""Choosing a tokenizer engine: the fastest that is proved equal to `tokenizers` for this very tokenizer."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from renderlayer.bundle.pack.probes.divergent_characters import find_divergent_characters
from renderlayer.bundle.pack.probes.splits import split_difference, with_written_pattern
from renderlayer.bundle.pack.probes.texts import fuzz_texts
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.pack.special_tokens import merge_tokens
from renderlayer.bundle.tokenizer import FOLDED, divergent_pattern, load_reference
from renderlayer.errors import ConfigurationError

TEXTS = 3000
"""Texts of the proof."""


class Reference(NamedTuple):
    """A model's tokenizer, whose file is written to the bundle.

    Attributes:
        full: the `tokenizers.Tokenizer` that decodes and knows every token.
        encoder: the one that encodes; it differs where texts never become special tokens.
        named: named special tokens, by name.
        special: texts of all tokens that count as special.
        options: what the renderer needs to know (`Facts.renderer_options`).
    """

    full: Any
    encoder: Any
    named: dict[str, str]
    special: list[str]
    options: dict[str, Any]


def build_reference(source: ModelSource, original: Path, out: Path) -> Any:
    """Write the bundle's tokenizer.json and return its `tokenizers.Tokenizer`; `original` is the model's."""
    reference = load_reference(original)
    before = {token_id: repr(token) for token_id, token in reference.get_added_tokens_decoder().items()}
    merge_tokens(reference, source)
    after = {token_id: repr(token) for token_id, token in reference.get_added_tokens_decoder().items()}
    if before == after:
        (out / "tokenizer.json").write_bytes(original.read_bytes())
    else:
        (out / "tokenizer.json").write_text(reference.to_str(), encoding="utf-8")
    return reference


def proof_texts(reference: Any) -> list[str]:
    """The texts on which engines are compared for this tokenizer."""
    source = random.Random(11)
    special = [token.content for token in reference.get_added_tokens_decoder().values()]
    ids = source.sample(range(reference.get_vocab_size()), k=min(2000, reference.get_vocab_size()))
    pieces = [text for token_id in ids if (text := reference.decode([token_id], skip_special_tokens=False))]
    return fuzz_texts(TEXTS, special, pieces)


def surroundings(reference: Any) -> tuple[list[int], list[int]]:
    """Ids that `add_special_tokens` puts before and behind a text, found from the post-processor's results.

    Raises:
        ConfigurationError: it does something else than putting ids around.
    """
    found = None
    for text in ("a", "Hello world", "0 1\n2"):
        bare = reference.encode(text, add_special_tokens=False).ids
        full = reference.encode(text, add_special_tokens=True).ids
        extra = len(full) - len(bare)
        fits = [
            (full[:start], full[start + len(bare) :])
            for start in range(extra + 1)
            if full[start : start + len(bare)] == bare
        ]
        if not fits or (found is not None and found not in fits):
            raise ConfigurationError("the tokenizer's post-processor does more than adding a prefix and a suffix")
        found = found or fits[0]
    return found or ([], [])


def describe_engine(
    reference: Any,
    out: Path,
    decoder: dict[str, Any],
    texts: Sequence[str],
    expected: Sequence[list[int]],
    fastokens: bool,
) -> dict[str, Any]:
    """Choose the engine and write its file; returns the `tokenizer` object of `bundle.json`.

    Args:
        decoder: the decoder's description (`decoding`).
        texts: what the engines are compared on.
        expected: their ids.
        fastokens: whether to try fastokens too.
    """
    prefix, suffix = surroundings(reference)
    file = out / "tokenizer.json"
    kitoken, divergent_characters = _prove_kitoken(reference, file, decoder, texts, expected)
    if not kitoken["equal"]:
        file.with_suffix(".kitoken").unlink(missing_ok=True)
    return {
        "engine": "kitoken" if kitoken["equal"] else "tokenizers",
        "divergent_characters": divergent_characters,
        "prefix_ids": prefix,
        "suffix_ids": suffix,
        "kitoken": kitoken,
        "fastokens": _prove_fastokens(file, texts, expected) if fastokens else _untried("", "it was not tried"),
    }


def _prove_kitoken(
    reference: Any, file: Path, decoder: dict[str, Any], texts: Sequence[str], expected: Sequence[list[int]]
) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """Evidence, and the characters whose texts must go to `tokenizers` all the same."""
    from kitoken import Kitoken

    original = json.loads(file.read_text(encoding="utf-8"))
    written = with_written_pattern(original)
    try:
        engine = Kitoken.from_tokenizers(json.dumps(written, ensure_ascii=False).encode())
        engine.to_file(str(file.with_suffix(".kitoken")))
        engine = Kitoken.from_file(str(file.with_suffix(".kitoken")))
    except Exception as error:
        return _untried(version("kitoken"), f"it does not load this tokenizer: {error}"), []

    def encode(text: str) -> list[int]:
        return engine.encode(text, True)

    divergent_characters = find_divergent_characters(reference, engine, decoder)
    known = divergent_pattern(divergent_characters)
    plain = [number for number, text in enumerate(texts) if known is None or not known.search(text)]
    evidence = _compare(encode, [texts[number] for number in plain], [expected[number] for number in plain])
    evidence = _with_splits(evidence, split_difference(original, written, _kitoken_encode, known))
    return {"version": version("kitoken"), **evidence}, divergent_characters


def _kitoken_encode(description: str) -> Callable[[str], Sequence[int]]:
    from kitoken import Kitoken

    engine = Kitoken.from_tokenizers(description.encode())

    def encode(text: str) -> Sequence[int]:
        return engine.encode(text, True)

    return encode


def _prove_fastokens(file: Path, texts: Sequence[str], expected: Sequence[list[int]]) -> dict[str, Any]:
    try:
        import fastokens
    except ImportError:
        return _untried("", "it was not installed when this was packed")
    try:
        engine = fastokens.Tokenizer.from_file(str(file))
    except Exception as error:
        return _untried(version("fastokens"), f"it does not load this tokenizer: {error}")
    pairs = [(text, ids) for text, ids in zip(texts, expected, strict=True) if not FOLDED.search(text)]
    evidence = _compare(lambda text: engine.encode(text).ids, *zip(*pairs, strict=True))

    def load(description: str) -> Callable[[str], Sequence[int]]:
        encode = fastokens.Tokenizer.from_json_str(description).encode
        return lambda text: encode(text).ids

    original = json.loads(file.read_text(encoding="utf-8"))
    return {
        "version": version("fastokens"),
        **_with_splits(evidence, split_difference(original, original, load, FOLDED)),
    }


def _with_splits(evidence: dict[str, Any], difference: str) -> dict[str, Any]:
    """Evidence of equal ids, unless texts are split differently."""
    return {**evidence, "equal": False, "difference": difference} if evidence["equal"] and difference else evidence


def _untried(engine_version: str, why: str) -> dict[str, Any]:
    return {"version": engine_version, "equal": False, "texts": 0, "difference": why}


def _compare(
    encode: Callable[[str], Sequence[int]], texts: Sequence[str], expected: Sequence[list[int]]
) -> dict[str, Any]:
    """Evidence that `encode` gives the expected ids, or the first text where it does not."""
    for text, ids in zip(texts, expected, strict=True):
        try:
            got = list(encode(text))
        except Exception as error:
            return {"equal": False, "texts": len(texts), "difference": f"it fails on {text[:80]!r}: {error}"}
        if got != ids:
            return {"equal": False, "texts": len(texts), "difference": f"it encodes {text[:80]!r} differently"}
    return {"equal": True, "texts": len(texts), "difference": ""}
