"""Tiny random models that see, a Qwen3-VL and a Gemma 3, and items for them as render writes them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForImageTextToText

from renderlayer.multimodal.tensor import Field, Tensor, int64
from renderlayer.multimodal.wire.serialize import pack_item
from tests.models import SPECIAL_TOKENS, make_model_folder

MARKERS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
GEMMA_MARKERS = ("<start_of_image>", "<end_of_image>", "<image_soft_token>")
PATCH, MERGE, TEMPORAL = 4, 2, 2
ROW = 3 * TEMPORAL * PATCH * PATCH


def make_vision_folder(folder: Path) -> Path:
    """Write a Qwen3-VL of two small layers a tower, in Hub layout, with weights and processor configuration."""
    make_model_folder(folder, special_tokens=(*SPECIAL_TOKENS, *MARKERS), context=1024)
    added = {
        entry["content"]: entry["id"] for entry in json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    }
    old = json.loads((folder / "config.json").read_text())
    text = {
        "vocab_size": old["vocab_size"],
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 1024,
        "initializer_range": 0.5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]},
    }
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "out_hidden_size": 32,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": TEMPORAL,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0],
        "initializer_range": 0.5,
    }
    config = {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "text_config": text,
        "vision_config": vision,
        "image_token_id": added["<|image_pad|>"],
        "video_token_id": added["<|video_pad|>"],
        "vision_start_token_id": added["<|vision_start|>"],
        "vision_end_token_id": added["<|vision_end|>"],
        "tie_word_embeddings": False,
    }
    processor = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.5, 0.25, 0.2], "patch_size": PATCH, "merge_size": MERGE}
    return _written(folder, config, processor)


def make_gemma_folder(folder: Path) -> Path:
    """Write a Gemma 3 of two small layers a tower: 16×16 pixels become four tokens."""
    make_model_folder(folder, special_tokens=(*SPECIAL_TOKENS, *GEMMA_MARKERS), context=1024)
    added = _added(folder)
    old = json.loads((folder / "config.json").read_text())
    text = {
        "vocab_size": old["vocab_size"],
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 1024,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
        "initializer_range": 0.5,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 16,
        "patch_size": 4,
    }
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "text_config": text,
        "vision_config": vision,
        "mm_tokens_per_image": 4,
        "boi_token_index": added["<start_of_image>"],
        "eoi_token_index": added["<end_of_image>"],
        "image_token_index": added["<image_soft_token>"],
    }
    return _written(folder, config, {"image_seq_length": 4, "size": {"height": 16, "width": 16}})


def _added(folder: Path) -> dict[str, int]:
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    return {entry["content"]: entry["id"] for entry in tokenizer["added_tokens"]}


def _written(folder: Path, config: dict[str, Any], processor: dict[str, Any]) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    torch.manual_seed(3)
    kept = (folder / "generation_config.json").read_text()
    AutoModelForImageTextToText.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    (folder / "generation_config.json").write_text(kept)
    return folder


def normalised(pixels: torch.Tensor) -> torch.Tensor:
    """What the model takes for raw pixels [patches, ROW]: by channel, with the configuration above."""
    planes = pixels.reshape(len(pixels), 3, -1).float() / 255
    mean, deviation = torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.5, 0.25, 0.2])
    return ((planes - mean[None, :, None]) / deviation[None, :, None]).reshape(len(pixels), ROW)


def picture(seed: int, height: int, width: int) -> tuple[torch.Tensor, list[int]]:
    """Raw patches of an image of height × width patches, and its grid."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (height * width, ROW), generator=generator, dtype=torch.uint8), [1, height, width]


def item(pixels: torch.Tensor, grid: list[int]) -> str:
    """The entry of kwargs_data."""
    data = Tensor("uint8", tuple(pixels.shape), pixels.numpy().tobytes())
    fields = {"pixel_values": Field(data, "flat"), "image_grid_thw": Field(int64(grid), "batched", keep_on_cpu=True)}
    return base64.b64encode(pack_item(fields)).decode()


def features(offsets: list[int], lengths: list[int], items: list[str | None]) -> dict[str, Any]:
    ranges = [{"offset": offset, "length": length} for offset, length in zip(offsets, lengths, strict=True)]
    return {
        "mm_hashes": {"image": [f"hash{index}" for index in range(len(items))]},
        "mm_placeholders": {"image": ranges},
        "kwargs_data": {"image": items},
        "mm_metadata": None,
    }


def gemma_item(seed: int) -> tuple[torch.Tensor, str]:
    """Pixels [1, 3, 16, 16] as Gemma's processor leaves them, and the entry of kwargs_data."""
    pixels = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(seed))
    data = Tensor("float32", tuple(pixels.shape), pixels.numpy().tobytes())
    fields = {"num_patches": Field(int64(1), "batched", keep_on_cpu=True), "pixel_values": Field(data, "flat")}
    return pixels, base64.b64encode(pack_item(fields)).decode()
