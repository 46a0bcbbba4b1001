"""Small model folders of architectures, made from nothing, and what the real server answered about them.

`python -m tests.reference.answers DIR` has the reference render requests for each folder and keeps its answers, with
digests in place of tensors, in `answers.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.models import make_model_folder

ANSWERS = Path(__file__).with_name("answers.json")
TEMPLATE = """\
{%- for message in messages %}{{ message.role }}: {{ message.content }}
{% endfor %}"""
_CONFIGURATION = '''\
from transformers import PretrainedConfig


class Part(PretrainedConfig):
    model_type = "part"


class Config(PretrainedConfig):
    """What code of a model on the Hub would bring: the fields of config.json."""

    model_type = "made"

    def __init__(self, **kwargs):
        for name in [name for name in kwargs if name.endswith("_config") and isinstance(kwargs[name], dict)]:
            setattr(self, name, Part(**kwargs.pop(name)))
        super().__init__(**kwargs)
'''
TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "vocab_size": 1024,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-06,
    "head_dim": 32,
    "hidden_act": "silu",
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
}
VISION: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
}


@dataclass(frozen=True)
class Folder:
    """A model in Hub layout.

    Args:
        config: of config.json; a value "@text" becomes the id of that token.
        files: the processor's configurations, by name.
        tokens: added to the tokenizer as special tokens.
        media: what its requests hold: "image", "video", "audio".
        tokenizer: of tokenizer_config.json.
        options: `mm_processor_kwargs` that some requests carry.
        code: whether the configuration is one that models bring as code.
        images: sizes (width, height) of the images of the requests.
        ids: of tokens whose ids are fixed.
        modules: further code of the model, by name.
    """

    config: dict[str, Any]
    files: dict[str, dict[str, Any]]
    tokens: tuple[str, ...]
    media: tuple[str, ...] = ("image",)
    tokenizer: dict[str, Any] = field(default_factory=dict)
    options: tuple[dict[str, Any], ...] = ()
    code: bool = False
    images: tuple[tuple[int, int], ...] = ((500, 333), (333, 777), (900, 120), (37, 41), (1024, 768))
    ids: dict[str, int] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """The files of the model."""
        special = ("<|endoftext|>", "<|im_end|>", *self.tokens)
        make_model_folder(folder, template=TEMPLATE, special_tokens=special, context=131072)
        tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        for each in tokenizer["added_tokens"]:
            if each["content"] in self.ids:
                each["id"] = tokenizer["model"]["vocab"][each["content"]] = self.ids[each["content"]]
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
        ids = {each["content"]: each["id"] for each in tokenizer["added_tokens"]}
        config = {"dtype": "bfloat16", **_resolved(self.config, ids)}
        if self.code:
            config |= {"model_type": "made", "auto_map": {"AutoConfig": "configuration_made.Config"}}
            (folder / "configuration_made.py").write_text(_CONFIGURATION, encoding="utf-8")
        for name, source in self.modules.items():
            (folder / f"{name}.py").write_text(source, encoding="utf-8")
        named = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        contents = {"config": config, "tokenizer_config": {**named, **self.tokenizer}, **self.files}
        for name, content in contents.items():
            (folder / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")


def _resolved(value: Any, ids: Mapping[str, int]) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(each, ids) for key, each in value.items()}
    return ids[value[1:]] if isinstance(value, str) and value[1:] in ids and value[0] == "@" else value
