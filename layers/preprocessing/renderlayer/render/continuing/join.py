"""Token ids of what follows given ids, as they would be if all of it were tokenized at once."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.bundle.tokenizer import Tokenizer
from renderlayer.render.continuing.refusal import NotExtended

_TAIL = 16
"""Tokens before the join that are tokenized along with what follows."""


def suffix_ids(given: Sequence[int], suffix: str, tokenizer: Tokenizer) -> list[int]:
    """The ids of `suffix` behind `given`.

    Behind a token over which the tokenizer never merges (proved while packing), and from one on, a text has the ids
    that it has alone. Elsewhere the last tokens are spelled and tokenized with what follows.

    Raises:
        NotExtended: the tokenizer would merge across the join.
    """
    if not suffix:
        return []
    last = given[-1]
    if last in tokenizer.right_boundaries:
        anchor = tokenizer.decode([last], skip_special_tokens=False)
        ids = tokenizer.encode(anchor + suffix)
        if ids[0] == last:
            return ids[1:]
    ids = tokenizer.encode(suffix)
    if ids[0] in tokenizer.boundaries:
        return ids
    tail = tokenizer.decode(given[-_TAIL:], skip_special_tokens=False)
    alone, joined = tokenizer.encode(tail), tokenizer.encode(tail + suffix)
    if joined[: len(alone)] != alone:
        raise NotExtended("the tokenizer would merge the last sampled token with what follows")
    return joined[len(alone) :]
