"""InternVL in its Hugging Face form: tiles of one size in the grid nearest to the image's shape, and a thumbnail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.frames import frame_stack
from renderlayer.multimodal.families.sizes import Size, check_tiles, square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_DEFAULTS = {
    **COMMON,
    "size": {"height": 384, "width": 384},
    "crop_to_patches": True,
    "min_patches": 1,
    "max_patches": 12,
}


class InternVL(Plain):
    """InternVL 2.5 to 3.5."""

    modalities = ("image", "video")

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.context = facts.token("<IMG_CONTEXT>", "image_token_id")
        self.begin, self.end = facts.token("<img>"), facts.token("</img>")
        self.video = facts.token("<video>", "video_token_id")
        self.length = int(facts.processor.get("image_seq_length") or facts.config.get("image_seq_length", 256))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<video>" if modality == "video" else "<IMG_CONTEXT>"

    def target(self, modality: str) -> list[int]:
        return [self.video] if modality == "video" else [self.context]

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self.plan_video(media, kwargs) if modality == "video" else self.plan_image(media, kwargs)

    def plan_video(self, clip: Clip, kwargs: Mapping[str, Any]) -> Plan:
        """A square a frame, its number before it."""
        size = self.facts.image.get("size") or _DEFAULTS["size"]  # the reference gives videos the size of images
        chosen = options({**self.facts.video, "size": size}, kwargs, "videos_kwargs")
        count, encode = len(clip.indices), self.facts.lexicon.encode
        tokens: list[int] = []
        for number in range(1, count + 1):
            tokens += encode(f"Frame{number}: " if number == 1 else f"\nFrame{number}: ")
            tokens += [self.begin, *[self.video] * self.length, self.end]
        metadata = {
            "video_num_patches": Field(int64(count), "batched", keep_on_cpu=True),
            "video_token_id": Field(int64(self.video), "shared", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {"pixel_values_videos": Field(frame_stack(clip, chosen), "flat"), **metadata}

        return Plan(tokens, metadata, fields, [token == self.video for token in tokens])

    def plan_image(self, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        """The whole image as tiles, and a thumbnail."""
        # The processor turns tiling on whatever the configuration of its image part says.
        chosen = options({**_DEFAULTS, **self.facts.image, "crop_to_patches": True}, kwargs, "images_kwargs")
        width, height = media.size
        tile = square(chosen["size"])
        rows, columns = 1, 1
        if chosen["crop_to_patches"]:
            rows, columns = grid(
                (height, width), tile, int(chosen["min_patches"]), check_tiles(int(chosen["max_patches"]))
            )
        count = rows * columns + (1 if rows * columns > 1 else 0)
        tokens = [self.begin, *[self.context] * (self.length * count), self.end]
        metadata = {
            "image_num_patches": Field(int64(count), "batched", keep_on_cpu=True),
            "image_token_id": Field(int64(self.context), "shared", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {"pixel_values": Field(_pixels(media, (rows, columns), tile, chosen), "flat"), **metadata}

        return Plan(tokens, metadata, fields, [token == self.context for token in tokens])


@lru_cache(maxsize=256)
def grid(size: Size, tile: Size, least: int, most: int) -> Size:
    """Rows and columns of tiles whose shape is nearest to the image's."""
    shapes = sorted(
        (
            (across, down)
            for across in range(1, most + 1)
            for down in range(1, most + 1)
            if least <= across * down <= most
        ),
        key=lambda shape: shape[0] * shape[1],
    )
    return nearest(size, tile[0] * tile[1], shapes)


def nearest(size: Size, tile_pixels: int, grids: Sequence[tuple[int, int]]) -> Size:
    """Of grids (across, down) the rows and columns of the one nearest to the image's shape.

    On a tie it is a later one, if the image fills half of that.
    """
    height, width = size
    best, distance = (1, 1), float("inf")
    for across, down in grids:
        gap = abs(width / height - across / down)
        if gap < distance or (gap == distance and height * width > 0.5 * tile_pixels * across * down):
            best, distance = (down, across), gap
    return best


def _pixels(picture: Picture, shape: Size, tile: Size, chosen: Mapping[str, Any]) -> Any:
    """bfloat16 of shape (tiles, 3, height, width); the thumbnail comes last."""
    import numpy as np

    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image = processing.raster(picture)
    spread = processing.scaled(image, (tile[0] * shape[0], tile[1] * shape[1]), recipe)
    parts = processing.tiles(spread, tile)
    if len(parts) > 1:
        parts = np.concatenate([parts, processing.scaled(image, tile, recipe)[None]])
    return processing.finished(parts, recipe)
