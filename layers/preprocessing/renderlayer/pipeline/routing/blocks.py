"""Hashes of a prompt's leading blocks: prompts that begin alike share them, as they share an engine's cached blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

BLOCK = 128
"""Tokens of a block: several of an engine's (16 to 64), so that a choice takes microseconds."""
EXACT = 1024
"""Leading tokens that are all hashed: system prompts differ in a date or a name."""
STEP = 8
"""Behind them every eighth is hashed. What differs in the others alone is taken for equal, which costs a cache miss."""

Blocks = list[int]


def blocks_of(request: Mapping[str, Any]) -> Blocks:
    """Hashes of a GenerateRequest's whole leading blocks, each with all that stands before it.

    Engines keep prompts apart by model and `cache_salt`, so those enter the first one; an image's placeholder tokens
    say nothing of the image, so its `mm_hash` enters the block in which it begins (wire.md 4.1).
    """
    salt, model = request.get("cache_salt"), request.get("model")
    before = 0 if salt is None and model is None else _of_text(f"{model}\n{salt}")
    return hashed(request["token_ids"], before, _media(request.get("features")))


def hashed(token_ids: Sequence[int], before: int = 0, media: Mapping[int, int] | None = None) -> Blocks:
    """Hashes of the whole blocks of token ids.

    Python's hash of integers and of tuples of them is the same in every process, so instances agree on it.

    Args:
        before: the hash of what stands before them.
        media: hashes of the media that begin in a block, by its number.
    """
    found: Blocks = []
    for start in range(0, len(token_ids) - BLOCK + 1, BLOCK):
        step = 1 if start < EXACT else STEP
        before = hash((before, hash(tuple(token_ids[start : start + BLOCK : step]))))
        if media and (medium := media.get(start // BLOCK)) is not None:
            before = hash((before, medium))
        found.append(before)
    return found


def _media(features: Mapping[str, Any] | None) -> dict[int, int] | None:
    """A hash for each block in which media begin."""
    if not features:
        return None
    begin: dict[int, int] = {}
    places = features.get("mm_placeholders") or {}
    for modality, names in (features.get("mm_hashes") or {}).items():
        for name, place in zip(names, places.get(modality, ()), strict=False):
            block = place["offset"] // BLOCK
            begin[block] = hash((begin.get(block, 0), place["offset"], _of_text(str(name))))
    return begin


def _of_text(text: str) -> int:
    """A hash of text that is the same in every process, which Python's is not."""
    return int.from_bytes(text.encode(errors="surrogatepass"), "little") % _PRIME


_PRIME = (1 << 61) - 1
