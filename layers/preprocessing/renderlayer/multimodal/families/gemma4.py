"""Gemma 4: the image at its own shape within a budget of patches, padded to the budget; a video as timed images; a
sound as a token every 40 ms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Options, Plain, Plan, options
from renderlayer.multimodal.families.defaults import COMMON
from renderlayer.multimodal.families.gemma_audio import gemma4_fields, gemma4_tokens
from renderlayer.multimodal.families.sizes import Size
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields, int64

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Samples, Sound
    from renderlayer.multimodal.video.clip import Clip

_DEFAULTS = {**COMMON, "do_normalize": False, "patch_size": 16, "max_soft_tokens": 280, "pooling_kernel_size": 3}
_BUDGETS = (70, 140, 280, 560, 1120)
_AUDIO_ENDS = ("eoa_token_id", "eoa_token_index")
_LONGEST = 750  # tokens of a sound
_FRAME_BUDGET = 70  # tokens of a video's frame


class Gemma4(Plain):
    """Images, videos and, of the sizes with an audio encoder, sound of Gemma 4."""

    modalities: tuple[str, ...] = ("image", "video")
    hears = True
    merged = False  # whether the patches of a token are sent as one

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.image = facts.token("<|image|>", "image_token_id")
        self.video = facts.token("<|video|>", "video_token_id")
        self.begin = facts.token("<|image>", "boi_token_id")
        self.end = facts.token("<image|>", "eoi_token_id")
        if facts.config.get("audio_config") is None or not self.hears:
            return
        self.modalities = ("image", "video", "audio")
        self.sampling_rate = int(facts.audio.get("sampling_rate") or 16_000)
        self.audio = facts.token("<|audio|>", "audio_token_id")
        self.audio_marks = facts.token("<|audio>", "boa_token_id"), facts.token("<audio|>", *_AUDIO_ENDS)
        self.longest = int(facts.processor.get("audio_seq_length") or _LONGEST)

    def placeholder(self, modality: str, ordinal: int) -> str:
        return f"<|{modality}|>"

    def target(self, modality: str) -> list[int]:
        if modality == "audio":
            return [self.audio]
        return [self.video] if modality == "video" else [self.image]

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        if modality == "audio":
            return self._plan_sound(media, kwargs)
        return self._plan_video(media, kwargs) if modality == "video" else self._plan_image(media, kwargs)

    def _plan_sound(self, sound: Sound, kwargs: Mapping[str, Any]) -> Plan:
        count = gemma4_tokens(len(sound.samples), self.sampling_rate, self.longest)
        if not count:
            raise BadRequest("The audio is too short to be represented inside the model")
        begin, end = self.audio_marks
        tokens = [begin, *[self.audio] * count, end]
        chosen = options(self.facts.audio, kwargs, "audio_kwargs")
        heard = [token == self.audio for token in tokens]
        return Plan(tokens, {}, lambda: self.sound_fields(sound.samples, chosen), heard)

    def sound_fields(self, samples: Samples, chosen: Options) -> Fields:
        """The sound as the model hears it."""
        return gemma4_fields(samples, chosen)

    def _plan_video(self, clip: Clip, kwargs: Mapping[str, Any]) -> Plan:
        """Each frame is an image behind its time, in minutes and seconds."""
        given = {key: value for key, value in self.facts.image.items() if value is not None}
        flat = {key: value for key, value in kwargs.items() if key != "images_kwargs"}
        chosen = {**options({**_DEFAULTS, **given}, flat, "images_kwargs"), "max_soft_tokens": _FRAME_BUDGET}
        size, count = _laid_out(clip.size, chosen)
        seconds = [index / (clip.source.fps or 24) for index in clip.indices]
        tokens: list[int] = []
        for number, second in enumerate(seconds):
            shown = f"{int(second // 60):02d}:{int(second % 60):02d} "
            tokens += self.facts.lexicon.encode(f" {shown}" if number else shown)
            tokens += [self.begin, *[self.video] * count, self.end]
        metadata = {
            "video_frame_counts": Field(int64(len(seconds)), "batched", keep_on_cpu=True),
            "video_num_soft_tokens": Field([count] * len(seconds), "batched", keep_on_cpu=True),
            "video_timestamps": Field(seconds, "batched", keep_on_cpu=True),
        }

        def fields() -> Fields:
            import numpy as np

            from renderlayer.multimodal.arrays import tensor

            frames = [_patches(frame, size, chosen, self.merged) for frame in clip.frames()]
            pixels, positions = (np.stack(parts) for parts in zip(*frames, strict=True))
            return {
                "pixel_values_videos": Field(tensor("bfloat16", pixels), "flat"),
                "pixel_position_ids_videos": Field(tensor("int64", positions), "flat"),
                **metadata,
            }

        return Plan(tokens, metadata, fields, [token == self.video for token in tokens])

    def _plan_image(self, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        given = {key: value for key, value in self.facts.image.items() if value is not None}
        chosen = options({**_DEFAULTS, **given}, kwargs, "images_kwargs")
        if chosen["max_soft_tokens"] not in _BUDGETS:
            raise BadRequest(f"`max_soft_tokens` must be one of {_BUDGETS}, got {chosen['max_soft_tokens']}.")
        size, count = _laid_out(media.size, chosen)
        tokens = [self.begin, *[self.image] * count, self.end]

        def fields() -> Fields:
            return _fields(media, size, chosen, self.merged)

        return Plan(tokens, {}, fields, [token == self.image for token in tokens])


def _laid_out(shown: tuple[int, int], chosen: Options) -> tuple[Size, int]:
    """(height, width) and number of tokens of an image of (width, height)."""
    width, height = shown
    patch, pool = int(chosen["patch_size"]), int(chosen["pooling_kernel_size"])
    size = budgeted((height, width), patch, pool, int(chosen["max_soft_tokens"]))
    return size, (size[0] // patch) * (size[1] // patch) // pool**2


def budgeted(size: Size, patch: int, pool: int, tokens: int) -> Size:
    """The largest size of the image's shape whose sides are whole pools and whose patches are within the budget.

    Raises:
        BadRequest: the image is so small or so narrow that there is none.
    """
    height, width = size
    step = pool * patch
    pixels = tokens * pool**2 * patch**2
    scale = math.sqrt(pixels / (height * width))
    rows, columns = math.floor(scale * height / step), math.floor(scale * width / step)
    if not rows and not columns:
        raise BadRequest("Attempting to resize to a 0 x 0 image.")
    if not rows:
        rows, columns = 1, min(math.floor(width / height), tokens)
    elif not columns:
        rows, columns = min(math.floor(height / width), tokens), 1
    if rows * columns * step**2 > pixels:
        raise BadRequest("The image does not fit into its budget of patches.")
    return rows * step, columns * step


def _fields(picture: Picture, size: Size, chosen: Options, merged: bool) -> Fields:
    from renderlayer.multimodal.arrays import tensor
    from renderlayer.multimodal.image import processing

    pixels, positions = _patches(processing.raster(picture), size, chosen, merged)
    return {
        "pixel_values": Field(tensor("bfloat16", pixels), "batched"),
        "pixel_position_ids": Field(tensor("int64", positions), "batched"),
    }


def _patches(image: Any, size: Size, chosen: Options, merged: bool) -> tuple[Any, Any]:
    """Patches (budget, 3 · patch²) with zeros, positions (budget, 2) with −1 behind the image."""
    import numpy as np

    from renderlayer.multimodal.image import processing

    recipe = processing.Recipe.of(chosen)
    bits = processing.lookup(processing.scaled(image, size, recipe), processing.tables(recipe, 3))
    pool = int(chosen["pooling_kernel_size"])
    patch = int(chosen["patch_size"]) * (pool if merged else 1)
    rows, columns = size[0] // patch, size[1] // patch
    budget = int(chosen["max_soft_tokens"]) * (1 if merged else pool**2)
    pixels = np.zeros((budget, patch * patch * 3), np.uint16)
    cut = bits.reshape(3, rows, patch, columns, patch).transpose(1, 3, 2, 4, 0)
    pixels[: rows * columns] = cut.reshape(rows * columns, -1)
    positions = np.full((budget, 2), -1, np.int64)
    positions[: rows * columns, 0] = np.tile(np.arange(columns), rows)
    positions[: rows * columns, 1] = np.repeat(np.arange(rows), columns)
    return pixels, positions
