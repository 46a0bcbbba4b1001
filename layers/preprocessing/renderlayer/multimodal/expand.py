"""Put the items' tokens in the place of their units in the prompt (wire.md 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Tokenizer(Protocol):
    """What expanding in text needs."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens around."""

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool) -> str:
        """The text of token ids."""


def is_merged(token_ids: list[int], targets: Mapping[str, list[int]], plans: Mapping[str, Sequence[Plan]]) -> bool:
    """Whether a target of several tokens is missing: its ends merge with the text around it in some prompts."""
    try:
        for modality, items in plans.items():
            if len(targets[modality]) > 1:
                _positions(token_ids, targets[modality], modality, len(items))
    except BadRequest:
        return True
    return False


def expand_text(
    token_ids: list[int], targets: Mapping[str, list[int]], plans: Mapping[str, Sequence[Plan]], tokenizer: Tokenizer
) -> tuple[list[int], dict[str, list[Range]]]:
    """As `expand`, in the prompt's text, which is tokenized anew.

    Raises:
        BadRequest: the prompt holds fewer or more targets than there are items.
    """
    text = tokenizer.decode(token_ids, skip_special_tokens=False)
    found: list[tuple[int, int, str, Plan]] = []
    for modality, items in plans.items():
        unit, end = tokenizer.decode(targets[modality], skip_special_tokens=False), 0
        if text.count(unit) > len(items):
            raise BadRequest(f"Found more '{unit}' placeholders in the prompt than there are items of that kind.")
        for number, plan in enumerate(items):
            start = text.find(unit, end)
            if start < 0:
                raise _missing(modality, number)
            end = start + len(unit)
            found.append((start, end, modality, plan))
    found.sort(key=lambda row: row[0])
    parts, at = [], 0
    for start, end, _, plan in found:
        parts += [text[at:start], tokenizer.decode(plan.replacement, skip_special_tokens=False)]
        at = end
    ids = tokenizer.encode("".join([*parts, text[at:]]))
    ranges: dict[str, list[Range]] = {modality: [] for modality in plans}
    at = 0
    for _, _, modality, plan in found:
        offset = _index(ids, plan.replacement, at)
        if offset is None:
            raise _missing(modality, len(ranges[modality]))
        ranges[modality].append(Range(offset, len(plan.replacement)))
        at = offset + len(plan.replacement)
    return ids, ranges


def _positions(token_ids: list[int], target: list[int], modality: str, count: int) -> list[int]:
    """Where the first `count` occurrences of `target` begin."""
    positions: list[int] = []
    at = 0
    while len(positions) < count:
        position = _index(token_ids, target, at)
        if position is None:
            raise _missing(modality, len(positions))
        positions.append(position)
        at = position + len(target)
    return positions


def _index(token_ids: list[int], target: list[int], at: int) -> int | None:
    """Where `target` begins next."""
    while True:
        try:
            at = token_ids.index(target[0], at)
        except ValueError:
            return None
        if token_ids[at : at + len(target)] == target:
            return at
        at += 1


def _missing(modality: str, number: int) -> BadRequest:
    return BadRequest(f"Failed to apply prompt replacement for mm_items['{modality}'][{number}]")


def _extend(out: list[int], tokens: list[int], join: Join) -> bool:
    """Append tokens, joining the first to the last one where they merge; whether they did."""
    joined = join(out[-1], tokens[0]) if out and tokens else None
    if joined is None:
        out += tokens
        return False
    out[-1] = joined
    out += tokens[1:]
    return True
