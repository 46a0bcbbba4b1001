"""InternVL in its own form (`InternVLChatModel`): tiles and a thumbnail, resized by Pillow, divided first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.internvl import nearest
from renderlayer.multimodal.families.sizes import Size, check_tiles, tile_grids
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

# The text model's type → what stands for a frame; other models take no videos.
_VIDEO_TOKENS = {
    "qwen2": "<|video_pad|>",
    "qwen3": "<|video_pad|>",
    "qwen3_moe": "<|video_pad|>",
    "gpt_oss": "<|reserved_200000|>",
}
_OPTIONS = ("image_size", "min_dynamic_patch", "max_dynamic_patch", "dynamic_image_size", "use_thumbnail")


class Tiled(Plain):
    """Images of InternVL and of models that cut theirs as it does."""

    modalities: tuple[str, ...] = ("image",)
    marks = ("<img>", "<IMG_CONTEXT>", "</img>")
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    std: tuple[float, ...] = (0.229, 0.224, 0.225)
    taken: tuple[str, ...] = _OPTIONS

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        begin, context, end = self.marks
        self.begin, self.context, self.end = (
            facts.lexicon.encode(begin),
            facts.token(context),
            facts.lexicon.encode(end),
        )
        config = facts.config
        tower = config.get("vision_config", {})
        self.edge = self.tile(config, tower)
        ratio = float(config.get("downsample_ratio", 0.5))
        self.length = int((self.edge // _side(tower.get("patch_size", 14))) ** 2 * ratio**2)
        self.defaults = {"min_dynamic_patch": 1, "max_dynamic_patch": 12, "dynamic_image_size": True}
        self.defaults |= {"use_thumbnail": True, **{name: config[name] for name in self.taken if name in config}}

    def tile(self, config: Mapping[str, Any], tower: Mapping[str, Any]) -> int:
        """The edge of a tile in pixels."""
        return _side(tower.get("image_size", 448))

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<{modality}>"

    def target(self, modality: str) -> list[int]:
        return self.facts.lexicon.encode(f"<{modality}>")

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self.plan_image(media, self.chosen(kwargs))

    def chosen(self, kwargs: Mapping[str, Any]) -> Options:
        """The options of configuration, server and request.

        Raises:
            BadRequest: there is one that the processor does not have, or that cannot be changed.
        """
        unknown = [name for name in kwargs if name not in self.taken and not name.endswith("_kwargs")]
        if unknown:
            named = f"InternVL's processor has no option {unknown[0][:100]!r}"
            raise BadRequest(f"{named}; it has {', '.join(self.taken)}.")
        chosen = options(self.defaults, kwargs, "images_kwargs")
        if chosen.get("image_size", self.edge) != self.edge:
            raise BadRequest("image_size cannot be changed by request.", "mm_processor_kwargs")
        return chosen

    def plan_image(self, picture: Picture, chosen: Options) -> Plan:
        """Tiles of the grid that is nearest to the image's shape, and the whole where there are several."""
        width, height = picture.size
        least, most = (chosen["min_dynamic_patch"], chosen["max_dynamic_patch"])
        grids = tile_grids(int(least), check_tiles(int(most))) if chosen["dynamic_image_size"] else ((1, 1),)
        shape = self.shape((height, width), grids)
        count = shape[0] * shape[1]
        thumbnail = bool(chosen["use_thumbnail"]) and count > 1
        return self.laid_out(count + thumbnail, lambda: self.cut(picture, [shape], thumbnail))

    def shape(self, size: Size, grids: Sequence[tuple[int, int]]) -> Size:
        """Rows and columns of an image of (height, width)."""
        return nearest(size, self.edge**2, grids)

    def laid_out(self, count: int, pixels: Callable[[], Tensor]) -> Plan:
        """The plan of an image of so many tiles."""
        metadata = {
            "image_num_patches": Field(int64(count), "batched", keep_on_cpu=True),
            "image_token_id": Field(int64(self.context), "shared", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {"pixel_values_flat": Field(pixels(), "flat"), **metadata}

        tokens = self.tokens(count)
        return Plan(tokens, metadata, fields, [token == self.context for token in tokens])

    def cut(self, picture: Picture, shapes: Sequence[Size], thumbnail: bool = True) -> Tensor:
        """bfloat16 of shape (tiles, 3, edge, edge): the tiles of each grid, and the thumbnail last.

        The only tile of a grid is the thumbnail.
        """
        import numpy as np

        from renderlayer.multimodal.image import processing

        image, edge, parts = picture.rgb(), self.edge, []
        for rows, columns in shapes:
            if rows * columns > 1 or not thumbnail:
                spread = processing.planes(image.resize((edge * columns, edge * rows)))
                parts.append(processing.tiles(spread, (edge, edge)))
        if thumbnail:
            parts.append(processing.planes(image.resize((edge, edge)))[None])
        return self.normalised(np.concatenate(parts))

    def normalised(self, planes: Any) -> Tensor:
        """Divided first."""
        from renderlayer.multimodal.image import processing

        recipe = processing.Recipe.of({**COMMON, "image_mean": self.mean, "image_std": self.std})
        return processing.finished(planes, replace(recipe, fused=False))

    def tokens(self, count: int) -> list[int]:
        """What stands for an image of so many tiles."""
        return [*self.begin, *[self.context] * (self.length * count), *self.end]


class InternVLChat(Tiled):
    """InternVL 1.5 to 3.5."""

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        text = facts.config.get("llm_config") or facts.config.get("text_config") or {}
        self.video = facts.lexicon.id_of(_VIDEO_TOKENS.get(str(text.get("model_type")), ""))
        self.modalities = ("image",) if self.video is None else ("image", "video")

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self._plan_video(media) if modality == "video" else super().plan(modality, media, kwargs)

    def _plan_video(self, clip: Clip) -> Plan:
        assert self.video is not None
        tokens: list[int] = []
        for number in range(1, len(clip.indices) + 1):
            tokens += self.facts.lexicon.encode(f"Frame{number}: ")
            tokens += [*self.begin, *[self.video] * self.length, *self.end]
        metadata = {
            "video_num_patches": Field(int64(len(clip.indices)), "batched", keep_on_cpu=True),
            "video_token_id": Field(int64(self.video), "shared", keep_on_cpu=True),
        }

        def fields() -> Fields:
            return {"pixel_values_flat_video": Field(self._frames(clip.frames()), "flat"), **metadata}

        return Plan(tokens, metadata, fields, [token == self.video for token in tokens])

    def _frames(self, frames: Iterable[Any]) -> Tensor:
        import numpy as np
        from PIL import Image

        from renderlayer.multimodal.image import processing

        size = (self.edge, self.edge)
        return self.normalised(np.stack([processing.planes(Image.fromarray(frame).resize(size)) for frame in frames]))


def _side(given: Any) -> int:
    """An edge that is configured as a number or as a pair of equal ones."""
    return int(given[0] if isinstance(given, list) else given)
