"""What Hugging Face's image processors, and one that the engine brings, make of a set of pictures, as digests.

    python -m tests.multimodal.processed        # needs transformers, torchvision and vLLM; rewrites processed.json

The digests stand in for the processors where they are not installed; `test_families.py` compares with both. Under
"kinds" is one digest for images of all kinds, whose files depend on the release of Pillow that wrote them.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import PIL

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families import build
from renderlayer.multimodal.families.base import Facts, Family
from renderlayer.multimodal.image.picture import ImageIO, Picture, open_picture
from tests.multimodal.images import kinds, png

DIGESTS = Path(__file__).with_name("processed.json")
SIZES = ((500, 333), (333, 777), (900, 120), (37, 41), (1024, 768), (448, 448), (120, 1100))
STRIPS = ((3000, 2), (2, 3000), (1, 1), (150, 4000))  # which some processors refuse
RAW = {"do_rescale": False, "do_normalize": False}

CLIP = {"model_type": "clip_vision_model", "image_size": 336, "patch_size": 14}
SIGLIP = {"model_type": "siglip_vision_model", "image_size": 384, "patch_size": 14}


class Words:
    """A tokenizer whose every text is one token."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def id_of(self, piece: str) -> int | None:
        return self._ids.setdefault(piece, 1000 + len(self._ids))

    def encode(self, text: str) -> list[int]:
        return [self._ids.setdefault(text, 1000 + len(self._ids))]


@dataclass(frozen=True)
class Case:
    """A processor and the family that stands for it.

    Args:
        processor: module and class; of the module the name of the model, for those of transformers.
        options: of the processor.
        fields: ours → the processor's output, whose first axis is the batch (or the tiles, for flat ones).
        call: options of the call; raw where the family sends bytes.
    """

    processor: tuple[str, str]
    config: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=lambda: {"pixel_values": "pixel_values"})
    flat: bool = False
    call: dict[str, Any] = field(default_factory=dict)


QWEN = {"pixel_values": "pixel_values", "image_grid_thw": "image_grid_thw"}
TILED = {"pixel_values": "pixel_values", "image_sizes": "image_sizes"}
CASES: dict[str, Case] = {
    "qwen2_vl": Case(("qwen2_vl", "Qwen2VLImageProcessor"), {"model_type": "qwen2_vl"}, {}, QWEN, flat=True, call=RAW),
    "qwen3_vl": Case(
        ("qwen2_vl", "Qwen2VLImageProcessor"),
        {"model_type": "qwen3_vl"},
        {"patch_size": 16, "size": {"shortest_edge": 65536, "longest_edge": 16777216}},
        QWEN,
        flat=True,
        call=RAW,
    ),
    "glm4v": Case(("glm4v", "Glm4vImageProcessor"), {"model_type": "glm4v"}, {}, QWEN, flat=True, call=RAW),
    "glm46v": Case(("glm46v", "Glm46VImageProcessor"), {"model_type": "glm46v"}, {}, QWEN, flat=True, call=RAW),
    "gemma3": Case(
        ("gemma3", "Gemma3ImageProcessor"), {"model_type": "gemma3"}, {"size": {"height": 224, "width": 224}}, flat=True
    ),
    "gemma3-crops": Case(
        ("gemma3", "Gemma3ImageProcessor"),
        {"model_type": "gemma3"},
        {
            "size": {"height": 112, "width": 112},
            "do_pan_and_scan": True,
            "pan_and_scan_min_crop_size": 100,
            "pan_and_scan_max_num_crops": 4,
            "pan_and_scan_min_ratio_to_activate": 1.2,
        },
        flat=True,
    ),
    "gemma4": Case(
        ("gemma4", "Gemma4ImageProcessor"),
        {"model_type": "gemma4"},
        {},
        {"pixel_values": "pixel_values", "pixel_position_ids": "image_position_ids"},
    ),
    "llava": Case(
        ("clip", "CLIPImageProcessor"),
        {"model_type": "llava", "vision_config": CLIP},
        {"size": {"shortest_edge": 336}, "crop_size": {"height": 336, "width": 336}},
    ),
    "llava-siglip": Case(
        ("siglip", "SiglipImageProcessor"),
        {"model_type": "llava", "vision_config": SIGLIP, "vision_feature_select_strategy": "full"},
        {"size": {"height": 384, "width": 384}},
    ),
    "llava-padded": Case(
        ("llava", "LlavaImageProcessor"),
        {"model_type": "llava", "vision_config": CLIP},
        {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}, "do_pad": True},
    ),
    "llava-pixtral": Case(
        ("pixtral", "PixtralImageProcessor"),
        {"model_type": "llava", "vision_config": {"model_type": "pixtral", "patch_size": 16}},
        {"size": {"longest_edge": 1024}},
    ),
    "mistral3": Case(
        ("pixtral", "PixtralImageProcessor"),
        {"model_type": "mistral3", "vision_config": {"patch_size": 14}, "spatial_merge_size": 2},
        {"patch_size": {"height": 28, "width": 28}, "size": {"longest_edge": 1540}},
        call=RAW,
    ),
    "llava_next": Case(
        ("llava_next", "LlavaNextImageProcessor"),
        {"model_type": "llava_next", "vision_config": CLIP},
        {"size": {"shortest_edge": 336}, "crop_size": {"height": 336, "width": 336}},
        TILED,
    ),
    "llava_onevision": Case(
        ("llava_onevision", "LlavaOnevisionImageProcessor"),
        {"model_type": "llava_onevision", "vision_config": SIGLIP, "vision_feature_select_strategy": "full"},
        {},
        TILED,
    ),
    "internvl": Case(
        ("got_ocr2", "GotOcr2ImageProcessor"),
        {"model_type": "internvl"},
        {"size": {"height": 448, "width": 448}, "crop_to_patches": True},
        {"pixel_values": "pixel_values", "image_num_patches": "num_patches"},
        flat=True,
    ),
    "idefics3": Case(
        ("idefics3", "Idefics3ImageProcessor"),
        {"model_type": "idefics3"},
        {},
        {"pixel_values": "pixel_values", "pixel_attention_mask": "pixel_attention_mask"},
    ),
    "smolvlm": Case(
        ("smolvlm", "SmolVLMImageProcessor"),
        {"model_type": "smolvlm"},
        {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}},
        {"pixel_values": "pixel_values", "pixel_attention_mask": "pixel_attention_mask"},
    ),
    "phi4_multimodal": Case(
        ("phi4_multimodal", "Phi4MultimodalImageProcessor"),
        {"model_type": "phi4_multimodal"},
        {},
        {name: name for name in ("image_pixel_values", "image_attention_mask", "image_sizes", "num_img_tokens")},
    ),
    "llama4": Case(
        ("llama4", "Llama4ImageProcessor"),
        {"model_type": "llama4", "vision_config": {"patch_size": 14, "pixel_shuffle_ratio": 0.5}},
        {},
        {"pixel_values": "pixel_values", "aspect_ratios": "aspect_ratios"},
        flat=True,
    ),
    "deepseek_vl_v2": Case(
        ("vllm.transformers_utils.processors.deepseek_vl2", "DeepseekVLV2Processor"),
        {"model_type": "deepseek_vl_v2"},
        {"candidate_resolutions": [[384, 384], [384, 768], [768, 384], [384, 1152], [1152, 384], [768, 768]]},
        {"pixel_values": "pixel_values", "images_spatial_crop": "images_spatial_crop"},
        flat=True,
    ),
    "llama4-largest": Case(
        ("llama4", "Llama4ImageProcessor"),
        {"model_type": "llama4", "vision_config": {"patch_size": 14, "pixel_shuffle_ratio": 0.5}},
        {"resize_to_max_canvas": True},
        {"pixel_values": "pixel_values", "aspect_ratios": "aspect_ratios"},
        flat=True,
    ),
}


def family_of(case: Case) -> Family:
    """Our family with the processor's options as its configuration."""
    made = build(Facts(case.config, case.options, {}, {}, {}, Words()))
    assert made is not None
    return made


def pictures(sizes: Sequence[tuple[int, int]] = SIZES) -> Iterator[tuple[str, Picture]]:
    """Noise over steps, written without an imaging library so that it is the same everywhere."""
    for width, height in sizes:
        chance = random.Random(width * height)
        rows = []
        for y in range(height):
            noise = chance.randbytes(3 * width)
            base = (y * 255 // height, 255 - y * 255 // height, (y // 16 % 2) * 255)
            rows.append(b"\x00" + bytes((level + base[x % 3]) // 2 for x, level in enumerate(noise)))
        data = png(struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0), b"".join(rows))
        yield f"{width}x{height}", open_picture(data, ImageIO())


def of_all_kinds() -> Iterator[Picture]:
    """Every mode and format that clients send: transparent, turned, animated, palettes, 16 bits, CMYK."""
    for _, data in kinds():
        yield open_picture(data, ImageIO())


def together(process: Callable[[Picture], dict[str, str]]) -> str:
    """One digest for the images of all kinds."""
    return hashlib.sha256(repr([process(picture) for picture in of_all_kinds()]).encode()).hexdigest()


def strips(process: Callable[[Picture], dict[str, str]]) -> dict[str, dict[str, str] | None]:
    """Digests for images of extreme shapes; None for those that are refused."""
    out: dict[str, dict[str, str] | None] = {}
    for shown, picture in pictures(STRIPS):
        try:
            out[shown] = process(picture)
        except (BadRequest, ValueError, RuntimeError, ZeroDivisionError):
            out[shown] = None
    return out


def ours(case: Case, picture: Picture) -> dict[str, str]:
    """Field → digest, from the family."""
    fields = family_of(case).plan("image", picture, {}).fields()
    return {name: digest(fields[name].value.shape, fields[name].value.content()) for name in case.fields}


def theirs(case: Case) -> Callable[[Picture], dict[str, str]]:
    """Field → digest, from the processor; bfloat16 where the processor gives floats."""
    import torch

    module, name = case.processor
    path = module if "." in module else f"transformers.models.{module}.image_processing_{module}"
    made = getattr(import_module(path), name)
    if "." in module:
        processor = made(_tokenizer(), patch_size=14, downsample_ratio=2, **case.options)
        call: dict[str, Any] = {"text": "<image>"}
    else:
        processor = made(**case.options)
        call = {"return_tensors": "pt", **case.call}

    def process(picture: Picture) -> dict[str, str]:
        out = processor(images=[picture.decode()], **call)
        digests = {}
        for mine, its in case.fields.items():
            value = torch.as_tensor(out[its])
            value = (
                value.reshape(-1, *value.shape[-3:])
                if case.flat and mine == "pixel_values" and value.ndim > 2
                else value
            )
            value = value if case.flat and mine == "pixel_values" else value[0]
            if value.is_floating_point():
                value = value.to(torch.uint8 if case.call else torch.bfloat16)
            raw = value.contiguous().view(torch.uint8 if value.ndim else value.dtype).numpy().tobytes()
            digests[mine] = digest(tuple(value.shape), raw)
        return digests

    return process


def _tokenizer() -> Any:
    """One that knows what a processor with a tokenizer inside asks for."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<image>": 0, "<s>": 1, "?": 2}, unk_token="?"))
    return PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="<s>")


def digest(shape: tuple[int, ...], data: bytes | bytearray | memoryview) -> str:
    return hashlib.sha256(repr(tuple(shape)).encode() + bytes(data)).hexdigest()[:24]


def main() -> None:
    table: dict[str, Any] = {"pillow": PIL.__version__}
    for name, case in CASES.items():
        process = theirs(case)
        known = {shown: process(picture) for shown, picture in pictures()}
        table[name] = {**known, "kinds": together(process), "strips": strips(process)}
        print(name, file=sys.stderr)
    DIGESTS.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
