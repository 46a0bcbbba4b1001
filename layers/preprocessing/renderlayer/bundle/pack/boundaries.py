"""Added tokens over which a tokenizer never merges: what is on either side of one is tokenized as if it were alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_MOST = 512
"""Tokens that are tried: the special ones first."""
_BEFORE = ("a", " a", "the end.", "1", "x \n", "\n\n", "\t", "}", '"}]', "é", "日本", "👍", "ﬁ", "e\u0301", "_", "--")
_BEHIND = ("b", " b", "\n", "\n\nuser\n", "  x", "1", "{", "é", "日本", "👍", "ﬁ", "\u0301e", "_", "--", "\t\ty", "<")


def describe_boundaries(reference: Any, special: Sequence[str]) -> dict[str, Any]:
    """The `boundaries` object of a bundle's tokenizer: ids by what was proved of them.

    Args:
        reference: the `tokenizers.Tokenizer` that encodes.
        special: texts of the tokens that count as special.

    Returns:
        `both`: tokens that cut on both sides. `right`: those that cut on their right side only.
    """
    known = set(special)
    added = [(token.content not in known, i, token.content) for i, token in _added(reference)]
    both: list[int] = []
    right: list[int] = []
    for _, token_id, text in sorted(added)[:_MOST]:
        if not _cuts_right(reference, token_id, text):
            continue
        (both if _cuts_left(reference, token_id, text) else right).append(token_id)
    return {"both": sorted(both), "right": sorted(right), "tried": min(len(added), _MOST)}


def _added(reference: Any) -> list[tuple[int, Any]]:
    return list(reference.get_added_tokens_decoder().items())


def _encoded(reference: Any, texts: Sequence[str]) -> list[list[int]]:
    return [encoding.ids for encoding in reference.encode_batch(list(texts), add_special_tokens=False)]


def _cuts_right(reference: Any, token_id: int, text: str) -> bool:
    """Whether what follows has the same ids whatever stands before the token."""
    alone = _encoded(reference, [text + behind for behind in _BEHIND])
    whole = _encoded(reference, [before + text + behind for before, behind in zip(_BEFORE, _BEHIND, strict=True)])
    return all(ids[:1] == [token_id] and full[-len(ids) :] == ids for ids, full in zip(alone, whole, strict=True))


def _cuts_left(reference: Any, token_id: int, text: str) -> bool:
    """Whether what stands before has the ids that it has alone."""
    alone = _encoded(reference, _BEFORE)
    whole = _encoded(reference, [before + text for before in _BEFORE])
    return all(full == [*ids, token_id] for ids, full in zip(alone, whole, strict=True))
