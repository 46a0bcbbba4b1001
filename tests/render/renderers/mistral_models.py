"""Small models with a tokenizer in Mistral's own form, made from nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from renderlayer.bundle.decoding import byte_level_bytes

CONTROLS = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
    "[ARGS]",
    "[CALL_ID]",
    "[THINK]",
    "[/THINK]",
    "[MODEL_SETTINGS]",
    "[/MODEL_SETTINGS]",
)
VERSIONS = ("v3", "v7", "v11", "v13", "v15")
_SPECIAL = 40
_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_TEXT = """\
The quick brown fox jumps over the lazy dog. Weather in Paris: 21 degrees. What is the capital of France?
[{"type": "function", "function": {"name": "get_weather", "description": "", "parameters": {"type": "object"}}}]
[INST] is text. Ünïcödé, naïve café, 你好，世界, Привет мир, 👍🏽 😀. Hello world, thank you. It is a good day.
"""
MODEL_SETTINGS = {
    "reasoning_effort": {"type": "enum", "accepts_none": True, "default": "none", "values": ["none", "high"]},
}


def make_tekken_folder(folder: Path, version: str) -> Path:
    """Write `tekken.json` of a format version, with its configuration, into `folder` and return it."""
    pieces = [bytes([byte]) for byte in range(256)]
    pieces += [piece for piece in _learned() if len(piece) > 1]
    content: dict[str, Any] = {
        "config": {
            "pattern": _PATTERN,
            "num_vocab_tokens": len(pieces),
            "default_vocab_size": len(pieces) + _SPECIAL,
            "default_num_special_tokens": _SPECIAL,
            "version": version,
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": None}
            for rank, piece in enumerate(pieces)
        ],
        "special_tokens": [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(CONTROLS)],
    }
    if version == "v15":
        content["model_settings_builder"] = MODEL_SETTINGS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tekken.json").write_text(json.dumps(content), encoding="utf-8")
    return with_configuration(folder)


def with_configuration(folder: Path) -> Path:
    """Add the configuration files of a small Mistral."""
    config = {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "max_position_embeddings": 4096}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "generation_config.json").write_text('{"eos_token_id": 2}', encoding="utf-8")
    return folder


def _learned() -> list[bytes]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([_TEXT] * 4, trainer)
    vocabulary = tokenizer.get_vocab()
    return [byte_level_bytes(piece) for piece in sorted(vocabulary, key=vocabulary.__getitem__)]
