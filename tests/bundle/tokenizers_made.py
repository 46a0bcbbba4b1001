"""Tokenizers of several kinds, small and made from nothing, as `tokenizers` objects."""

from __future__ import annotations

from collections.abc import Callable

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from renderlayer.bundle.decoding import byte_level_piece

SPECIAL = ("<s>", "</s>", "<unk>", "<|im_start|>", "<|im_end|>")
CORPUS = [
    "The quick brown fox doesn't jump over the lazy dog; 1234567890 times, she said.",
    "def f(x):\n    return x ** 2  # square\n\n\tindented = {'a': [1, 2, 3]}",
    "Zażółć gęślą jaźń — ça va? 你好，世界。 こんにちは Привет мир مرحبا 👍🏽",
] * 4


def byte_level() -> Tokenizer:
    """As Llama 3: byte-level BPE after a regular expression, BOS in front."""
    pattern = Regex(r"\p{N}{1,3}|[^\r\n\p{L}\p{N}]?\p{L}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pattern, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    _train(
        tokenizer,
        trainers.BpeTrainer(vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
    )
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", _id(tokenizer, "<s>"))])
    return tokenizer


def nfc_byte_level() -> Tokenizer:
    """As Qwen: byte-level BPE after NFC."""
    tokenizer = byte_level()
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def partial_byte_level() -> Tokenizer:
    """As SmolLM: bytes that its corpus never held, here \\x16 and the first one of a high plane, have no token."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    known = [byte for byte in range(256) if byte not in (0x16, 0xF1)]
    alphabet = [byte_level_piece(bytes([byte])) for byte in known]
    corpus = [*CORPUS, " \x88\x88 \x88"]
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(corpus * 4, trainer)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in SPECIAL])
    return tokenizer


def byte_fallback() -> Tokenizer:
    """As Llama 2 and Gemma: spaces are a character of the vocabulary, and bytes are pieces."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    byte_pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=[*SPECIAL, *byte_pieces], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    special = [AddedToken(text, normalized=False, special=True) for text in SPECIAL]
    return _with_only_added(tokenizer, special)


def word_piece() -> Tokenizer:
    """As BERT: no decoder that the table knows, and CLS and SEP around."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    _train(tokenizer, trainers.WordPieceTrainer(vocab_size=300, special_tokens=list(SPECIAL), show_progress=False))
    around = [("<s>", _id(tokenizer, "<s>")), ("</s>", _id(tokenizer, "</s>"))]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=around)
    return tokenizer


def unigram() -> Tokenizer:
    """As T5: a Unigram model with Metaspace."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=list(SPECIAL), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


KINDS: dict[str, Callable[[], Tokenizer]] = {
    function.__name__: function
    for function in (byte_level, nfc_byte_level, partial_byte_level, byte_fallback, word_piece, unigram)
}


def _train(tokenizer: Tokenizer, trainer: trainers.Trainer) -> None:
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in SPECIAL])


def _with_only_added(tokenizer: Tokenizer, added: list[AddedToken]) -> Tokenizer:
    """The tokenizer with these added tokens alone: training makes every special token of the trainer an added one."""
    import json

    description = json.loads(tokenizer.to_str())
    texts = {token.content for token in added}
    description["added_tokens"] = [row for row in description["added_tokens"] if row["content"] in texts]
    return Tokenizer.from_str(json.dumps(description))


def _id(tokenizer: Tokenizer, text: str) -> int:
    found = tokenizer.token_to_id(text)
    assert found is not None
    return found
