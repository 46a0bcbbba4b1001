"""LLaVA-NeXT: the image as one square, and again as tiles on the canvas that suits its shape ("anyres")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.multimodal.families.base import Facts, Options, Plan, options
from renderlayer.multimodal.families.llava import Llava
from renderlayer.multimodal.families.sizes import Size, best_canvas, fitted, square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_PINPOINTS = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]


class LlavaNext(Llava):
    """LLaVA 1.6."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.pinpoints = facts.config.get("image_grid_pinpoints") or _PINPOINTS
        self.tower_edge = int(self.tower.get("image_size", 336))

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**self.defaults, **self.facts.image}, kwargs, "images_kwargs")
        width, height = media.size
        canvases = chosen.get("image_grid_pinpoints") or self.pinpoints
        canvas = best_canvas((height, width), canvases)
        size = Field(int64([height, width]), "batched", keep_on_cpu=True)
        tokens = self.tokens + self.tile_tokens((height, width), best_canvas((height, width), self.pinpoints))

        def fields() -> Fields:
            return {"pixel_values": Field(_pixels(media, canvas, chosen), "batched"), "image_sizes": size}

        return Plan([self.image] * tokens, {"image_sizes": size}, fields)

    def tile_tokens(self, size: Size, canvas: Size) -> int:
        """Tokens of the tiles: features that show the image and not its padding, and one more a row."""
        rows, columns = unpadded(
            size, (self.edge * (canvas[0] // self.tower_edge), self.edge * (canvas[1] // self.tower_edge))
        )
        return rows * columns + rows


def unpadded(size: Size, grid: Size) -> Size:
    """The part of a grid of features (rows, columns) that an image of `size` covers."""
    (height, width), (rows, columns) = size, grid
    if width / height > columns / rows:
        covered = int(round(height * (columns / width), 7))
        return rows - (rows - covered) // 2 * 2, columns
    covered = int(round(width * (rows / height), 7))
    return rows, columns - (columns - covered) // 2 * 2


def _pixels(picture: Picture, canvas: Size, chosen: Options) -> Any:
    """bfloat16 of shape (1 + tiles, 3, height, width): the whole first."""
    import numpy as np

    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image = processing.raster(picture)
    edge = square(chosen["size"])
    tile = square(chosen.get("crop_size") or chosen["size"])
    inner = fitted(image.shape[:2], canvas)
    corner = ((canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2)
    spread = processing.padded(processing.scaled(image, inner, recipe), corner, canvas)
    whole = processing.scaled(image, edge, recipe)
    return processing.finished(np.concatenate([whole[None], processing.tiles(spread, tile)]), recipe)
