"""Encoded bytes of any modality, opened: what families lay out and what enters the hash (wire.md 4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Embeds, Family
from renderlayer.multimodal.fetch.data_url import FRAME_LIST
from renderlayer.multimodal.items import EncodedMedia
from renderlayer.multimodal.wire.identity import Array, Loaded
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from renderlayer.multimodal.video.clip import Clip

_BYTES_A_PIXEL = 4

IOKwargs = Mapping[str, Mapping[str, Any]]  # decoding options by modality


@dataclass(frozen=True)
class Medium:
    """An opened item.

    Args:
        media: a `Picture`, a `Clip`, a `Sound` or `Embeds`.
        identity: the value that stands for the item in its hash.
        decoded_bytes: how much memory it takes once decoded, as the reference counts.
    """

    media: Any
    identity: Any
    decoded_bytes: int


def open_media(
    contents: Sequence[tuple[str, EncodedMedia]],
    io_kwargs: IOKwargs,
    family: Family,
    settings: Settings,
) -> list[Medium]:
    """Open every (modality, content) of a request, by their headers where these tell enough.

    Args:
        settings: the limits.

    Raises:
        BadRequest: an item cannot be opened, or all of them together would take too much memory.
    """
    opened = [
        _embeds(content) if content.embeds is not None else _OPENERS[modality](content, io_kwargs, family, settings)
        for modality, content in contents
    ]
    decoded, most = sum(medium.decoded_bytes for medium in opened), settings.max_media_decoded_bytes
    if decoded > most > 0:
        raise BadRequest(f"Request decoded media exceeds the limit of {most} bytes ({decoded} bytes).")
    return opened


def _embeds(content: EncodedMedia) -> Medium:
    embeds = content.embeds or {}
    bare = embeds.get("")
    return Medium(Embeds(embeds), bare if bare is not None else embeds, 0)


def _image(content: EncodedMedia, io_kwargs: IOKwargs, family: Family, settings: Settings) -> Medium:
    from renderlayer.multimodal.image.picture import ImageIO, open_picture

    picture = open_picture(content.data, ImageIO.parse(io_kwargs.get("image", {})), settings)
    width, height = picture.size
    identity = Loaded("image", content.data, picture.io.config() if picture.converted else None)
    return Medium(picture, identity, width * height * _BYTES_A_PIXEL)


def _video(content: EncodedMedia, io_kwargs: IOKwargs, family: Family, settings: Settings) -> Medium:
    from renderlayer.multimodal.image.picture import ImageIO
    from renderlayer.multimodal.video.clip import open_clip, open_frames

    options = io_kwargs.get("video", {})
    if content.media_type == FRAME_LIST:
        clip = open_frames(content.data, options, ImageIO.parse(io_kwargs.get("image", {})), settings)
    else:
        clip = open_clip(content.data, options, family.sample, settings, family.video_backend)
    return Medium(clip, (_video_data(clip), clip.metadata), clip.decoded_bytes)


def _video_data(clip: Clip) -> Loaded:
    """The encoded video, or its frames where these are smaller (wire.md 4.4)."""
    if clip.decoded_bytes >= len(clip.content):
        return Loaded("video", clip.content)
    frames = b"".join(frame.tobytes() for frame in clip.frames())
    width, height = clip.size
    return Loaded("video", Array("|u1", (len(clip.indices), height, width, 3), frames))


def _audio(content: EncodedMedia, io_kwargs: IOKwargs, family: Family, settings: Settings) -> Medium:
    from renderlayer.multimodal.audio.sound import open_sound

    sound = open_sound(content.data, family.sampling_rate, settings)
    data = sound.samples.data.cast("B") if len(sound.samples) else b""
    return Medium(sound, Array("<f4", sound.samples.shape, data), sound.samples.nbytes)


_OPENERS = {"image": _image, "video": _video, "audio": _audio}
