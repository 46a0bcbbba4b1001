"""A small SentencePiece-like model in Hub layout, made from nothing."""

from __future__ import annotations

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

WORDS = ("▁", "▁Hello", "▁world", "Hello", "world", "▁again", ".", ",", "客", "单")


def make_metaspace_folder(folder: Path) -> Path:
    """Write a Llama-2-like tokenizer and its configurations into `folder` and return it."""
    special = ("<unk>", "<s>", "</s>")
    pieces = [*special, *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    vocabulary = {piece: token_id for token_id, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in special])
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    files = {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "max_position_embeddings": 512,
            "vocab_size": len(vocabulary),
        },
        "generation_config.json": {"eos_token_id": 2},
        "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"},
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder
