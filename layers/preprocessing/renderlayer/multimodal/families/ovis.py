"""Ovis and Ovis 2: the image as a padded square, and again in the parts that such squares cover best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.sizes import Size, check_tiles, processable, square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

_DEFAULTS = {**COMMON, "max_partition": 9, "covering_threshold": 0.9}
# The text model's type → what stands for features.
_PADS = {"gemma2": "<unused0>", "llama": "<|reserved_special_token_0|>", "qwen2": "<|image_pad|>"}
# Tokens of the visual vocabulary, from its end.
_START, _PREFIX, _COLUMN, _ROW, _END = 1, 2, 3, 4, 5

Box = tuple[int, int, int, int]  # left, top, right, bottom


class Ovis(Plain):
    """Images of Ovis 1.6 and Ovis 2."""

    modalities = ("image",)

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        config = facts.config
        text = config.get("llm_config") or config.get("text_config") or {}
        pad = _PADS.get(str(text.get("model_type")))
        if pad is None:
            raise ConfigurationError(f"Ovis has no image token for text models of {text.get('model_type')!r}")
        self.pad = facts.token(pad)
        self.embeds_token = self.pad
        visual = config.get("visual_tokenizer_config") or {}
        tower = visual.get("backbone_config") or {}
        side = math.ceil(int(tower.get("image_size", 224)) / int(tower.get("patch_size", 14)))
        self.length = (side // int(visual.get("hidden_stride", 1))) ** 2
        self.vocabulary = int(visual.get("vocab_size", 16384))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<image>"

    def target(self, modality: str) -> list[int]:
        return self.facts.lexicon.encode("<image>")

    def plan(self, modality: str, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")
        edge = square(chosen["size"])[0]
        most = check_tiles(int(chosen["max_partition"]))
        if not isinstance(chosen["covering_threshold"], (int, float)):
            raise BadRequest("covering_threshold must be a number", "mm_processor_kwargs")
        width, height = media.size
        grid = _grid((height, width), edge, most, float(chosen["covering_threshold"]))
        boxes = _parts((height, width), grid)
        if len(boxes) > 1:
            boxes.insert(0, (0, 0, width, height))
        for left, top, right, bottom in boxes:
            _inner((bottom - top, right - left), edge)
        marks = self._marks(grid)
        shape = Field(int64(list(grid)), "batched", keep_on_cpu=True)

        def fields() -> Fields:
            return {
                "pixel_values": Field(_pixels(media, boxes, edge, chosen), "batched"),
                "grids": shape,
                "indicator_tokens": Field(int64([self.vocabulary - mark for mark in marks]), "batched"),
            }

        return Plan([self.pad] * (len(marks) + len(boxes) * self.length), {"grids": shape}, fields)

    def _marks(self, grid: Size) -> list[int]:
        """What stands around the parts."""
        marks, (rows, columns) = [_START, _PREFIX], grid
        if rows * columns > 1:
            line = [_COLUMN] * (columns - 1)
            marks += [*line, *[_ROW, *line] * (rows - 1)]
        return [*marks, _END]


def _grid(size: Size, edge: int, most: int, enough: float) -> Size:
    """Rows and columns: the fewest parts of which squares cover enough, else those that cover most."""
    grids = [(rows, columns) for rows in range(1, most + 1) for columns in range(1, most + 1) if rows * columns <= most]
    area = size[0] * size[1]
    covered = [(grid, sum(_covered(box, edge) for box in _parts(size, grid)) / area) for grid in grids]
    good = [row for row in covered if row[1] > enough]
    if good:
        return min(good, key=lambda row: (row[0][0] * row[0][1], -row[1]))[0]
    return min(covered, key=lambda row: (-row[1], row[0][0] * row[0][1]))[0]


def _parts(size: Size, grid: Size) -> list[Box]:
    """Boxes of the parts, row by row; the last ones take what is left over."""
    (height, width), (rows, columns) = size, grid
    down, across = height // rows, width // columns
    return [
        (
            column * across,
            row * down,
            width if column == columns - 1 else (column + 1) * across,
            height if row == rows - 1 else (row + 1) * down,
        )
        for row in range(rows)
        for column in range(columns)
    ]


def _covered(box: Box, edge: int) -> float:
    """Pixels of a part that its square shows at their own size."""
    left, top, right, bottom = box
    longer, shorter = float(max(right - left, bottom - top)), float(min(right - left, bottom - top))
    if longer > edge:
        shorter = shorter / longer * edge
        longer = edge
    return longer * shorter


def _inner(size: Size, edge: int) -> Size:
    """The size of a part within its square."""
    height, width = size
    if width > height:
        return processable((int(height / width * edge), edge))
    return processable((edge, edge if width == height else int(width / height * edge)))


def _pixels(picture: Picture, boxes: list[Box], edge: int, chosen: Options) -> Any:
    """bfloat16 of shape (parts, 3, edge, edge), zero around the images."""
    import numpy as np

    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    image, table = processing.raster(picture), processing.tables(recipe, 3)
    out = np.zeros((len(boxes), 3, edge, edge), np.uint16)
    for index, (left, top, right, bottom) in enumerate(boxes):
        height, width = _inner((bottom - top, right - left), edge)
        planes = processing.scaled(image[top:bottom, left:right], (height, width), recipe)
        above, before = (edge - height) // 2, (edge - width) // 2
        out[index, :, above : above + height, before : before + width] = processing.lookup(planes, table)
    return tensor("bfloat16", out)
