"""Models without a family of their own: Hugging Face's image processor, and what can be told from its outputs.

Not promised: the number of tokens where it depends on more than a grid or a fixed length, text between tiles, the
names under which the engine expects the fields, and pixels to the last bit where the processor resizes with Pillow.
The layout needs the pixels here, so that even `mm_payload: none` computes them, and `transformers` must be installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from renderlayer.errors import ConfigurationError, NotImplementedHere
from renderlayer.multimodal.families.base import Facts, Plain, Plan, image_token
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor

_LENGTH_KEYS = ("image_seq_length", "image_seq_len", "num_image_tokens", "mm_tokens_per_image")
_COUNTS = ("num_soft_tokens_per_image", "num_img_tokens", "num_image_tokens")


class General(Plain):
    """One image, one run of its token."""

    modalities = ("image",)
    gaps: Mapping[str, str] = {
        "image": "Pillow resizes, up to 16/255 apart; tokens as far as a grid or a fixed length tells"
    }
    portable = False

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        token = image_token(facts)
        if token is None:
            raise ConfigurationError("config.json names no image token")
        self.image = token
        self.embeds_token = token

    def placeholder(self, modality: str, ordinal: int) -> str:
        return str(self.facts.processor.get("image_token") or "<image>")

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        outputs = self._processor(images=[media.rgb()], return_tensors="np", **kwargs.get("images_kwargs", {}))
        arrays = {name: value for name, value in outputs.items() if hasattr(value, "dtype")}
        fields = {name: _field(value) for name, value in arrays.items()}
        metadata: Fields = {name: field for name, field in fields.items() if field.keep_on_cpu}
        return Plan([self.image] * self._count(arrays), metadata, lambda: fields)

    @cached_property
    def _processor(self) -> Any:
        with TemporaryDirectory() as folder:
            text = json.dumps(dict(self.facts.image))
            Path(folder, "preprocessor_config.json").write_text(text, encoding="utf-8")
            try:
                from transformers import AutoImageProcessor

                return AutoImageProcessor.from_pretrained(folder)
            except ImportError as error:
                needed = "transformers, and what its processor of this model is made with (torch, torchvision)"
                raise NotImplementedHere(f"Images of this model need on the server: {needed}.") from error
            except (OSError, ValueError) as error:
                kind = self.facts.image.get("image_processor_type")
                raise NotImplementedHere(f"transformers has no image processor {str(kind)[:100]}.") from error

    def _count(self, arrays: Mapping[str, Any]) -> int:
        """Tokens of the image: from a grid, from a count, or the length that the configuration fixes.

        Raises:
            NotImplementedHere: none of these is known.
        """
        if "image_grid_thw" in arrays:
            return int(arrays["image_grid_thw"].prod()) // int(self.facts.image.get("merge_size", 1)) ** 2
        for name in _COUNTS:
            if name in arrays:
                return int(arrays[name].sum())
        for source in (self.facts.processor, self.facts.config, self.facts.config.get("vision_config", {})):
            length = next((source[key] for key in _LENGTH_KEYS if isinstance(source.get(key), int)), None)
            if length is not None:
                return int(length) * max(1, int(arrays["num_patches"].sum()) if "num_patches" in arrays else 1)
        raise NotImplementedHere("The number of tokens of an image cannot be told for this model.")


def _field(array: Any) -> Field:
    """The one image's row of a batch; all rows, where the processor gave several for it."""
    import numpy as np

    from renderlayer.multimodal.arrays import bfloat16, tensor

    row = array[0] if array.ndim and array.shape[0] == 1 else array
    whole = np.issubdtype(row.dtype, np.integer)
    value: Tensor = (
        tensor("int64", row.astype(np.int64)) if whole else tensor("bfloat16", bfloat16(np.asarray(row, np.float32)))
    )
    return Field(value, "batched" if row is not array else "flat", keep_on_cpu=whole and row.size <= 8)
