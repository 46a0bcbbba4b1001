"""Truncation of an expanded prompt: never inside of an item, never across one (wire.md 4.5)."""

from __future__ import annotations

from typing import Any, Literal

from renderlayer.errors import BadRequest
from renderlayer.multimodal.apply import Expanded


def truncated(expanded: Expanded, limit: int, side: Literal["left", "right"] = "left") -> Expanded:
    """Keep `limit` tokens, moving the placeholders along.

    Args:
        side: where tokens are cut off.

    Raises:
        BadRequest: an item would be split or dropped; param truncate_prompt_tokens.
    """
    size = len(expanded.token_ids)
    if size <= limit:
        return expanded
    start = size - limit if side == "left" else 0
    placeholders: dict[str, list[dict[str, Any]]] = expanded.features["mm_placeholders"]
    for modality, places in placeholders.items():
        for place in places:
            begin, end = place["offset"], place["offset"] + place["length"]
            if begin < start or end > start + limit:
                raise BadRequest(
                    f"truncate_prompt_tokens={limit} would split or drop a(n) {modality} item, which spans tokens "
                    f"{begin} to {end} of the {size}-token prompt. The limit must leave every multimodal item intact. "
                    "Please raise truncate_prompt_tokens or shorten the multimodal input.",
                    "truncate_prompt_tokens",
                    limit,
                )
    moved = {
        modality: [{**place, "offset": place["offset"] - start} for place in places]
        for modality, places in placeholders.items()
    }
    kept = expanded.token_ids[start : start + limit]
    return Expanded(kept, {**expanded.features, "mm_placeholders": moved})
