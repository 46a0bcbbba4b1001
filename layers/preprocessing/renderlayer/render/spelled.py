"""Texts that spell a medium's placeholder stay text: only what the template writes for an item is expanded.

Before the template sees them, such texts are broken by a mark behind the first character of what they spell; the
rendered prompt is cut at the marks and its pieces are tokenized one by one, so that none holds the placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from renderlayer import multimodal
from renderlayer.bundle.tokenizer import Tokenizer
from renderlayer.errors import BadRequest

_MARK = "zqx7spelledxqz"

Units = Mapping[str, tuple[str, list[int]]]  # the text that a template writes for an item → modality and token ids


def broken(messages: Sequence[dict[str, Any]], units: Units, whole: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """The messages with every spelled unit broken, and the mark that breaks them; "" where nothing is spelled.

    Args:
        messages: chat messages.
        units: those of the model.
        whole: placeholders that clients may write by hand into messages with media; there they stay as they are.
    """
    texts = list(_texts(messages))
    if not any(unit in text for text in texts for unit in units):
        return list(messages), ""
    mark = _MARK
    while any(mark in text for text in texts):
        mark += "z"
    return [_message(message, units, whole, mark) for message in messages], mark


def tokenize(
    text: str, mark: str, units: Units, tokenizer: Tokenizer, add_special_tokens: bool, counts: Mapping[str, int]
) -> list[int]:
    """Token ids of a rendered prompt with marks.

    Args:
        counts: modality → number of items.

    Raises:
        BadRequest: a unit of several tokens is spelled all the same.
    """
    first, *rest = text.split(mark)
    ids = tokenizer.encode(first)
    for piece in rest:
        ids += _continued(piece, units, tokenizer)
    for unit, (modality, target) in units.items():
        found = sum(ids[at : at + len(target)] == target for at in range(len(ids) - len(target) + 1))
        if found > counts.get(modality, 0):
            raise BadRequest(f"Found more '{unit}' placeholders in the prompt than there are items of that kind.")
    return [*tokenizer.prefix_ids, *ids, *tokenizer.suffix_ids] if add_special_tokens else ids


def _continued(piece: str, units: Units, tokenizer: Tokenizer) -> list[int]:
    """Token ids of a piece that goes on in mid-text: no space before it, as some tokenizers put at the start."""
    for unit, (_, ids) in units.items():
        if len(ids) == 1:
            found = tokenizer.encode(unit + piece)
            if found[:1] == ids:
                return found[1:]
    return tokenizer.encode(piece)


def _message(message: dict[str, Any], units: Units, whole: Sequence[str], mark: str) -> dict[str, Any]:
    content = message.get("content")
    media = isinstance(content, list) and any(multimodal.modality_of(part) is not None for part in content)
    pattern = re.compile("|".join(map(re.escape, [*(whole if media else ()), *units])))
    kept = frozenset(whole) if media else frozenset()

    def replace(found: re.Match[str]) -> str:
        text = found[0]
        return text if text in kept else text[0] + mark + text[1:]

    changed: dict[str, Any] = _mapped(message, pattern, replace)
    return changed


def _mapped(value: Any, pattern: re.Pattern[str], replace: Any) -> Any:
    """The value with its texts replaced; media parts, whose data is no text, as they are."""
    if isinstance(value, str):
        return pattern.sub(replace, value)
    if isinstance(value, list):
        return [_mapped(entry, pattern, replace) for entry in value]
    if isinstance(value, dict):
        if multimodal.modality_of(value) is not None:
            return value
        return {key: _mapped(entry, pattern, replace) for key, entry in value.items()}
    return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts(entry)
    elif isinstance(value, dict) and multimodal.modality_of(value) is None:
        for entry in value.values():
            yield from _texts(entry)
