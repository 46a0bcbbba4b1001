"""From a prompt's token ids and its media to expanded ids and the features object (wire.md 4.6).

Three steps, each of which stops where nobody needs the next: bytes and hashes; layout from headers; pixels.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from renderlayer.bundle import Model
from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.memory import Budget, media_budget, reuse_large_blocks
from renderlayer.multimodal.collect import collect
from renderlayer.multimodal.expand import Range, expand, expand_text, is_merged
from renderlayer.multimodal.families.base import Embeds, Family, Plan
from renderlayer.multimodal.items import MediaItem
from renderlayer.multimodal.media import Medium, open_media
from renderlayer.multimodal.model import family_of, fingerprint
from renderlayer.multimodal.wire.identity import Identity
from renderlayer.multimodal.wire.payload import Slot, Writer, inline
from renderlayer.multimodal.wire.serialize import pack_item
from renderlayer.request_context import until_answered
from renderlayer.settings import Settings

# Decoding, resizing and encoding hold about five times the decoded size; a payload is held as a string and once more
# in the answer.
_COPIES = 5
_PAYLOADS = 2

Kwargs = Mapping[str, Any]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Expanded:
    """A prompt with its media laid out; `features` is the wire's object."""

    token_ids: list[int]
    features: dict[str, Any]


@dataclass(frozen=True)
class _Entry:
    """One item with everything known about it but its place."""

    modality: str
    mm_hash: str
    fingerprint: str
    plan: Plan
    decoded_bytes: int
    options: Kwargs

    @property
    def slot(self) -> Slot:
        return Slot(self.modality, self.mm_hash, self.fingerprint, len(self.plan.replacement), self._packed)

    def _packed(self) -> bytearray:
        with _blamed("mm_processor_kwargs", self.options):
            return pack_item(self.plan.fields())


@until_answered()
def apply(
    model: Model,
    settings: Settings,
    token_ids: list[int],
    items: Sequence[MediaItem],
    *,
    payload: Literal["tensors", "none"] = "tensors",
    media_io_kwargs: Kwargs | None = None,
    mm_processor_kwargs: Kwargs | None = None,
    write: Writer = inline,
) -> Expanded:
    """Expand the placeholders of a prompt and describe its media.

    Args:
        model: the bundle's model: facts, tokenizer, vocabulary.
        token_ids: the rendered prompt, one unit for each item.
        items: the media parts in order of appearance.
        payload: "none" leaves `kwargs_data` and `mm_metadata` null and computes no pixels.
        media_io_kwargs, mm_processor_kwargs: those of the request.
        write: gives the string for an item's slot in `kwargs_data`; computes the tensors only if it wants them.

    Raises:
        BadRequest, NotImplementedHere, Unprocessable: as the catalogue has it (wire.md 1.7).
        Unavailable: other requests hold the memory for media.
    """
    family = family_of(model)
    if family is None:
        raise not_multimodal(settings)
    family = family.for_item_count(len(items))
    io_kwargs, processor_kwargs = media_io_kwargs or {}, mm_processor_kwargs or {}
    contents = collect(items, settings)
    named = [(item.modality, content) for item, content in zip(items, contents, strict=True)]
    with _blamed("media_io_kwargs", io_kwargs):
        media = open_media(named, _overlaid(settings.media_io_kwargs, io_kwargs), family, settings)
    identity = Identity(
        settings.mm_hasher_algorithm, settings.model_id_for_hash or settings.model, io_kwargs, processor_kwargs
    )
    merged = {**settings.mm_processor_kwargs, **processor_kwargs}
    model_fingerprint = fingerprint(model, merged, settings.media_io_kwargs, io_kwargs)
    entries = [
        _Entry(
            item.modality,
            _named(family, identity, item, medium, merged),
            item_fingerprint(model_fingerprint, identity, item, medium),
            family.numbered(item.modality, _plan(family, item.modality, medium, merged), before),
            medium.decoded_bytes,
            merged,
        )
        for item, medium, before in zip(items, media, _before(items), strict=True)
    ]
    token_ids = family.prepared(token_ids)
    plans = _by_modality((entry.modality, entry.plan) for entry in entries)
    targets = {name: family.target(name) for name in plans}
    if is_merged(token_ids, targets, plans):
        expanded, ranges = expand_text(token_ids, targets, plans, model.tokenizer)
    else:
        expanded, ranges = expand(token_ids, targets, plans, family.join)
    wanted = payload != "none"
    features = {
        "mm_hashes": _by_modality((entry.modality, entry.mm_hash) for entry in entries),
        "mm_placeholders": {
            modality: [_placeholder(*pair) for pair in zip(places, plans[modality], strict=True)]
            for modality, places in ranges.items()
        },
        "kwargs_data": _payloads(entries, write, media_budget(settings.media_memory_bytes)) if wanted else None,
        "mm_metadata": metadata_of((entry.modality, entry.plan) for entry in entries) if wanted else None,
    }
    return Expanded(expanded, features)


def _before(items: Sequence[MediaItem]) -> list[int]:
    """How many items of its modality stand before each."""
    seen: Counter[str] = Counter()
    counts = []
    for item in items:
        counts.append(seen[item.modality])
        seen[item.modality] += 1
    return counts


def _plan(family: Family, modality: str, medium: Medium, kwargs: Kwargs) -> Plan:
    if isinstance(medium.media, Embeds):
        return family.plan_embeds(modality, medium.media)
    with _blamed("mm_processor_kwargs", kwargs):
        return family.plan(modality, medium.media, kwargs)


@contextmanager
def _blamed(param: str, given: Kwargs) -> Iterator[None]:
    """What fails under options that were given, and not otherwise, is the fault of the options."""
    try:
        yield
    except RenderLayerError:
        raise
    except Exception as error:
        if not given:
            raise
        raise BadRequest("The media cannot be processed with these options.", param) from error


def not_multimodal(settings: Settings) -> BadRequest:
    """The error of media for a text model."""
    return BadRequest(f"{next(iter(settings.served_model_name), settings.model)} is not a multimodal model")


def _named(family: Family, identity: Identity, item: MediaItem, medium: Medium, kwargs: Kwargs) -> str:
    mm_hash = identity.of(item.modality, medium.identity, item.uuid)
    if isinstance(medium.media, Embeds):
        return mm_hash
    return identity.beside(mm_hash, family.hash_context(item.modality, kwargs))


def item_fingerprint(model_fingerprint: str, identity: Identity, item: MediaItem, medium: Medium) -> str:
    """The fingerprint of an item: a uuid names it whatever its content, so the content joins the fingerprint."""
    if item.uuid is None:
        return model_fingerprint
    return f"{model_fingerprint}-{identity.of(item.modality, medium.identity, None)}"


def _payloads(entries: Sequence[_Entry], write: Writer, budget: Budget) -> dict[str, list[str | bytes]]:
    """The slots of `kwargs_data`; equal items are written once, different ones on all cores that memory allows."""
    reuse_large_blocks()
    distinct = {(entry.modality, entry.mm_hash, entry.fingerprint): entry for entry in entries}
    peak = max(1, _COPIES * max(entry.decoded_bytes for entry in entries))
    workers = max(1, min(len(distinct), os.cpu_count() or 1, budget.capacity // peak))
    slots = [entry.slot for entry in distinct.values()]
    with budget.holding(workers * peak) as hold:
        parts = iter([*[0] * (len(slots) - workers), *[peak] * workers])  # the last ones leave no work to hold it for

        def kept(slot: Slot) -> str | bytes:
            text = write(slot)
            hold.keep(next(parts), _PAYLOADS * len(text))
            return text

        if workers == 1:
            written = dict(zip(distinct, map(kept, slots), strict=True))
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(workers, thread_name_prefix="pixels") as pool:
                written = dict(zip(distinct, pool.map(kept, slots), strict=True))
    return _by_modality(
        (entry.modality, written[entry.modality, entry.mm_hash, entry.fingerprint]) for entry in entries
    )


def _placeholder(place: Range, plan: Plan) -> dict[str, Any]:
    """The positions that receive embeddings, which end the engine's process where they are fewer than the range.

    A range is narrowed to them. Where they do not follow each other, it stays whole and `is_embed`, which the
    reference cannot express, says which they are.
    """
    if plan.is_embed is None:
        return {"offset": place.offset, "length": place.length}
    used = plan.is_embed[-place.length :]
    first, count = used.index(True), sum(used)
    if plan.narrow and all(used[first : first + count]):
        return {"offset": place.offset + first, "length": count}
    return {"offset": place.offset, "length": place.length, "is_embed": used}


def metadata_of(plans: Iterable[tuple[str, Plan]]) -> dict[str, list[str | None]] | None:
    """Base64 of each item's metadata, null for an item without any; null as a whole when no item has some.

    A modality without metadata is a list of nulls and not left out, so that all maps have the same keys
    (wire.md 9.12).
    """
    from pybase64 import b64encode_as_string

    packed = [
        (modality, b64encode_as_string(pack_item(plan.metadata)) if plan.metadata else None) for modality, plan in plans
    ]
    return _by_modality(packed) if any(text for _, text in packed) else None


def _overlaid(defaults: Kwargs, given: Kwargs) -> dict[str, dict[str, Any]]:
    """Decoding options by modality, those of the request over the server's.

    Raises:
        BadRequest: the options of a modality are no object.
    """
    for name, options in given.items():
        if not isinstance(options, Mapping):
            raise BadRequest(f"media_io_kwargs.{name} must be an object", "media_io_kwargs")
    return {name: {**defaults.get(name, {}), **given.get(name, {})} for name in {**defaults, **given}}


def _by_modality(pairs: Iterable[tuple[str, Value]]) -> dict[str, list[Value]]:
    grouped: dict[str, list[Value]] = {}
    for modality, value in pairs:
        grouped.setdefault(modality, []).append(value)
    return grouped
