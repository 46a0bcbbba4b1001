"""The encoded bytes of every item: from its URL or, by uuid alone, from an earlier request to this process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from renderlayer.errors import BadRequest
from renderlayer.multimodal import uuid_cache
from renderlayer.multimodal.fetch import fetch_all
from renderlayer.multimodal.items import EncodedMedia, MediaItem, embeds_of, is_embeds, url_of
from renderlayer.settings import Settings


def collect(items: Sequence[MediaItem], settings: Settings) -> list[EncodedMedia]:
    """The content of each item, in order.

    Raises:
        BadRequest: an item without data and uuid (param multi_modal_uuids), an unknown uuid, or a bad URL.
        NotImplementedHere, Unprocessable: from fetching.
    """
    urls = [None if is_embeds(item) else url_of(item) for item in items]
    _check_identified(items, urls)
    fetched = iter(fetch_all([(item.modality, url) for item, url in zip(items, urls, strict=True) if url], settings))
    contents: list[EncodedMedia] = []
    for item, index, url in zip(items, _ordinals(items), urls, strict=True):
        content = next(fetched) if url else _without_url(item, settings)
        if content is None:
            raise BadRequest(f"Cache miss for {item.modality} at index {index} but data is not provided.")
        if item.uuid is not None and content.embeds is None:
            uuid_cache.keep(item.modality, item.uuid, content)
        contents.append(content)
    return contents


def _without_url(item: MediaItem, settings: Settings) -> EncodedMedia | None:
    payload = embeds_of(item) if is_embeds(item) else None
    if payload is None:
        return uuid_cache.find(item.modality, item.uuid or "")
    from renderlayer.multimodal.wire.embeds import read_embeds

    return EncodedMedia(b"", embeds=read_embeds(payload, settings.max_media_item_bytes))


def _check_identified(items: Sequence[MediaItem], urls: Sequence[str | None]) -> None:
    for item, index, url in zip(items, _ordinals(items), urls, strict=True):
        given = embeds_of(item) if is_embeds(item) else url
        if given is None and item.uuid is None:
            place = f"['{item.modality}'][{index}]"
            raise BadRequest(
                f"multi_modal_data{place} is empty but multi_modal_uuids{place} is missing.", "multi_modal_uuids"
            )


def _ordinals(items: Sequence[MediaItem]) -> list[int]:
    """The index of each item among those of its modality."""
    seen: Counter[str] = Counter()
    ordinals: list[int] = []
    for item in items:
        ordinals.append(seen[item.modality])
        seen[item.modality] += 1
    return ordinals
