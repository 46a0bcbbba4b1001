"""Gemma 3n: an image is one square of 256 tokens between blank lines, a sound 188 tokens between such, however long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Facts, Plan, options
from renderlayer.multimodal.families.defaults import BILINEAR, COMMON, HALF
from renderlayer.multimodal.families.gemma3 import Gemma3
from renderlayer.multimodal.families.gemma_audio import gemma3n_fields, gemma3n_hears
from renderlayer.multimodal.families.sizes import square
from renderlayer.multimodal.image.picture import Picture
from renderlayer.multimodal.tensor import Field, Fields

if TYPE_CHECKING:
    from renderlayer.multimodal.audio.sound import Sound

_DEFAULTS = {
    **COMMON,
    "size": {"height": 768, "width": 768},
    "image_mean": HALF,
    "image_std": HALF,
    "resample": BILINEAR,
    "do_normalize": False,
}
_AUDIO = 188  # tokens of a sound


class Gemma3n(Gemma3):
    """Images and sound of Gemma 3n."""

    modalities = ("image", "audio")

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.embeds_token = None
        self.sampling_rate = int(facts.audio.get("sampling_rate") or 16_000)
        self._heard = facts.token("<audio_soft_token>", "audio_token_id")
        begin, end = facts.token("<start_of_audio>", "boa_token_id"), facts.token("<end_of_audio>", "eoa_token_id")
        count, blank = int(facts.processor.get("audio_seq_length") or _AUDIO), facts.lexicon.encode("\n\n")
        self._sound = [*blank, begin, *[self._heard] * count, end, *blank]

    def placeholder(self, modality: str, ordinal: int) -> str:
        return "<audio_soft_token>" if modality == "audio" else "<image_soft_token>"

    def target(self, modality: str) -> list[int]:
        return [self._heard] if modality == "audio" else [self._soft]

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        return self._plan_sound(media, kwargs) if modality == "audio" else self._plan_square(media, kwargs)

    def _plan_sound(self, sound: Sound, kwargs: Mapping[str, Any]) -> Plan:
        if not gemma3n_hears(len(sound.samples)):
            raise BadRequest("The audio is too short to be represented inside the model")
        chosen = options(self.facts.audio, kwargs, "audio_kwargs")
        heard = [token == self._heard for token in self._sound]
        return Plan(self._sound, {}, lambda: gemma3n_fields(sound.samples, chosen), heard)

    def _plan_square(self, media: Picture, kwargs: Mapping[str, Any]) -> Plan:
        chosen = options({**_DEFAULTS, **self.facts.image}, kwargs, "images_kwargs")

        def fields() -> Fields:
            from renderlayer.multimodal.image import processing

            recipe = processing.Recipe.of(chosen)
            planes = processing.scaled(processing.raster(media), square(chosen["size"]), recipe)
            return {"pixel_values": Field(processing.finished(planes, recipe), "batched")}

        return Plan(self._square, {}, fields, [token == self._soft for token in self._square])
