"""Ovis 2.5 and 2.6: images and videos at their own shape in grouped patches, normalised here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.sizes import STEEPEST, Size, processable
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_LEAST, _MOST = 448 * 448, 1792 * 1792  # pixels
_FIRST_MARK, _MARKS = 151672, 4  # ids of the text vocabulary that have a place at the visual vocabulary's end


class Ovis25(Plain):
    """Images and videos of Ovis 2.5 and Ovis 2.6."""

    modalities = ("image", "video")
    item_limits: Mapping[str, int] = {"video": 1}

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.targets = {"image": facts.token("<image>"), "video": facts.token("<video>")}
        self.pad = facts.token("<|image_pad|>")
        tower = facts.config.get("vit_config", {})
        self.patch, self.stride = int(tower.get("patch_size", 16)), int(tower.get("hidden_stride", 2))
        self.temporal = int(tower.get("temporal_patch_size", 1))
        place = int(facts.config.get("visual_vocab_size", 65536)) - _MARKS - _FIRST_MARK
        atom = facts.token("<ovis_visual_atom>")
        self.marks = {
            modality: [
                place + token
                for token in (facts.token(f"<ovis_{modality}_start>"), atom, facts.token(f"<ovis_{modality}_end>"))
                if token >= _FIRST_MARK
            ]
            for modality in self.modalities
        }

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<{modality}>"

    def target(self, modality: str) -> list[int]:
        return [self.targets[modality]]

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**COMMON, **self.facts.image}, kwargs, f"{modality}s_kwargs")
        if modality == "video":
            clip: Clip = media
            return self._plan(modality, clip.size, len(clip.indices), clip.frames, chosen)
        picture: Picture = media

        def frames() -> Iterable[Any]:
            from renderlayer.multimodal.image.processing import raster

            return [raster(picture)]

        return self._plan(modality, picture.size, 1, frames, chosen)

    def _plan(
        self, modality: str, shown: tuple[int, int], count: int, frames: Callable[[], Iterable[Any]], chosen: Options
    ) -> Plan:
        """A token for each square of stride² patches, and one for either end."""
        most = chosen.get("max_pixels") or _MOST
        least = min(most, chosen.get("min_pixels") or _LEAST)
        size = processable(_snapped((shown[1], shown[0]), self.patch * self.stride, least, most))
        groups, rows, columns = -(-count // self.temporal), size[0] // self.patch, size[1] // self.patch
        prefix = "video_" if modality == "video" else ""

        def fields() -> Fields:
            return {
                f"{prefix}pixel_values": Field(self._patches(frames(), size, chosen), "batched"),
                f"{prefix}grids": Field(Tensor("int64", (1, 3), int64([groups, rows, columns]).data), "batched"),
                f"{prefix}indicator_tokens": Field(int64(self.marks[modality]), "batched"),
            }

        tokens = groups * rows * columns // self.stride**2 // self.temporal
        return Plan([self.pad] * (tokens + 2), {}, fields)

    def _patches(self, frames: Iterable[Any], size: Size, chosen: Options) -> Tensor:
        """bfloat16 of shape (patches, 3 · temporal · patch²)."""
        from renderlayer.multimodal.arrays import patch_rows
        from renderlayer.multimodal.image import processing

        recipe = processing.Recipe.of(chosen)
        table = processing.tables(recipe, 3)
        planes = [processing.lookup(processing.scaled(frame, size, recipe), table) for frame in frames]
        return patch_rows(planes, self.patch, self.stride, self.temporal)


def _snapped(size: Size, factor: int, least: int, most: int) -> Size:
    """The nearest size in multiples of `factor` that has `least` to `most` pixels; of strips a part."""
    height, width = size
    if height < factor or width < factor:
        if height < width:
            height, width = factor, round(factor / height * width)
        else:
            height, width = round(factor / width * height), factor
    elif max(height, width) / min(height, width) > STEEPEST:
        height, width = (STEEPEST * width, width) if height > width else (height, STEEPEST * height)
    rows, columns = round(height / factor) * factor, round(width / factor) * factor
    if rows * columns > most:
        shrink = math.sqrt(height * width / most)
        return math.floor(height / shrink / factor) * factor, math.floor(width / shrink / factor) * factor
    if rows * columns < least:
        grow = math.sqrt(least / (height * width))
        return math.ceil(height * grow / factor) * factor, math.ceil(width * grow / factor) * factor
    return rows, columns
