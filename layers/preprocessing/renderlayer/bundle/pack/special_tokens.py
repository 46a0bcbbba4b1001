"""Special tokens of a model, and the tokenizer file with those of `tokenizer_config.json` merged in."""

from __future__ import annotations

from typing import Any

from renderlayer.bundle.pack.source import ModelSource

_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_CLASS_DEFAULTS = {
    "GemmaTokenizer": {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "mask_token": "<mask>"},
    "LlamaTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "Qwen2Tokenizer": {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"},
    "GPT2Tokenizer": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"},
}
"""Tokens that a tokenizer class names by itself where the files leave them out."""


def named_tokens(source: ModelSource) -> dict[str, str]:
    """Named special tokens: name (`bos_token`, …) to text, sorted by name.

    They are the variables that templates see and, by id, what incremental detokenization skips.
    """
    config, older = source.tokenizer_config, source.json("special_tokens_map.json")
    kind = str(config.get("tokenizer_class", "")).removesuffix("Fast")
    found = dict(_CLASS_DEFAULTS.get(kind, {}))
    extra = config.get("extra_special_tokens")
    rows = [older, config, extra if isinstance(extra, dict) else {}]
    for row in rows:
        for name, value in row.items():
            if name in _NAMES or (row is extra and name.endswith("_token")):
                if (text := token_text(value)) is not None:
                    found[name] = text
                elif name in row:
                    found.pop(name, None)
    return dict(sorted(found.items()))


def unnamed_tokens(source: ModelSource) -> list[str]:
    """Further special tokens: the lists `additional_special_tokens` and `extra_special_tokens`."""
    config = source.tokenizer_config
    listed = [config.get("additional_special_tokens"), config.get("extra_special_tokens")]
    values = [value for row in listed if isinstance(row, list) for value in row]
    return [text for value in values if (text := token_text(value)) is not None]


def merge_tokens(reference: Any, source: ModelSource) -> None:
    """Add to a `tokenizers.Tokenizer` what `tokenizer_config.json` adds to the tokenizer file, as the reference does.

    That is: entries of `added_tokens_decoder` that the file lacks or flags otherwise, and named or listed special
    tokens, which become special.
    """
    from tokenizers import AddedToken

    known = {repr(token) for token in reference.get_added_tokens_decoder().values()}
    rows = source.tokenizer_config.get("added_tokens_decoder") or {}
    for row in (row for _, row in sorted(rows.items(), key=lambda item: int(item[0]))):
        flags = {
            name: row[name] for name in ("single_word", "lstrip", "rstrip", "normalized", "special") if name in row
        }
        token = AddedToken(row["content"], **flags)
        if repr(token) not in known:
            reference.add_tokens([token])
    by_text = {token.content: token for token in reference.get_added_tokens_decoder().values()}
    for text in [*named_tokens(source).values(), *unnamed_tokens(source)]:
        listed = by_text.get(text)
        if listed is None or not listed.special:
            reference.add_special_tokens([listed or AddedToken(text, special=True, normalized=False)])


def token_text(value: Any) -> str | None:
    """The text of a token that is written as a string or as an object with `content`."""
    if isinstance(value, dict):
        value = value.get("content")
    return value if isinstance(value, str) and value else None
