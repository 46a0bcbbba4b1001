"""Models of one image, whose tokens stand before the prompt without a placeholder in it: BLIP-2 and PaliGemma."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF
from renderlayer.multimodal.families.sizes import processable, target
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

_QUERIES = 32


class Blip2(Plain):
    """BLIP-2: the queries of its transformer."""

    modalities = ("image",)
    item_limits: Mapping[str, int] = {"image": 1}
    defaults: Mapping[str, Any] = {**COMMON, "size": {"height": 384, "width": 384}}

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = self.soft_token(facts)
        self.replacement = self.tokens(facts)

    def soft_token(self, facts: Facts) -> int:
        """The id that receives embeddings."""
        return facts.token("<image>")

    def tokens(self, facts: Facts) -> list[int]:
        """What stands for the image."""
        return [self.image] * int(facts.config.get("num_query_tokens") or _QUERIES)

    def placeholder(self, modality: str, ordinal: int) -> str:
        return ""

    def target(self, modality: str) -> list[int]:
        return [self.image]

    def prepared(self, token_ids: list[int]) -> list[int]:
        return [self.image, *token_ids]

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        given = {key: value for key, value in self.facts.image.items() if value is not None}
        chosen = options({**self.defaults, **given}, kwargs, "images_kwargs")
        size = processable(target((media.size[1], media.size[0]), chosen["size"]))

        def fields() -> Fields:
            from renderlayer.multimodal.image import processing

            recipe = processing.Recipe.of(chosen)
            planes = processing.scaled(processing.raster(media), size, recipe)
            return {"pixel_values": Field(processing.finished(planes, recipe), "batched")}

        tokens = self.replacement
        return Plan(tokens, {}, fields, [token == self.image for token in tokens])


class PaliGemma(Blip2):
    """PaliGemma 1 and 2: a token a patch and then the beginning of the text, which ends in a line break."""

    defaults: Mapping[str, Any] = {
        **COMMON,
        "size": {"height": 224, "width": 224},
        "image_mean": HALF,
        "image_std": HALF,
    }

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.newline = facts.lexicon.encode("\n")

    def soft_token(self, facts: Facts) -> int:
        return facts.token("<image>", "image_token_index")

    def tokens(self, facts: Facts) -> list[int]:
        tower = facts.config.get("vision_config", {})
        count = (int(tower.get("image_size", 224)) // int(tower.get("patch_size", 14))) ** 2
        return [*[self.image] * count, facts.token(facts.named.get("bos_token", "<bos>"))]

    def prepared(self, token_ids: list[int]) -> list[int]:
        ends = token_ids[-len(self.newline) :] == self.newline
        return [self.image, *token_ids, *([] if ends else self.newline)]
