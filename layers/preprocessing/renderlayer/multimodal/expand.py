"""Put the items' tokens in the place of their units in the prompt (wire.md 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from renderlayer.errors import BadRequest
from renderlayer.multimodal.families.base import Plan

Join = Callable[[int, int], int | None]


@dataclass(frozen=True)
class Range:
    """Where an item stands in the expanded prompt."""

    offset: int
    length: int


def expand(
    token_ids: list[int],
    targets: Mapping[str, list[int]],
    plans: Mapping[str, Sequence[Plan]],
    join: Join = lambda left, right: None,
) -> tuple[list[int], dict[str, list[Range]]]:
    """Replace, from left to right, the n-th occurrence of each modality's target by the n-th item's tokens.

    Targets beyond the number of items stay as they are.

    Args:
        targets: for each modality the token ids to look for.
        plans: for each modality its items in order.
        join: the token that two neighbours at the edge of a replacement become, or None.

    Returns:
        The expanded ids, and for each modality the ranges of its items. A joined token belongs to the item on its
        left where two items meet, otherwise to the one item.

    Raises:
        BadRequest: the prompt holds fewer targets than there are items.
    """
    found = [
        (position, modality, plan)
        for modality, items in plans.items()
        for position, plan in zip(_positions(token_ids, targets[modality], modality, len(items)), items, strict=True)
    ]
    out: list[int] = []
    ranges: dict[str, list[Range]] = {modality: [] for modality in plans}
    at = 0
    for position, modality, plan in sorted(found, key=lambda row: row[0]):
        text = token_ids[at:position]
        _extend(out, text, join)
        start = len(out)
        joined = _extend(out, plan.replacement, join)
        if joined and text:
            start -= 1
        ranges[modality].append(Range(start, len(out) - start))
        at = position + len(targets[modality])
    _extend(out, token_ids[at:], join)
    return out, ranges


def _positions(token_ids: list[int], target: list[int], modality: str, count: int) -> list[int]:
    """Where the first `count` occurrences of `target` begin."""
    positions: list[int] = []
    at = 0
    while len(positions) < count:
        try:
            at = token_ids.index(target[0], at)
        except ValueError as error:
            missing = f"mm_items['{modality}'][{len(positions)}]"
            raise BadRequest(f"Failed to apply prompt replacement for {missing}") from error
        if token_ids[at : at + len(target)] == target:
            positions.append(at)
            at += len(target)
        else:
            at += 1
    return positions


def _extend(out: list[int], tokens: list[int], join: Join) -> bool:
    """Append tokens, joining the first to the last one where they merge; whether they did."""
    joined = join(out[-1], tokens[0]) if out and tokens else None
    if joined is None:
        out += tokens
        return False
    out[-1] = joined
    out += tokens[1:]
    return True
