"""From characters to tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from renderlayer.bundle.vocabulary import Vocabulary
from renderlayer.errors import BadRequest
from renderlayer.render.spans.parts import Part

Offsets = Sequence[tuple[int, int]]


def offsets_of(token_ids: Sequence[int], text: str, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Start and end of each token in the text that the ids decode to; a token with a part of a character is of it all.

    Raises:
        BadRequest: the tokens' own bytes do not make up the text.
    """
    pieces = list(map(vocabulary.token_bytes, token_ids))
    if b"".join(pieces) != text.encode():
        raise BadRequest("return_token_spans: the tokens do not spell the prompt.", "return_token_spans")
    out: list[tuple[int, int]] = []
    characters = 0  # that have begun
    inside = False  # the last of them has bytes left
    left = 0
    for piece in pieces:
        start = characters - 1 if inside else characters
        for byte in piece:
            if left:
                left -= 1
            else:
                characters += 1
                left = 0 if byte < 0x80 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
        inside = left > 0
        out.append((start, characters))
    return out


def on_tokens(parts: Sequence[Part], offsets: Offsets) -> list[Part]:
    """The parts, with calls that begin and end with tokens: what differs between two prompts may begin within one."""
    starts = [start for start, _ in offsets]

    def moved(at: int) -> int:
        number = bisect_right(starts, at) - 1
        return starts[number] if number >= 0 and at < offsets[number][1] else at

    return [
        replace(part, start=moved(part.start), end=moved(part.end)) if part.kind.startswith("call") else part
        for part in parts
    ]


def runs(parts: Sequence[Part], offsets: Offsets) -> tuple[list[list[int | str]], int]:
    """`[start, end, message, kind]` of each run of tokens that are of one part; tokens that are of two are counted.

    Args:
        offsets: start and end of each token, in characters.
    """
    out: list[list[int | str]] = []
    starts = [part.start for part in parts]
    mixed = 0
    for at, (start, end) in enumerate(offsets):
        if end <= start:
            continue
        number = bisect_right(starts, start) - 1
        inside = number >= 0 and start < parts[number].end
        if not inside or end > parts[number].end:
            mixed += inside or (number + 1 < len(parts) and parts[number + 1].start < end)
            continue
        part = parts[number]
        if out and out[-1][1] == at and out[-1][2:] == [part.message, part.kind]:
            out[-1][1] = at + 1
        else:
            out.append([at, at + 1, part.message, part.kind])
    return out, mixed


def mask(ranges: Sequence[tuple[int, int]], offsets: Offsets) -> list[int]:
    """1 for each token with a character in one of the ranges, which are in order."""
    out = [0] * len(offsets)
    number = 0
    for at, (start, end) in enumerate(offsets):
        while number < len(ranges) and ranges[number][1] <= start:
            number += 1
        if number < len(ranges) and start < end and ranges[number][0] < end:
            out[at] = 1
    return out
