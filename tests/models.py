"""Small models for tests, in Hub layout, made from nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
CHATML = """\
{%- if tools %}<|im_start|>tools
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif %}"""
_TEXT = """\
The quick brown fox jumps over the lazy dog. Weather in Paris: 21 degrees, in Rome: 25. What is the capital of France?
{"name": "get_weather", "arguments": {"city": "Paris", "unit": "c", "days": [1, 2, 3], "nested": {"deep": true}}}
def main() -> None:\n    print("hello, world")  # comment\n\nfor (int i = 0; i < 10; ++i) { sum += i; }
Ünïcödé, naïve café, 你好，世界, 客单价, Привет мир, مرحبا بالعالم, नमस्ते, 👍🏽 😀 emoji, 한국어.
system user assistant tool Hello world, thank you. It is a good day to write tests, is it not? Yes, it is.
"""


def make_model_folder(
    folder: Path,
    *,
    template: str = CHATML,
    config: Mapping[str, Any] | None = None,
    special_tokens: tuple[str, ...] = SPECIAL_TOKENS,
    context: int = 4096,
) -> Path:
    """Write tokenizer, template and configurations into `folder` and return it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([_TEXT] * 4, trainer)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in special_tokens])
    end = tokenizer.token_to_id("<|im_end|>")
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    files: dict[str, Any] = {
        "config.json": {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "max_position_embeddings": context,
            "vocab_size": tokenizer.get_vocab_size(),
            **(config or {}),
        },
        "generation_config.json": {"eos_token_id": [end, tokenizer.token_to_id("<|endoftext|>")], "temperature": 0.6},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "eos_token": "<|im_end|>",
            "pad_token": "<|endoftext|>",
            "model_max_length": context,
            "chat_template": template,
        },
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    return folder


def open_server(folder: Path, settings: Settings) -> ServedModel:
    """Pack `folder` beside itself and serve the bundle."""
    bundle = folder.with_name(folder.name + ".bundle")
    if not bundle.exists():
        pack(folder, bundle)
    return ServedModel(open_bundle(bundle, settings), replace(settings, model=str(bundle)))
