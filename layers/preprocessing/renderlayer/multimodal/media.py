"""Encoded bytes of any modality, opened: what families lay out and what enters the hash (wire.md 4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.identity import Loaded
from renderlayer.multimodal.limits import REQUEST_DECODED_BYTES

_BYTES_A_PIXEL = 4


@dataclass(frozen=True)
class Medium:
    """An opened item.

    Args:
        media: a `Picture`.
        identity: the value that stands for the item in its hash.
        decoded_bytes: how much memory it takes once decoded, as the reference counts.
    """

    media: Any
    identity: Any
    decoded_bytes: int


def open_media(contents: Sequence[tuple[str, bytes]], io_kwargs: Mapping[str, Mapping[str, Any]]) -> list[Medium]:
    """Open every (modality, content) of a request, by their headers where these tell enough.

    Args:
        io_kwargs: decoding options by modality.

    Raises:
        BadRequest: an item cannot be opened, or all of them together would take too much memory.
    """
    opened = [_OPENERS[modality](content, io_kwargs.get(modality, {})) for modality, content in contents]
    decoded = sum(medium.decoded_bytes for medium in opened)
    if decoded > REQUEST_DECODED_BYTES:
        raise BadRequest(f"Request decoded media exceeds the limit of {REQUEST_DECODED_BYTES} bytes ({decoded} bytes).")
    return opened


def _image(content: bytes, options: Mapping[str, Any]) -> Medium:
    from renderlayer.multimodal.picture import ImageIO, open_picture

    picture = open_picture(content, ImageIO.parse(options))
    width, height = picture.size
    identity = Loaded("image", content, picture.io.config() if picture.converted else None)
    return Medium(picture, identity, width * height * _BYTES_A_PIXEL)


_OPENERS = {"image": _image}
