"""Media of a continued prompt: those of the new messages are placed and made, those before them are named by hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderlayer import multimodal
from renderlayer.references.writing import payload_writer
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.types import MediaOptions
from renderlayer.served_model import ServedModel

Json = dict[str, Any]


def laid_out(
    text: str, items: Sequence[multimodal.MediaItem], known: int, server: ServedModel, options: MediaOptions
) -> multimodal.Expanded:
    """A text's token ids with its media laid out; of the first `known` items no payload is made.

    Raises:
        NotExtended: a text spells what stands for an item.
        BadRequest, Unprocessable: as rendering does.
    """
    if any(text.count(unit) > len(items) for unit in multimodal.units(server.model)):
        raise NotExtended("a message spells what stands for an item of media")
    multimodal.check_counts(server.model, server.settings, items)
    old: set[tuple[str, str]] = set()
    if 0 < known < len(items):
        old = _names(_applied(text, items, server, options, lambda slot: "", "none").features, items, known)
    writer = payload_writer(options.payload, server.settings, server.model, len(items))

    def write(slot: multimodal.Slot) -> str | bytes:
        return "" if known == len(items) or (slot.modality, slot.mm_hash) in old else writer(slot)

    found = _applied(text, items, server, options, write, "none" if options.payload == "none" else "tensors")
    return multimodal.Expanded(found.token_ids, _without_payloads(found.features))


def _applied(
    text: str,
    items: Sequence[multimodal.MediaItem],
    server: ServedModel,
    options: MediaOptions,
    write: multimodal.Writer,
    payload: Any,
) -> multimodal.Expanded:
    return multimodal.apply(
        server.model,
        server.settings,
        server.model.tokenizer.encode(text),
        items,
        payload=payload,
        media_io_kwargs=options.io_kwargs,
        mm_processor_kwargs=options.processor_kwargs,
        write=write,
    )


def _names(features: Json, items: Sequence[multimodal.MediaItem], known: int) -> set[tuple[str, str]]:
    """Modality and hash of the first `known` items."""
    counts: dict[str, int] = {}
    for item in items[:known]:
        counts[item.modality] = counts.get(item.modality, 0) + 1
    return {(name, mm_hash) for name, count in counts.items() for mm_hash in features["mm_hashes"][name][:count]}


def _without_payloads(features: Json) -> Json:
    """Null for items whose payload was not made, and for what describes it."""
    data, metadata = features["kwargs_data"], features["mm_metadata"]
    if data is None:
        return features
    made = {name: [entry or None for entry in entries] for name, entries in data.items()}
    if metadata is not None:
        metadata = {
            name: [about if entry else None for about, entry in zip(entries, made[name], strict=True)]
            for name, entries in metadata.items()
        }
        metadata = metadata if any(about for entries in metadata.values() for about in entries) else None
    return {**features, "kwargs_data": made, "mm_metadata": metadata}


def placed(given: Sequence[int], suffix: int, written: Sequence[int], features: Json) -> Json:
    """The features with their places in the continued prompt.

    Args:
        given: the ids that it begins with.
        suffix: number of ids that follow them; those are the last of `written`.
        written: the ids in which `features` places the items.

    Raises:
        NotExtended: an item that stands before the suffix is not in the given ids.
    """
    start = len(written) - suffix
    ordered = sorted(
        (place["offset"], name, number)
        for name, places in features["mm_placeholders"].items()
        for number, place in enumerate(places)
    )
    moved: dict[tuple[str, int], int] = {}
    at = 0
    for offset, name, number in ordered:
        length = features["mm_placeholders"][name][number]["length"]
        if offset >= start:
            moved[name, number] = offset - start + len(given)
            continue
        at = _place(given, at, written[offset - 1 : offset + length + 1])
        moved[name, number] = at
        at += length
    places = {
        name: [{**place, "offset": moved[name, number]} for number, place in enumerate(entries)]
        for name, entries in features["mm_placeholders"].items()
    }
    return {**features, "mm_placeholders": places}


def _place(given: Sequence[int], start: int, run: Sequence[int]) -> int:
    """Where the run stands without its first id, from `start` on; ids around it tell it from a part of a longer one.

    Raises:
        NotExtended: nowhere.
    """
    wanted = list(run)
    for at in range(max(0, start - 1), len(given) - len(wanted) + 1):
        if given[at] == wanted[0] and list(given[at : at + len(wanted)]) == wanted:
            return at + 1
    raise NotExtended("an item of media is not in the ids, or not as large")
