"""Images of the Qwen-VL line and its kin: any size, snapped to a grid of patches, sent as raw bytes (wire.md 4.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Embeds, Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import BICUBIC, COMMON
from renderlayer.multimodal.families.sizes import Size, pixel_range, snapped
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

_SIZE = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}


class QwenVL(Plain):
    """Qwen2-VL and its successors, for images."""

    modalities: tuple[str, ...] = ("image",)
    timed: tuple[str, ...] = ()  # modalities whose replacement tells times
    grouped = True  # whether the patches of a square stand together; else they follow each other in rows
    normalised = False  # whether pixels are normalised here; else they are bytes, which the engine normalises

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image_pad = facts.token("<|image_pad|>", "image_token_id")

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<|vision_start|><|{modality}_pad|><|vision_end|>"

    def target(self, modality: str) -> list[int]:
        return [self.image_pad]

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self.plan_image(media, options(self.facts.image, kwargs, "images_kwargs"))

    def plan_image(self, picture: Picture, chosen: Options) -> Plan:
        """Lay out one image: a token for each square of merge² patches."""
        patch, merge = int(chosen.get("patch_size", 14)), int(chosen.get("merge_size", 2))
        temporal = int(chosen.get("temporal_patch_size", 2))
        width, height = picture.size
        if chosen.get("do_resize", True):
            height, width = self.snap((height, width), patch * merge, chosen)
        grid = Field(int64([1, height // patch, width // patch]), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            from renderlayer.multimodal.arrays import patch_rows
            from renderlayer.multimodal.image.processing import raster

            planes = self.frames([raster(picture)], (height, width), chosen)
            rows = patch_rows(planes, patch, merge if self.grouped else 1, temporal)
            return {"pixel_values": Field(rows, "flat"), "image_grid_thw": grid}

        tokens = (height // patch) * (width // patch) // merge**2
        return Plan([self.image_pad] * tokens, {"image_grid_thw": grid}, fields)

    def frames(self, images: Iterable[Any], size: Size, chosen: Options) -> list[Any]:
        """Planes (channels, height, width) of the images at their new size: bytes, or bit patterns of bfloat16."""
        from renderlayer.multimodal.image.resize import FILTERS, resize

        method = FILTERS[int(chosen.get("resample", BICUBIC))]
        planes = [resize(image, *size, method) for image in images]
        if not self.normalised:
            return planes
        from renderlayer.multimodal.image.processing import Recipe, lookup, tables

        table = tables(Recipe.of({**COMMON, **chosen}), 3)
        return [lookup(each, table) for each in planes]

    def plan_embeds(self, modality: str, embeds: Embeds) -> Plan:
        """Embeddings come with their grid, from which the engine derives positions."""
        values, grid = embeds.tensors.get(f"{modality}_embeds"), embeds.tensors.get(f"{modality}_grid_thw")
        if values is None or grid is None or len(values.shape) != 2 or grid.dtype != "int64":
            raise BadRequest(f"{modality}_embeds must be an object of {modality}_embeds and {modality}_grid_thw.")
        if modality in self.timed:
            raise BadRequest(f"The model does not take {modality} embeddings, whose times are unknown.")
        if grid.shape not in ((3,), (1, 3)):
            raise BadRequest(f"{modality}_grid_thw must be the grid of one item.")
        known = {f"{modality}_grid_thw": Field(Tensor("int64", (3,), grid.data), "batched", keep_on_cpu=True)}
        fields = {f"{modality}_embeds": Field(values, "flat"), **known}
        return Plan(self.target(modality) * values.shape[0], known, lambda: fields)

    def snap(self, size: Size, factor: int, chosen: Options) -> Size:
        """The size at which an image is cut into patches."""
        return snapped(size, factor, *pixel_range(chosen, _SIZE))
