"""MiniCPM-V 4.6 and 4.7: the image within 448² pixels, and slices of it at full size where it is larger.

An image stands behind its number among the images of the prompt; so does a video of 4.6, each frame of which is laid
out like an image.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON, HALF
from renderlayer.multimodal.families.sizes import Size, check_tiles, processable
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, Tensor

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_DEFAULTS = {
    **COMMON,
    "image_mean": HALF,
    "image_std": HALF,
    "max_slice_nums": 9,
    "scale_resolution": 448,
    "patch_size": 14,
    "slice_mode": True,
    "downsample_mode": "16x",
}
_SCOPED = ("max_slice_nums", "downsample_mode")  # the options that are read from a modality's own section
_MERGED = 4  # patches of an edge that become a token


@dataclass(frozen=True)
class Slices:
    """How an image is seen.

    Args:
        whole: (height, width) of the image as a whole.
        grid: rows and columns of slices, (0, 0) without any.
        part: (height, width) of a slice.
    """

    whole: Size
    grid: Size
    part: Size

    @property
    def sizes(self) -> list[Size]:
        return [self.whole, *[self.part] * (self.grid[0] * self.grid[1])]


class MiniCPMV46(Plain):
    """Images and videos of MiniCPM-V 4.6."""

    modalities = ("image", "video")
    numbers_videos = True
    sizes_on_host = False

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.pads = {
            "image": facts.token("<|image_pad|>", "image_token_id"),
            "video": facts.token("<|video_pad|>", "video_token_id"),
        }
        self.whole_marks, self.slice_marks, self.number_marks = (
            (
                facts.token(facts.named.get(f"{name}_start_token", f"<{name}>")),
                facts.token(facts.named.get(f"{name}_end_token", f"</{name}>")),
            )
            for name in ("image", "slice", "image_id")
        )
        self.newline = facts.lexicon.encode("\n")
        self.defaults = {**_DEFAULTS, **{key: value for key, value in facts.image.items() if value is not None}}
        self.merges = int(facts.config.get("insert_layer_id", 6)) >= 0

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<|{modality}_pad|>"

    def target(self, modality: str) -> list[int]:
        return [self.pads[modality]]

    def numbered(self, modality: str, plan: Plan, before: int) -> Plan:
        if modality == "video" and not self.numbers_videos:
            return plan
        begin, end = self.number_marks
        number = [begin, *self.facts.lexicon.encode(str(before)), end]
        marks = plan.is_embed or []
        return replace(plan, replacement=[*number, *plan.replacement], is_embed=[False] * len(number) + marks)

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self._plan_video(media, kwargs) if modality == "video" else self._plan_image(media, kwargs)

    def _plan_image(self, picture: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = self._chosen(kwargs, "images_kwargs")
        slices = laid_out((picture.size[1], picture.size[0]), chosen)
        metadata = self._host_fields("", [slices], chosen)

        def fields() -> Fields:
            from renderlayer.multimodal.image import processing

            pixels = _packed([processing.raster(picture)], slices, chosen)
            return {"pixel_values": Field(pixels, "batched"), **metadata, **self._sizes("", [slices], chosen)}

        return self._plan("image", [slices], chosen, metadata, fields)

    def _plan_video(self, clip: Clip, kwargs: Mapping[str, Any]) -> Plan:
        import numpy as np

        from renderlayer.multimodal.arrays import tensor

        most = self.facts.video.get("max_slice_nums") or _DEFAULTS["max_slice_nums"]
        chosen = {**self._chosen(kwargs, "videos_kwargs"), "max_slice_nums": most}
        frames = [laid_out((clip.size[1], clip.size[0]), chosen)] * len(clip.indices)
        shown = tensor("int64", np.array([clip.size] * len(frames), np.int64))
        metadata = {
            **self._host_fields("video_", frames, chosen),
            "video_image_sizes": Field(shown, "batched", keep_on_cpu=True),
        }

        def fields() -> Fields:
            pixels = _packed(list(clip.frames()), frames[0], chosen)
            return {"video_pixel_values": Field(pixels, "batched"), **metadata, **self._sizes("video_", frames, chosen)}

        return self._plan("video", frames, chosen, metadata, fields)

    def _chosen(self, kwargs: Mapping[str, Any], section: str) -> Options:
        """The options that are given flat, and two of the modality's own."""
        own = {key: value for key, value in kwargs.get(section, {}).items() if key in _SCOPED}
        return options(self.defaults, {**kwargs, section: own}, section)

    def _host_fields(self, prefix: str, seen: Sequence[Slices], chosen: Options) -> Fields:
        merges = self.merges and chosen["downsample_mode"] != "4x"
        flag = Field(Tensor("bool", (1,), bytes([merges])), "batched", keep_on_cpu=True)
        sizes = self._sizes(prefix, seen, chosen) if self.sizes_on_host else {}
        return {f"{prefix}use_vit_merger": flag, **sizes}

    def _sizes(self, prefix: str, seen: Sequence[Slices], chosen: Options) -> Fields:
        import numpy as np

        from renderlayer.multimodal.arrays import tensor

        patches = np.array([size for slices in seen for size in slices.sizes], np.int64) // int(chosen["patch_size"])
        return {f"{prefix}tgt_sizes": Field(tensor("int64", patches), "batched", keep_on_cpu=self.sizes_on_host)}

    def _plan(self, modality: str, seen: Sequence[Slices], chosen: Options, metadata: Fields, fields: Any) -> Plan:
        area = int(chosen["patch_size"]) ** 2 * (4 if chosen["downsample_mode"] == "4x" else _MERGED**2)
        pad, tokens = self.pads[modality], []
        for slices in seen:
            whole, part = (height * width // area for height, width in (slices.whole, slices.part))
            tokens += [self.whole_marks[0], *[pad] * whole, self.whole_marks[1]]
            row = [self.slice_marks[0], *[pad] * part, self.slice_marks[1]] * slices.grid[1]
            for index in range(slices.grid[0]):
                tokens += [*(self.newline if index else []), *row]
        return Plan(tokens, metadata, fields, [token == pad for token in tokens])


class MiniCPMV47(MiniCPMV46):
    """Images and videos of MiniCPM-V 4.7, which places slices by their sizes and does not number videos."""

    numbers_videos = False
    sizes_on_host = True


def laid_out(size: Size, chosen: Options) -> Slices:
    """How an image of (height, width) is seen."""
    edge, patch = int(chosen["scale_resolution"]), int(chosen["patch_size"])
    most = check_tiles(int(chosen["max_slice_nums"]))
    grid = _grid(size, most, edge) if chosen["slice_mode"] else None
    whole = processable(_within(size, edge, patch, enlarge=grid is None))
    if grid is None:
        return Slices(whole, (0, 0), (0, 0))
    rows, columns = grid
    height, width = _whole(size[0], rows), _whole(size[1], columns)
    part = _within((height / rows, width / columns), edge, patch, enlarge=True)
    processable((part[0] * rows, part[1] * columns))
    return Slices(whole, grid, part)


def _whole(length: float, step: int) -> int:
    """The length in whole steps, one at least."""
    return max(round(length / step) * step, step)


def _within(size: tuple[float, float], edge: int, patch: int, enlarge: bool) -> Size:
    """The size at which an image is cut into patches: within edge² pixels, or of as many if it is to be enlarged."""
    height, width = size
    if enlarge or height * width > edge * edge:
        shape = width / height
        height = int(edge / math.sqrt(shape))
        width = int(height * shape)
    return _whole(height, patch * _MERGED), _whole(width, patch * _MERGED)


def _grid(size: Size, most: int, edge: int) -> Size | None:
    """Rows and columns of slices, of the shape that is nearest to the image's; None for small images."""
    height, width = size
    wanted = min(math.ceil(width * height / (edge * edge)), most)
    if wanted <= 1:
        return None
    shape = math.log(width / height)
    best, least = (1, 1), math.inf
    for count in (wanted - 1, wanted, wanted + 1):
        if count == 1 or count > most:
            continue
        for rows in (rows for rows in range(1, count + 1) if count % rows == 0):
            error = abs(shape - math.log(count // rows / rows))
            if error < least or (error == least and rows > best[0]):
                best, least = (rows, count // rows), error
    return best


def _packed(images: Sequence[Any], slices: Slices, chosen: Options) -> Tensor:
    """float32 of shape (slices, 3, patch, longest): the patches of each side by side, then zeros."""
    import numpy as np

    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    recipe, patch = processing.Recipe.of(chosen), int(chosen["patch_size"])
    sizes = slices.sizes
    longest = max(height * width for height, width in sizes) // patch
    out = np.zeros((len(images), len(sizes), 3, patch, longest), np.float32)
    for image, lines in zip(images, out, strict=True):
        parts = [processing.scaled(image, slices.whole, recipe)]
        if len(sizes) > 1:
            (rows, columns), (height, width) = slices.grid, slices.part
            parts += list(
                processing.tiles(processing.scaled(image, (rows * height, columns * width), recipe), slices.part)
            )
        for part, line in zip(parts, lines, strict=True):
            channels, height, width = part.shape
            cut = processing.normalised(part, recipe).reshape(channels, height // patch, patch, width // patch, patch)
            line[:, :, : height * width // patch] = cut.transpose(0, 2, 1, 3, 4).reshape(channels, patch, -1)
    return tensor("float32", out.reshape(-1, *out.shape[2:]))
