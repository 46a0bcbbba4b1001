"""Models that make one square of every image, of so many tokens as their configuration says: BAGEL, GLM-4V, OpenVLA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF
from renderlayer.multimodal.families.sizes import processable, target
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor

_DINO = ((0.484375, 0.455078125, 0.40625), (0.228515625, 0.2236328125, 0.224609375))
_SIGLIP = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
_OPENVLA_PATCH = 14


class Bagel(Plain):
    """Images that BAGEL understands: a token for every patch of its largest square, whatever the image's size."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.image = facts.token("<|image_pad|>")
        given = {key: value for key, value in facts.image.items() if value is not None}
        self.defaults = {
            **COMMON,
            "size": {"height": 224, "width": 224},
            "image_mean": HALF,
            "image_std": HALF,
            **given,
        }
        self.replacement = [self.image] * int(facts.config.get("vit_max_num_patch_per_side") or 70) ** 2

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|image_pad|>"

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def chosen(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The processor's options; requests have none."""
        if kwargs:
            raise BadRequest("BAGEL's processor has no options.", "mm_processor_kwargs")
        return dict(self.defaults)

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = self.chosen(kwargs)
        size = processable(target((media.size[1], media.size[0]), chosen["size"]))

        def fields() -> Fields:
            from renderlayer.multimodal.image import processing

            recipe = processing.Recipe.of(chosen)
            planes = processing.scaled(processing.raster(media), size, recipe)
            return {"pixel_values": Field(processing.finished(planes, recipe), "batched")}

        return Plan(self.replacement, {}, fields)


class GLM4V(Bagel):
    """GLM-4V of 2024: one image, whose marks receive embeddings, too."""

    item_limits: Mapping[str, int] = {"image": 1}

    def __init__(self, facts: Facts) -> None:
        marks = (
            ("<|begin_of_image|>", "boi_token_id"),
            ("<|endoftext|>", "pad_token_id"),
            ("<|end_of_image|>", "eoi_token_id"),
        )
        begin, image, end = (facts.token(piece, key) for piece, key in marks)
        tower = facts.config.get("vision_config") or {}
        edge = int(tower.get("image_size") or 1120)
        side = edge // int(tower.get("patch_size") or 14) // 2
        self.unit = [begin, image, end]
        self.replacement = [begin, *[image] * side**2, end]
        self.defaults = {**COMMON, "size": {"height": edge, "width": edge}}

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<|begin_of_image|><|endoftext|><|end_of_image|>"

    def target(self, modality: str) -> list[int]:
        return self.unit

    def chosen(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return options(self.defaults, kwargs, "images_kwargs")


class OpenVLA(Plain):
    """OpenVLA: one image after the beginning of the prompt, its pixels normalised for each of the two towers."""

    modalities = ("image",)
    item_limits: Mapping[str, int] = {"image": 1}

    def __init__(self, facts: Facts) -> None:
        self.image = int(facts.config.get("image_token_index", 32_000))
        self.edge = int((facts.config.get("image_sizes") or [224])[0])
        bos = facts.named.get("bos_token")
        self.begin = [facts.token(bos)] if bos else []

    def placeholder(self, modality: str, ordinal: int) -> str:
        return ""

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def prepared(self, token_ids: list[int]) -> list[int]:
        count = len(self.begin)
        if token_ids[:count] != self.begin:
            raise BadRequest("The prompt does not begin with the token after which the image stands.")
        return [*self.begin, self.image, *token_ids[count:]]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        replacement = [self.image] * (self.edge // _OPENVLA_PATCH) ** 2
        return Plan(replacement, {}, lambda: {"pixel_values": Field(self._pixels(media), "batched")})

    def _pixels(self, picture: Picture) -> Tensor:
        """bfloat16 of shape (6, edge, edge)."""
        import numpy as np
        from PIL.Image import Resampling

        from renderlayer.multimodal.arrays import bfloat16, tensor

        raw = np.asarray(picture.rgb().resize((self.edge, self.edge), Resampling.BICUBIC), np.float32) / np.float32(255)
        towers = [(raw - np.array(mean, np.float32)) / np.array(std, np.float32) for mean, std in (_DINO, _SIGLIP)]
        planes = np.concatenate([tower.transpose(2, 0, 1) for tower in towers])
        return tensor("bfloat16", bfloat16(planes))
