"""Media parts of a message: which modality they are, and where their data is (wire.md 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.tensor import Tensor

# Part type (also the key that holds the payload, save for input_image) → modality. Order matters for guessing.
_MODALITIES = {
    "image_url": "image",
    "input_image": "image",
    "image_embeds": "image",
    "audio_url": "audio",
    "input_audio": "audio",
    "audio_embeds": "audio",
    "video_url": "video",
    "video_embeds": "video",
}
PART_TYPES = tuple(_MODALITIES)
_EMBEDS = frozenset({"image_embeds", "audio_embeds", "video_embeds"})


@dataclass(frozen=True)
class MediaItem:
    """One media part, in the order of appearance.

    Args:
        modality: "image", "video" or "audio".
        part: the content part as the client sent it.
        uuid: the client's identifier for the item; it stands in for the content hash.
    """

    modality: str
    part: dict[str, Any]
    uuid: str | None = None


@dataclass(frozen=True)
class EncodedMedia:
    """The encoded bytes of an item, and their media type where a data URL names it; or embeddings, by field."""

    data: bytes
    media_type: str = ""
    embeds: Mapping[str, Tensor] | None = None


def modality_of(part: Any) -> str | None:
    """The modality of a content part, by its type or, without one, by its keys; None for parts that are no media."""
    kind = _kind(part) if isinstance(part, dict) else None
    return _MODALITIES[kind] if kind else None


def is_embeds(item: MediaItem) -> bool:
    """Whether the part carries embeddings that were computed elsewhere."""
    return _kind(item.part) in _EMBEDS


def embeds_of(item: MediaItem) -> Any:
    """The payload of a part that carries embeddings; None when the client relies on the uuid alone."""
    return item.part.get(_kind(item.part) or "")


def url_of(item: MediaItem) -> str | None:
    """The URL that holds the item's data; None when the client relies on the uuid alone.

    Raises:
        BadRequest: the payload has another form than the part's type demands.
    """
    kind = _kind(item.part)
    if kind == "input_audio":
        return _audio_data_url(item.part.get("input_audio"))
    payload = item.part.get("image_url" if kind == "input_image" else kind or "")
    if isinstance(payload, dict):
        if "url" not in payload:
            raise BadRequest(f"{kind}.url: Field required")
        payload = payload["url"]
    if payload is not None and not isinstance(payload, str):
        raise BadRequest(f"{kind}: the URL must be a string")
    return payload or None


def _kind(part: dict[str, Any]) -> str | None:
    named = part.get("type")
    if named is not None:
        return named if named in _MODALITIES else None
    return next((key for key in _MODALITIES if key in part), None)


def _audio_data_url(payload: Any) -> str | None:
    if payload is None:
        return None
    if not isinstance(payload, dict) or not isinstance(payload.get("data"), str):
        raise BadRequest("input_audio.data: Field required")
    data, form = payload["data"], payload.get("format", "wav")
    return f"data:audio/{form};base64,{data}" if data else None
